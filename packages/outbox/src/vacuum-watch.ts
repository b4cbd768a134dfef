import { type Loop, loop } from '@millrace/foundation';
import type { ResolvedOutboxOptions } from './options.js';

/** Something that keeps vacuum from removing dead rows. */
export interface HorizonHolder {
  readonly kind: 'transaction' | 'prepared transaction' | 'replication slot' | 'standby';
  /** Process id, or the name it was given. */
  readonly name: string;
  /** The oldest transaction whose rows it may still read. */
  readonly xmin: string;
  /** undefined if the server does not know it. */
  readonly ageMs: number | undefined;
  readonly username: string | undefined;
  readonly application: string | undefined;
  /** What a connection is doing, such as `idle in transaction`. */
  readonly state: string | undefined;
}

/** Asks the server what holds back vacuum. */
export interface HorizonStore {
  /** Lists everything that holds it back in this database and that this user may see. */
  holders(): Promise<readonly HorizonHolder[]>;
}

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
  readonly #store: HorizonStore;
  readonly #options: ResolvedOutboxOptions;
  readonly #loop: Loop;
  /** Since when holders that have no age stand still, as far as this process has seen. */
  readonly #seen = new Map<string, { readonly xmin: string; readonly sinceMs: number }>();
  #warnedMs = Number.NEGATIVE_INFINITY;

  constructor(store: HorizonStore, options: ResolvedOutboxOptions) {
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
