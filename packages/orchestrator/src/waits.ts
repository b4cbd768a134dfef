import type { CancelTimer } from '@millrace/foundation';
import type { Operation } from './model.js';
import type { OpId } from './op-id.js';
import type { ResolvedOrchestratorOptions } from './options.js';
import { isTerminal } from './states.js';

/** Somebody here who waits for news of one operation. */
interface Waiter {
  /** Told of every look that shows the operation as it is now. */
  readonly tell: (operation: Operation) => void;
  /** Wants to hear of every change, not only of the end. */
  readonly wantsChanges: boolean;
  /** Told that the instance ends. */
  readonly end: () => void;
  /** Until when, by the monotonic clock. */
  readonly untilMs: number;
}

/** How long notices are asked for at a time: whoever ends an operation later finds nobody waiting, and tells nobody. */
const WATCH_MIN_MS = 1_000;
const WATCHED_AT_ONCE_MAX = 1_000;

/** Which operations run here: their ends are told without asking the store. */
export interface RunsHere {
  holds(opId: OpId): boolean;
}

/**
 * Everybody in this process who waits for an operation. What runs here tells its end by itself; all others are looked at together, when a
 * notice comes and from time to time: notices may be lost.
 */
export class Waits {
  readonly #options: ResolvedOrchestratorOptions;
  readonly #runsHere: RunsHere;
  readonly #waiters = new Map<OpId, Set<Waiter>>();
  readonly #wanted = new Set<OpId>();
  #looking: Promise<void> | undefined;
  #cancelTimer: CancelTimer | undefined;
  #unhear: (() => void) | undefined;
  readonly #stopped = new AbortController();

  constructor(options: ResolvedOrchestratorOptions, runsHere: RunsHere) {
    this.#options = options;
    this.#runsHere = runsHere;
  }

  /** Whether the instance ends: whoever waits is let go. */
  get isStopped(): boolean {
    return this.#stopped.signal.aborted;
  }

  /**
   * Waits for the end of an operation.
   * @param waitMs - longest wait.
   * @returns the ended operation; undefined when the time is over or the instance ends.
   */
  forEnd(opId: OpId, waitMs: number, signal?: AbortSignal): Promise<Operation | undefined> {
    // No AbortController: every submit waits here, and making and aborting one costs as much as a sixth of a short operation.
    return new Promise((resolve) => {
      if (signal?.aborted || this.isStopped) {
        resolve(undefined);
        return;
      }
      const finish = (ended: Operation | undefined) => {
        cancelTimer();
        signal?.removeEventListener('abort', giveUp);
        leave();
        resolve(ended);
      };
      const giveUp = () => finish(undefined);
      const leave = this.enter(opId, waitMs, {
        tell: (operation) => {
          if (isTerminal(operation.state)) finish(operation);
        },
        wantsChanges: false,
        end: giveUp,
      });
      const cancelTimer = this.#options.clock.setTimer(Math.max(0, waitMs), giveUp);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  /**
   * Hears of an operation until told otherwise.
   * @param waitMs - how long at most.
   * @returns a function that ends it.
   */
  enter(opId: OpId, waitMs: number, { tell, wantsChanges, end }: Omit<Waiter, 'untilMs'>): () => void {
    const waiter = { tell, wantsChanges, end, untilMs: this.#options.clock.monotonicMs() + waitMs };
    if (this.isStopped) {
      end();
      return () => {};
    }
    const waiters = this.#waiters.get(opId) ?? new Set();
    this.#waiters.set(opId, waiters.add(waiter));
    this.#unhear ??= this.#options.store.notices.hear((noticed) => this.look(noticed));
    this.#cancelTimer ??= this.#later();
    return () => {
      waiters.delete(waiter);
      if (waiters.size > 0 || this.#waiters.get(opId) !== waiters) return;
      this.#waiters.delete(opId);
      if (this.#waiters.size > 0) return;
      this.#cancelTimer?.();
      this.#cancelTimer = undefined;
    };
  }

  /** Tells whoever waits here how an operation is now. */
  tell(operation: Operation): void {
    for (const waiter of [...(this.#waiters.get(operation.opId) ?? [])]) waiter.tell(operation);
  }

  /** Looks at an operation now, if somebody here waits for it. */
  look(opId: OpId): void {
    if (!this.#waiters.has(opId)) return;
    this.#wanted.add(opId);
    this.#looking ??= this.#look();
  }

  /** An operation that runs here has begun: those who want to hear of changes look. */
  begun(opId: OpId): void {
    for (const { wantsChanges } of this.#waiters.get(opId) ?? []) if (wantsChanges) this.look(opId);
  }

  /** Lets everybody go. */
  stop(): void {
    this.#stopped.abort();
    this.#unhear?.();
    this.#cancelTimer?.();
    for (const waiters of this.#waiters.values()) for (const { end } of [...waiters]) end();
  }

  #later(): CancelTimer {
    const { clock, waitPollIntervalMs } = this.#options;
    return clock.setTimer(
      waitPollIntervalMs,
      () => {
        this.#cancelTimer = undefined;
        if (this.isStopped || this.#waiters.size === 0) return;
        for (const opId of this.#waiters.keys()) if (!this.#runsHere.holds(opId)) this.#wanted.add(opId);
        if (this.#wanted.size > 0) this.#looking ??= this.#look();
        this.#cancelTimer = this.#later();
      },
      { unref: true },
    );
  }

  async #look(): Promise<void> {
    const { store, clock, logger } = this.#options;
    while (this.#wanted.size > 0 && !this.isStopped) {
      const opIds = [...this.#wanted].slice(0, WATCHED_AT_ONCE_MAX);
      for (const opId of opIds) this.#wanted.delete(opId);
      const now = clock.monotonicMs();
      const untilMs = opIds
        .flatMap((opId) => [...(this.#waiters.get(opId) ?? [])])
        .reduce((latest, waiter) => Math.max(latest, waiter.untilMs), now + WATCH_MIN_MS);
      try {
        for (const operation of await store.views.watch(opIds, untilMs - now)) this.tell(operation);
      } catch (error) {
        logger.debug({ reason: String(error) }, 'Operations that are waited for could not be looked at');
      }
    }
    this.#looking = undefined;
  }
}
