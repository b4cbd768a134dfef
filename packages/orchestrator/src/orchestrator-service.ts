import {
  type CancelTimer,
  Lifecycle,
  type Loop,
  type Service,
  type ServiceState,
  withDeadline,
} from '@millrace/foundation';
import { prunerOf, reaperOf } from './chores.js';
import type { OrchestratorEvents } from './events.js';
import { Finalizer } from './finalizer.js';
import { InlineFastPathRunner } from './inline-fast-path-runner.js';
import type { CommandInput } from './model.js';
import { Operations } from './operations.js';
import type { OrchestratorOptions, ResolvedOrchestratorOptions } from './options.js';
import type { OperationHandle, Orchestrator, SubmitOptions } from './orchestrator.js';
import { type OrchestratorParts, openParts } from './parts.js';
import { QueueWorkerRunner } from './queue-worker-runner.js';

/**
 * Runs commands within a time budget, retries failed attempts and recovers the operations of instances that died. Any
 * number of instances can share a store.
 */
export class OrchestratorService implements Orchestrator, Service {
  readonly options: ResolvedOrchestratorOptions;
  readonly operations: Operations;
  readonly events: OrchestratorEvents;
  readonly #parts: OrchestratorParts;
  readonly #runner: InlineFastPathRunner;
  readonly #worker: QueueWorkerRunner;
  /** In the order of their start. */
  readonly #chores: readonly Pick<Loop, 'start' | 'stop'>[];
  readonly #lifecycle: Lifecycle;
  #dueTimer: { readonly atMs: number; readonly cancel: CancelTimer } | undefined;

  /**
   * @param options - `executor` and `store` are required.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  constructor(options: OrchestratorOptions) {
    const parts = openParts(options);
    this.#parts = parts;
    this.options = parts.options;
    this.events = parts.events;
    this.#runner = new InlineFastPathRunner(options, parts);
    this.#worker = new QueueWorkerRunner(parts);
    const finalizer = new Finalizer(parts);
    const { retentionMs, executor, worker } = parts.options;
    this.#chores = [
      reaperOf(parts, () => this.#worker.loop.trigger()),
      finalizer,
      ...(retentionMs > 0 ? [prunerOf(parts.options)] : []),
      ...(executor.backings?.size ? [parts.watcher.loop] : []),
      ...(worker.enabled ? [this.#worker.loop] : []),
    ];
    this.operations = new Operations(parts, finalizer);
    parts.onDue = (delayMs) => this.#wakeIn(delayMs);
    parts.watcher.onDropped = () => this.#worker.loop.trigger();
    this.#lifecycle = new Lifecycle('The orchestrator', {
      start: () => this.#start(),
      stop: () => this.#stop(),
    });
  }

  /** The state of the service. */
  get state(): ServiceState {
    return this.#lifecycle.state;
  }

  submit(command: CommandInput, timeBudgetMs?: number, options?: SubmitOptions): Promise<OperationHandle> {
    return this.#runner.submit(command, timeBudgetMs, options);
  }

  /**
   * Starts to run due operations and to recover those of instances that died.
   * @throws MillraceError `SCHEMA_OUTDATED` and others of a store without its migrations, `BACKEND_UNAVAILABLE`, `SERVICE_STOPPED`.
   */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /** Answers waiting callers with their status URLs, lets work end within the grace period and releases the rest. */
  async stop(): Promise<void> {
    await this.#lifecycle.stop();
    // An orchestrator that was never started may have accepted commands.
    await this.#parts.stop();
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #start(): Promise<void> {
    await this.options.store.start();
    for (const chore of this.#chores) chore.start();
  }

  async #stop(): Promise<void> {
    const { clock, gracePeriodMs, store } = this.options;
    this.#dueTimer?.cancel();
    const chores = Promise.allSettled(this.#chores.map((chore) => chore.stop()));
    await this.#parts.stop();
    // The stop must not wait for the store. Another instance does what a chore has not finished.
    const rest = chores.then(() => store.stop());
    await withDeadline(clock, Math.max(gracePeriodMs * REST_SHARE, REST_MIN_MS), rest);
  }

  /** Claims a due operation on time. The poll would find it a little later. */
  #wakeIn(delayMs: number): void {
    const { clock, worker } = this.options;
    if (!worker.enabled || this.state !== 'RUNNING') return;
    const atMs = clock.monotonicMs() + delayMs;
    if (this.#dueTimer && this.#dueTimer.atMs <= atMs) return;
    this.#dueTimer?.cancel();
    const cancel = clock.setTimer(
      delayMs,
      () => {
        this.#dueTimer = undefined;
        this.#worker.loop.trigger();
      },
      { unref: true },
    );
    this.#dueTimer = { atMs, cancel };
  }
}

/** Share of the grace period, after its end, in which loops may end. */
const REST_SHARE = 0.1;
const REST_MIN_MS = 500;
