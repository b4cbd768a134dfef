import type { CancelTimer } from '@millrace/foundation';
import type { OrchestratorEvents } from './events.js';
import type { Operation } from './model.js';
import type { OpId } from './op-id.js';
import type { ResolvedOrchestratorOptions } from './options.js';
import type { SettleAnswer } from './ports.js';
import { isTerminal } from './states.js';

/** A caller of this instance that waits for an operation. */
interface Waiter {
  /** Called with the operation whenever it is read. */
  readonly tell: (operation: Operation) => void;
  /** True if it waits for every change, not only for the end. */
  readonly wantsChanges: boolean;
  /** Called when the instance stops. */
  readonly end: () => void;
  /** End of the wait, on the monotonic clock. */
  readonly untilMs: number;
}

/** Minimum time for which notices are requested. An instance that ends an operation later sends none. */
const WATCH_MIN_MS = 1_000;
const WATCHED_AT_ONCE_MAX = 1_000;

/** Knows the operations that run here, whose ends are reported without a read of the store. */
export interface RunsHere {
  holds(opId: OpId): boolean;
}

/**
 * The callers of this instance that wait for operations. Ends of operations that run here are reported directly. All
 * others are read in one call, after a notice and periodically, because notices may be lost.
 */
export class Waits {
  readonly #options: ResolvedOrchestratorOptions;
  readonly #events: OrchestratorEvents;
  readonly #runsHere: RunsHere;
  readonly #waiters = new Map<OpId, Set<Waiter>>();
  readonly #wanted = new Set<OpId>();
  #looking: Promise<void> | undefined;
  #cancelTimer: CancelTimer | undefined;
  #unhear: (() => void) | undefined;
  readonly #stopped = new AbortController();

  constructor(options: ResolvedOrchestratorOptions, events: OrchestratorEvents, runsHere: RunsHere) {
    this.#options = options;
    this.#events = events;
    this.#runsHere = runsHere;
  }

  /** True if the instance stops, which ends all waits. */
  get isStopped(): boolean {
    return this.#stopped.signal.aborted;
  }

  /**
   * Waits for the end of an operation.
   * @returns the ended operation, or undefined after `waitMs` or if the instance stops.
   */
  forEnd(opId: OpId, waitMs: number, signal?: AbortSignal): Promise<Operation | undefined> {
    // No AbortController: every submit waits here, and making and aborting one takes a sixth of a short operation.
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
   * Adds a waiter. Returns a function that removes it.
   * @param waitMs - longest wait.
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

  /**
   * Passes an ended operation to its waiters. If this instance ended it, emits `ended` and notifies the instances that wait
   * for it. Does nothing for an operation that has not ended.
   */
  announceEnd(answer: SettleAnswer): void {
    const { operation } = answer;
    if (!operation || !isTerminal(operation.state)) return;
    if (answer.kind === 'settled') {
      this.#events.emit('ended', { operation });
      if (answer.waited) this.#options.store.notices.tell(operation.opId);
    }
    this.#tell(operation);
  }

  /** Reads an operation now if it has waiters. */
  look(opId: OpId): void {
    if (!this.#waiters.has(opId)) return;
    this.#wanted.add(opId);
    this.#looking ??= this.#look();
  }

  /** Reads an operation that began here if a waiter wants changes. */
  begun(opId: OpId): void {
    for (const { wantsChanges } of this.#waiters.get(opId) ?? []) if (wantsChanges) this.look(opId);
  }

  /** Ends all waits. */
  stop(): void {
    this.#stopped.abort();
    this.#unhear?.();
    this.#cancelTimer?.();
    for (const waiters of this.#waiters.values()) for (const { end } of [...waiters]) end();
  }

  #tell(operation: Operation): void {
    for (const waiter of [...(this.#waiters.get(operation.opId) ?? [])]) waiter.tell(operation);
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
        for (const operation of await store.views.watch(opIds, untilMs - now)) this.#tell(operation);
      } catch (error) {
        logger.debug({ reason: String(error) }, 'Awaited operations not read, will retry');
      }
    }
    this.#looking = undefined;
  }
}
