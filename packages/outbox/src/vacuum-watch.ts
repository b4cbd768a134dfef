import { Repeating } from '@millrace/foundation';
import type { ResolvedOutboxOptions } from './options.js';
import type { HorizonHolder, HorizonStore } from './postgres/horizon-store.js';

/** How old the oldest transaction is, and whose it is. */
export interface OldestTransaction {
  /** 0 when there is none. */
  readonly ageMs: number;
  readonly holder: HorizonHolder | undefined;
}

const LOOK_EVERY_MS = 60_000;
const WARN_EVERY_MS = 3_600_000;

/**
 * Watches for transactions so old that vacuum can remove nothing: claims and completions leave dead rows behind, and every look for work becomes slower
 * until they are removed.
 */
export class VacuumWatch {
  readonly #store: Pick<HorizonStore, 'holders'>;
  readonly #options: ResolvedOutboxOptions;
  readonly #repeating: Repeating;
  /** Since when holders without an age of their own stand where they stand, as far as this process has seen. */
  readonly #seen = new Map<string, { readonly xmin: string; readonly sinceMs: number }>();
  #warnedMs = Number.NEGATIVE_INFINITY;

  /** @param options - when to warn. */
  constructor(store: Pick<HorizonStore, 'holders'>, options: ResolvedOutboxOptions) {
    this.#store = store;
    this.#options = options;
    const { clock, rng, logger } = options;
    this.#repeating = new Repeating(
      { clock, rng, logger, what: 'Looking for old transactions', everyMs: LOOK_EVERY_MS },
      () => this.#watch(),
    );
  }

  /** Begins to watch. */
  start(): void {
    if (this.#options.database.kind !== 'pglite') this.#repeating.start();
  }

  /** Ends it. */
  stop(): Promise<void> {
    return this.#repeating.stop();
  }

  /**
   * Looks.
   * @returns undefined for an embedded database: its one session cannot be in its own way.
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
      'An old transaction keeps PostgreSQL from removing dead rows; the outbox becomes slower until it ends',
    );
  }
}
