import { AsyncLocalStorage } from 'node:async_hooks';
import { ERRORS } from '../errors.js';

/**
 * Where a submitted task is; only its pool and its `cancel` change it.
 *
 * ```
 *   QUEUED ──a worker is free──▶ RUNNING ──returns──▶ COMPLETED
 *     │  │                        │   └────throws───▶ FAILED
 *     │  └──refused by the pool───┼─────────────────▶ FAILED
 *     └──────────cancel───────────┴─────────────────▶ CANCELLED
 * ```
 */
export type TaskFutureStatus = 'QUEUED' | 'RUNNING' | 'COMPLETED' | 'FAILED' | 'CANCELLED';

/**
 * The outcome of a submitted task: a native promise that can be looked at and cancelled.
 * A failure nobody handles is an unhandled rejection, as with every promise; a cancelled task never is.
 */
export interface TaskFuture<T> extends Promise<T> {
  /** Unique in its pool. */
  readonly id: string;
  /** Where the task is now. */
  readonly status: TaskFutureStatus;
  /**
   * Ends the task: the promise rejects at once with `TASK_CANCELLED`. A queued task never starts. A running function
   * sees `currentTaskSignal()` abort and keeps its worker until it has really ended; a running thread task is ended
   * with its thread, whatever it does.
   * @returns true when this call cancelled it, false when it had ended already.
   */
  cancel(): boolean;
}

const signals = new AsyncLocalStorage<AbortSignal>();

/**
 * The signal of the pool task this code runs in; it aborts when the task is cancelled. Functions keep their own
 * arguments this way, and whatever they call and await sees the signal too.
 * @returns the signal, or undefined outside a task and on a thread (where cancelling ends the thread).
 */
export const currentTaskSignal = (): AbortSignal | undefined => signals.getStore();

const ignore = () => {};

/** One submitted task, seen by the pool: the state behind a TaskFuture. */
export class Task<T> {
  readonly id: string;
  readonly future: TaskFuture<T>;
  readonly #controller = new AbortController();
  #status: TaskFutureStatus = 'QUEUED';
  #resolve!: (value: T) => void;
  #reject!: (reason: unknown) => void;

  constructor(id: string) {
    this.id = id;
    const promise = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Members on a native promise, not a subclass: `then` gives plain promises, `await` takes its short way.
    this.future = Object.defineProperties(promise, {
      id: { value: id, enumerable: true },
      status: { get: () => this.#status, enumerable: true },
      cancel: { value: () => this.cancel() },
    }) as TaskFuture<T>;
  }

  /** Aborts when the task is cancelled. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Does the work; ends when the work has really ended, and never fails itself. */
  async run(work: () => PromiseLike<T> | T): Promise<void> {
    this.#status = 'RUNNING';
    try {
      const value = await signals.run(this.signal, work);
      if (this.#end('COMPLETED')) this.#resolve(value);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Ends the task with an error, unless it has ended. */
  fail(error: unknown): void {
    if (this.#end('FAILED')) this.#reject(error);
  }

  /** See TaskFuture.cancel. */
  cancel(): boolean {
    if (!this.#end('CANCELLED')) return false;
    const reason = ERRORS.create('TASK_CANCELLED', { task: this.id });
    this.#reject(reason);
    // Who cancels knows: a cancelled task that nobody awaits must not bring the process down.
    this.future.catch(ignore);
    this.#controller.abort(reason);
    return true;
  }

  #end(status: 'COMPLETED' | 'FAILED' | 'CANCELLED'): boolean {
    if (this.#status !== 'QUEUED' && this.#status !== 'RUNNING') return false;
    this.#status = status;
    return true;
  }
}
