import type { CancelTimer, Clock } from './clock.js';
import { toWorkError } from './errors.js';
import type { Logger } from './logger.js';

/** The store's side of a set of leases, and the reaction to a lost one. */
export interface HeldLeasesOptions<K, L> {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Pause between two extensions. Infinity: only `check` extends. */
  readonly everyMs: number;
  /** After this long without a successful extension all leases count as lost (never). */
  readonly leaseMs?: number | undefined;
  keyOf(lease: L): K;
  /** Extends the leases in one call. Returns those that this process no longer holds. */
  extend(leases: readonly L[]): Promise<readonly L[]>;
  /** Called once for a lost lease, which stays held until `release` but is not extended again. Must not throw. */
  onLost(lease: L): void;
  /**
   * Reports whether the end of the work is being written. Such a lease is not reported as lost: the write finds out, and
   * may be the very reason why the store no longer knows the lease.
   */
  isSettling?(lease: L): boolean;
}

/**
 * The leases that this process holds. Extends all of them in one call while there are any; an idle process does nothing.
 *
 * ```
 *   hold ──▶ held ──▶ extended ──▶ … ──▶ release
 *                └─ the store says so, or leaseMs without an extension ──▶ onLost ──▶ release
 * ```
 */
export class HeldLeases<K, L> {
  readonly #options: HeldLeasesOptions<K, L>;
  readonly #held = new Map<K, L>();
  readonly #lost = new Set<L>();
  #isStopped = false;
  #cancelTimer: CancelTimer | undefined;
  #extending: Promise<void> | undefined;
  /** By the monotonic clock: all leases were certainly alive then. */
  #aliveAtMs = 0;
  #onIdle: (() => void)[] = [];

  constructor(options: HeldLeasesOptions<K, L>) {
    this.#options = options;
  }

  /** Number of leases held, lost ones included. */
  get size(): number {
    return this.#held.size;
  }

  /** Returns the lease that is held under this key. */
  get(key: K): L | undefined {
    return this.#held.get(key);
  }

  /** Returns all held leases in the order in which they were taken. */
  all(): readonly L[] {
    return [...this.#held.values()];
  }

  /** Extends a lease from now on. Replaces another one with the same key. */
  hold(lease: L): void {
    const { clock, keyOf } = this.#options;
    if (this.#held.size === 0) this.#aliveAtMs = clock.monotonicMs();
    const key = keyOf(lease);
    const replaced = this.#held.get(key);
    if (replaced !== undefined) this.#lost.delete(replaced);
    this.#held.set(key, lease);
    this.#scheduleNext();
  }

  /** Ends the extension of a lease. Returns false if it is not held (any more). */
  release(lease: L): boolean {
    const key = this.#options.keyOf(lease);
    if (this.#held.get(key) !== lease) return false;
    this.#held.delete(key);
    this.#lost.delete(lease);
    if (this.#held.size === 0) {
      this.#cancelNext();
      for (const resolve of this.#onIdle.splice(0)) resolve();
    }
    return true;
  }

  /** Extends all leases now, or joins the extension in progress. Call it when one of them may be lost. */
  check(): Promise<void> {
    this.#extending ??= this.#extend().finally(() => {
      this.#extending = undefined;
      this.#scheduleNext();
    });
    return this.#extending;
  }

  /** Resolves when no lease is held. */
  idle(): Promise<void> {
    return this.#held.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#onIdle.push(resolve));
  }

  /** Ends the extensions. Leases that are still held expire. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelNext();
  }

  #scheduleNext(): void {
    const { clock, everyMs } = this.#options;
    const isWanted = this.#held.size > 0 && !this.#isStopped && everyMs !== Number.POSITIVE_INFINITY;
    if (!isWanted || this.#cancelTimer || this.#extending) return;
    const onTime = () => {
      this.#cancelTimer = undefined;
      void this.check();
    };
    this.#cancelTimer = clock.setTimer(everyMs, onTime, { unref: true });
  }

  #cancelNext(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  async #extend(): Promise<void> {
    const { clock, logger, leaseMs = Number.POSITIVE_INFINITY, extend } = this.#options;
    const leases = this.all().filter((lease) => !this.#lost.has(lease));
    if (leases.length === 0) return;
    const askedAtMs = clock.monotonicMs();
    try {
      const lost = await extend(leases);
      this.#aliveAtMs = Math.max(this.#aliveAtMs, askedAtMs);
      this.#lose(lost);
    } catch (error) {
      const fields = { leases: leases.length, code: toWorkError(error).code, err: error };
      logger.warn(fields, 'Extending leases failed, will retry');
      // Other instances may take the work from now on: two must not do the same work for longer than one extension.
      if (clock.monotonicMs() - this.#aliveAtMs >= leaseMs) this.#lose(leases);
    }
  }

  #lose(leases: readonly L[]): void {
    const { keyOf, isSettling, onLost } = this.#options;
    for (const lease of leases) {
      if (this.#held.get(keyOf(lease)) !== lease || this.#lost.has(lease) || isSettling?.(lease)) continue;
      this.#lost.add(lease);
      onLost(lease);
    }
  }
}
