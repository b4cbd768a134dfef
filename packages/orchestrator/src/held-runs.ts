import { type CancelTimer, ERRORS as FOUNDATION_ERRORS } from '@millrace/foundation';
import type { OwnedOperation } from './model.js';
import type { OpId } from './op-id.js';
import type { ResolvedOrchestratorOptions } from './options.js';

/** A try that runs here. */
export interface HeldRun {
  readonly operation: OwnedOperation;
  readonly controller: AbortController;
  /** Its outcome is known and being written. */
  settling: boolean;
  /** Called when nothing of it is left here. */
  readonly onEnd: () => void;
}

/** Why a try is told to stop. */
const LEASE_LOST = new Error('The operation is no longer this instance’s');

/**
 * The operations that this instance owns, and their leases. Leases are extended only while there are any, so that an idle instance does
 * nothing.
 */
export class HeldRuns {
  readonly #options: ResolvedOrchestratorOptions;
  readonly #held = new Map<OpId, HeldRun>();
  #cancelTimer: CancelTimer | undefined;
  /** When all leases were certainly alive, by the monotonic clock. */
  #extendedAt = 0;
  #extending: Promise<void> | undefined;
  #idle: (() => void)[] = [];

  constructor(options: ResolvedOrchestratorOptions) {
    this.#options = options;
  }

  /** How many there are. */
  get size(): number {
    return this.#held.size;
  }

  /** The try of an operation that runs here. */
  get(opId: OpId): HeldRun | undefined {
    return this.#held.get(opId);
  }

  /** All of them. */
  all(): readonly HeldRun[] {
    return [...this.#held.values()];
  }

  /** Keeps the lease of an operation until `release`. */
  hold(run: HeldRun): void {
    if (this.#held.size === 0) this.#extendedAt = this.#options.clock.monotonicMs();
    this.#held.set(run.operation.opId, run);
    this.#cancelTimer ??= this.#later();
  }

  /** Nothing of it is left here. */
  release(run: HeldRun): void {
    if (this.#held.get(run.operation.opId) !== run) return;
    this.#held.delete(run.operation.opId);
    run.onEnd();
    if (this.#held.size > 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    for (const tell of this.#idle.splice(0)) tell();
  }

  /** Tells a try to stop, because somebody else decided what comes of its operation. */
  abort(opId: OpId, reason: unknown = LEASE_LOST): void {
    const run = this.#held.get(opId);
    if (!run) return;
    run.controller.abort(reason);
    this.release(run);
  }

  /** Asks the store whether an operation is still this instance's. */
  check(opId: OpId): void {
    if (this.#held.has(opId)) void this.#extend();
  }

  /** Resolves when nothing runs here. */
  idle(): Promise<void> {
    return this.#held.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }

  #later(): CancelTimer {
    const { clock, heartbeatMs } = this.#options;
    return clock.setTimer(
      heartbeatMs,
      () => {
        void this.#extend().then(() => {
          if (this.#held.size > 0) this.#cancelTimer = this.#later();
          else this.#cancelTimer = undefined;
        });
      },
      { unref: true },
    );
  }

  #extend(): Promise<void> {
    this.#extending ??= this.#ask().finally(() => {
      this.#extending = undefined;
    });
    return this.#extending;
  }

  async #ask(): Promise<void> {
    const { store, leaseMs, clock, logger } = this.#options;
    const asked = this.all();
    const askedAt = clock.monotonicMs();
    try {
      const lost = await store.runs.extend(
        asked.map(({ operation: { opId, token } }) => ({ opId, token })),
        leaseMs,
      );
      this.#extendedAt = askedAt;
      for (const run of asked) {
        const { opId } = run.operation;
        // What is being written finds out by itself, and may be the very reason that the store no longer calls it ours.
        if (lost.has(opId) && !run.settling && this.#held.get(opId) === run) this.abort(opId);
      }
    } catch (error) {
      logger.warn({ operations: asked.length, reason: String(error) }, 'Leases could not be extended');
      // Others may take them from now on: two must not do the same work for longer than it takes to notice.
      if (clock.monotonicMs() - this.#extendedAt >= leaseMs)
        for (const run of asked) if (!run.settling) this.abort(run.operation.opId);
    }
  }
}

/** Why tries are told to stop when their instance ends. */
export const instanceEnds = (): Error =>
  FOUNDATION_ERRORS.create('SERVICE_STOPPED', { service: 'The orchestrator' });
