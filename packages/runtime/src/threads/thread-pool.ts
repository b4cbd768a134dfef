import { type LimitFunction, pLimit } from '@millrace/async-utils';
import { ERRORS } from '../errors.js';
import {
  type ResolvedThreadPoolConfig,
  resolveShutdownOptions,
  resolveThreadPoolConfig,
  type ShutdownOptions,
  type ThreadPoolConfig,
} from './options.js';
import { isPoolTask, notATask, type PoolTask, type TaskWrapper, taskWrapper } from './submitting.js';
import { Task, type TaskFuture } from './task.js';
import { ThreadLane } from './thread-lane.js';
import type { ThreadTask } from './thread-task.js';

const ignore = () => {};

/**
 * Runs at most `maxWorkers` tasks at once, in the order they were submitted: functions on the event loop, thread
 * tasks on real threads, both under the one bound. Live from construction; starts threads only when thread tasks come,
 * keeps them for the next ones, and an idle pool does not keep the process alive.
 *
 * A task that awaits another task of the same pool holds its worker meanwhile: give such inner work a pool of its own.
 */
export class ThreadPool implements AsyncDisposable {
  /**
   * Wraps a function or thread task so that calling it submits it; also a method decorator, legacy and standard, that
   * keeps `this`. See TaskWrapper.
   */
  readonly task: TaskWrapper;
  readonly #config: ResolvedThreadPoolConfig;
  readonly #limit: LimitFunction;
  readonly #lane: ThreadLane;
  readonly #unended = new Set<Task<unknown>>();
  readonly #abandoned: Promise<void>;
  #abandon!: () => void;
  #shutdown: Promise<void> | undefined;
  #submitted = 0;

  /** @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`. */
  constructor(config?: ThreadPoolConfig) {
    this.#config = resolveThreadPoolConfig(config);
    this.#limit = pLimit(this.#config.maxWorkers);
    this.#lane = new ThreadLane(this.#config.resourceLimits);
    this.#abandoned = new Promise((resolve) => {
      this.#abandon = resolve;
    });
    this.task = taskWrapper((task, self, args) => this.#submit(task, self, args));
  }

  /** The pool's name. */
  get name(): string {
    return this.#config.name;
  }

  /**
   * Runs a task as soon as a worker is free. Never throws: what is wrong rejects the future.
   * @param task - a function, which runs on the event loop and finds its AbortSignal in `currentTaskSignal()`, or a
   * thread task.
   * @param args - its arguments; those of a thread task are copied when it starts.
   * @returns the future; rejects with what the task threw, or MillraceError `POOL_CLOSED` after `shutdown`,
   * `QUEUE_FULL` when `queueMaxSize` tasks wait, `TASK_CANCELLED` after `cancel`, `THREAD_CRASHED` when the task's
   * thread died under it (the cause is kept), `TASK_FAILED` when an argument or result cannot be copied between
   * threads, `OPTION_INVALID` for what is no task.
   */
  submit<A extends unknown[], R>(task: PoolTask<void, A, R>, ...args: NoInfer<A>): TaskFuture<Awaited<R>> {
    return this.#submit(task as PoolTask<unknown, unknown[], unknown>, undefined, args) as TaskFuture<
      Awaited<R>
    >;
  }

  /**
   * Takes no more tasks and ends; idempotent, all calls share one promise. A call with `wait: false` after one that
   * waits cancels what is left.
   * @param options - `wait: true` (the default) lets queued and running tasks finish. `wait: false` cancels them all:
   * queued ones never start, threads are terminated, functions see their signal abort but are not waited for, as
   * nothing can end one that ignores its signal.
   * @returns resolves when the threads are gone; nothing of the pool keeps the process alive then.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  shutdown(options?: ShutdownOptions): Promise<void> {
    const { wait } = resolveShutdownOptions(options);
    this.#shutdown ??= this.#end();
    if (!wait) {
      this.#abandon();
      for (const task of this.#unended) task.cancel();
    }
    return this.#shutdown;
  }

  /** The same as `shutdown()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  #submit(work: PoolTask<unknown, unknown[], unknown>, self: unknown, args: unknown[]): TaskFuture<unknown> {
    const task = new Task<unknown>(`${this.name}-${++this.#submitted}`);
    const refusal = isPoolTask(work) ? this.#refusal() : notATask('ThreadPool.submit', work);
    if (refusal) {
      task.fail(refusal);
      return task.future;
    }
    this.#unended.add(task);
    const run = () =>
      typeof work === 'function'
        ? work.apply(self, args)
        : this.#lane.run(task.id, work as ThreadTask, args, task.signal);
    // Under the signal a cancelled task leaves the queue at once, and a running one keeps its slot to its real end.
    this.#limit
      .run(() => task.run(run), { signal: task.signal })
      .catch(ignore)
      .finally(() => this.#unended.delete(task));
    return task.future;
  }

  #refusal(): Error | undefined {
    const { name, maxWorkers, queueMaxSize } = this.#config;
    if (this.#shutdown) return ERRORS.create('POOL_CLOSED', { pool: name });
    const { activeCount, pendingCount } = this.#limit;
    if (queueMaxSize === 0 || activeCount < maxWorkers || pendingCount < queueMaxSize) return undefined;
    return ERRORS.create('QUEUE_FULL', { queue: `of ${name}`, size: pendingCount });
  }

  async #end(): Promise<void> {
    await Promise.race([this.#limit.onIdle(), this.#abandoned]);
    await this.#lane.close();
  }
}
