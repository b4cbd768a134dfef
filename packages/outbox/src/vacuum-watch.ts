import { type Loop, loop } from '@millrace/foundation';
import type { ResolvedOutboxOptions } from './options.js';
import type { HorizonHolder, HorizonStore } from './postgres/horizon-store.js';

/** The oldest transaction that holds back vacuum. */
export interface OldestTransaction {
  /** 0 if there is none. */
  readonly ageMs: number;
  readonly holder: HorizonHolder | undefined;
}

const LOOK_EVERY_MS = 60_000;
const WARN_EVERY_MS = 3_600_000;

/**
 * Warns of transactions so old that vacuum can remove nothing. Claims and completions leave dead rows behind, and every
 * search for work becomes slower until they are removed.
 */
export class VacuumWatch {
  readonly #store: Pick<HorizonStore, 'holders'>;
  readonly #options: ResolvedOutboxOptions;
  readonly #loop: Loop;
  /** Since when holders that have no age stand still, as far as this process has seen. */
  readonly #seen = new Map<string, { readonly xmin: string; readonly sinceMs: number }>();
  #warnedMs = Number.NEGATIVE_INFINITY;

  constructor(store: Pick<HorizonStore, 'holders'>, options: ResolvedOutboxOptions) {
    this.#store = store;
    this.#options = options;
    this.#loop = loop(options, 'Find old transactions', LOOK_EVERY_MS, () => this.#watch());
  }

  /** Starts to watch, unless the database is embedded. */
  start(): void {
    if (this.#options.database.kind !== 'pglite') this.#loop.start();
  }

  /** Ends the watch. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /**
   * Finds the oldest transaction.
   * @returns undefined for an embedded database, whose only session cannot hold itself back.
   */
  async look(): Promise<OldestTransaction | undefined> {
    if (this.#options.database.kind === 'pglite') return undefined;
    const holders = this.#aged(await this.#store.holders());
    return holders.reduce<OldestTransaction>(
      (oldest, holder) => (holder.ageMs > oldest.ageMs ? { ageMs: holder.ageMs, holder } : oldest),
      { ageMs: 0, holder: undefined },
    );
  }

  #aged(holders: readonly HorizonHolder[]): (HorizonHolder & { readonly ageMs: number })[] {
    const nowMs = this.#options.clock.monotonicMs();
    const before = new Map(this.#seen);
    this.#seen.clear();
    return holders.map((holder) => {
      if (holder.ageMs !== undefined) return { ...holder, ageMs: holder.ageMs };
      const key = `${holder.kind} ${holder.name}`;
      const known = before.get(key);
      const seen = known?.xmin === holder.xmin ? known : { xmin: holder.xmin, sinceMs: nowMs };
      this.#seen.set(key, seen);
      return { ...holder, ageMs: nowMs - seen.sinceMs };
    });
  }

  async #watch(): Promise<void> {
    const { clock, logger, oldTransactionWarnMs } = this.#options;
    const oldest = await this.look();
    if (!oldest?.holder || oldest.ageMs < oldTransactionWarnMs) return;
    if (clock.monotonicMs() - this.#warnedMs < WARN_EVERY_MS) return;
    this.#warnedMs = clock.monotonicMs();
    logger.warn(
      { ...oldest.holder, ageMs: Math.round(oldest.ageMs) },
      'Old transaction keeps PostgreSQL from removing dead rows; the outbox becomes slower until it ends',
    );
  }
}
