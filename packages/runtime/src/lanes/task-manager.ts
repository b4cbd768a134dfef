import {
  type Clock,
  ERRORS as FOUNDATION_ERRORS,
  Lifecycle,
  type Logger,
  type Loop,
  loop,
  printable,
  type Rng,
  type Service,
  silentLogger,
  systemClock,
  systemRng,
  withDeadline,
} from '@millrace/foundation';
import { abortError, ERRORS } from '../errors.js';
import { InMemoryQueue } from '../memory/queue.js';
import type { StreamEvent, TaskView } from '../model.js';
import { ThreadPool } from '../threads/thread-pool.js';
import { Worker } from '../worker.js';
import { hasRoom, Lanes } from './lanes.js';
import {
  type ResolvedTaskManagerConfig,
  resolveTaskManagerConfig,
  type TaskManagerConfig,
} from './options.js';
import { Retention } from './retention.js';
import { runHandler, type TaskContext, type TaskHandler } from './run-handler.js';
import { Task, type TaskEnd, type TaskRequest, type TaskResult } from './task.js';

/** What a TaskManager takes from outside; the platform's own unless given. */
export interface TaskManagerDependencies {
  readonly clock?: Clock | undefined;
  /** For the ids of tasks. */
  readonly rng?: Rng | undefined;
  readonly log?: Logger | undefined;
}

/** Where to begin reading a stream, and what ends the reading. */
export interface StreamOptions {
  /** The first event wanted (0). */
  readonly fromOffset?: number | undefined;
  /** Ends the reading with an AbortError (`ABORTED`); the task goes on. */
  readonly signal?: AbortSignal | undefined;
}

/** How much a TaskManager holds. */
export interface TaskManagerStats {
  /** Accepted and not started. */
  readonly queued: number;
  /** Handlers that have not ended, those of cancelled tasks included. */
  readonly active: number;
  /** Ended tasks whose result is kept. */
  readonly stored: number;
  /** Keys that have a queued or active task. */
  readonly lanes: number;
}

interface Machinery {
  readonly pool: ThreadPool;
  readonly worker: Worker<null>;
}

const ignore = () => {};

/**
 * Runs tasks in lanes: those of one key strictly one after the other in the order they were accepted, different keys
 * in parallel on up to `maxWorkers` workers; what a task writes can be read while it runs, by any number of readers.
 *
 * `InMemoryQueue → Worker → ThreadPool → handler`: the queue holds one ticket for each task whose lane is free, so a
 * task that waits for its lane takes no worker. A ticket names no task: whoever draws it takes the task that has been
 * ready longest, and a cancelled task leaves nothing behind in the queue but a ticket that the next one uses.
 *
 * A cancelled task is CANCELLED at once for its callers, but its lane and worker are free only when its handler has
 * really ended: one that ignores its signal must not run beside the next of its lane.
 */
export class TaskManager<I, R = unknown> implements Service {
  readonly #handler: TaskHandler<I, R>;
  readonly #config: ResolvedTaskManagerConfig;
  readonly #clock: Clock;
  readonly #rng: Rng;
  readonly #log: Logger;
  /** Drawn once: an id of an earlier process then is unknown here instead of naming somebody else's task. */
  readonly #idPrefix: string;
  readonly #lifecycle: Lifecycle;
  readonly #tickets: InMemoryQueue<null>;
  readonly #tasks = new Map<string, Task<I, R>>();
  readonly #lanes = new Lanes<Task<I, R>>();
  readonly #finished: Retention<Task<I, R>>;
  readonly #cleanup: Loop;
  #machinery: Machinery | undefined;
  #accepted = 0;
  #ticketCount = 0;
  #closed = false;
  #onIdle: () => void = ignore;

  /** @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`. */
  constructor(
    handler: TaskHandler<I, R>,
    config?: TaskManagerConfig,
    dependencies: TaskManagerDependencies = {},
  ) {
    const { clock = systemClock, rng = systemRng(), log = silentLogger } = dependencies;
    if (typeof handler !== 'function') throw invalid('the handler', 'a function', handler);
    this.#handler = handler;
    this.#config = resolveTaskManagerConfig(config);
    this.#clock = clock;
    this.#rng = rng;
    this.#log = log;
    this.#idPrefix = rng.integer(0, Number.MAX_SAFE_INTEGER).toString(36);
    this.#tickets = new InMemoryQueue({ name: this.#config.name }, { clock, rng });
    this.#finished = new Retention({ ttlMs: this.#config.resultTtlMs, max: this.#config.maxStored });
    const kit = { clock, rng, logger: log };
    const cleanUp = async () => this.#cleanUp();
    const { cleanupIntervalMs } = this.#config;
    this.#cleanup = loop(kit, 'Delete expired tasks', cleanupIntervalMs, cleanUp, { unref: true });
    this.#lifecycle = new Lifecycle(`TaskManager ${this.#config.name}`, {
      start: () => this.#start(),
      stop: () => this.#stop(),
    });
  }

  /** How much it holds now. */
  get stats(): TaskManagerStats {
    this.#cleanUp();
    return {
      queued: this.#lanes.queuedCount,
      active: this.#lanes.activeCount,
      stored: this.#finished.size,
      lanes: this.#lanes.size,
    };
  }

  /**
   * Starts working on what was accepted; `enqueue` may be called before.
   * @throws MillraceError `SERVICE_STOPPED` after `stop`.
   */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /**
   * Refuses new tasks and cancels the queued ones at once; running ones may finish within `stopGraceMs`, are cancelled
   * then, and left behind if they have not ended after another `abortGraceMs`. Every stream has ended when it resolves.
   */
  stop(): Promise<void> {
    this.#closed = true;
    for (const task of [...this.#lanes.tasks()]) if (task.status === 'QUEUED') this.#cancel(task);
    return this.#lifecycle.stop();
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Accepts a task, or refuses it at once; a refused one leaves no trace. Calls are accepted in the order they are made.
   * @returns the task, QUEUED.
   * @throws MillraceError `QUEUE_FULL` when `queueMaxSize` tasks wait, `QUEUE_CLOSED` after `stop`, `OPTION_INVALID` for
   * a bad key; AbortError (`ABORTED`) when the signal has already aborted.
   */
  async enqueue(request: TaskRequest<I>): Promise<TaskView> {
    this.#refuse(request);
    this.#accepted++;
    const id = `${this.#idPrefix}-${this.#accepted.toString(36)}`;
    const task = new Task<I, R>(id, request, this.#config, this.#clock);
    if (request.signal) task.follow(request.signal, () => this.#cancel(task));
    this.#tasks.set(id, task);
    this.#lanes.add(task);
    this.#issueTickets();
    return task.view();
  }

  /**
   * Where a task is.
   * @throws MillraceError `TASK_NOT_FOUND`.
   */
  status(id: string): TaskView {
    return this.#find(id).view();
  }

  /**
   * The tasks of a key that have not ended, in the order in which they run.
   * @param max - at most so many.
   */
  openTasks(key: string, max: number): readonly TaskView[] {
    const open: TaskView[] = [];
    for (const task of this.#lanes.of(key)) {
      if (open.length >= max) break;
      const view = task.view();
      // A cancelled one holds its lane until its handler has ended.
      if (view.endedAt === undefined) open.push(view);
    }
    return open;
  }

  /**
   * What a completed task wrote and returned.
   * @throws MillraceError `TASK_NOT_FOUND`, `TASK_PENDING` before its end, `TASK_FAILED` (with what the handler threw as
   * `cause`), `TASK_CANCELLED`.
   */
  result(id: string): TaskResult<R> {
    return this.#find(id).result();
  }

  /**
   * The events of a task: start, token*, then one of done or error. A token marked `snapshot` replaces all text before
   * it. A reader counts as attached from its first read until the last event, `return()` or its signal.
   * @returns one reader; call again for another.
   * @throws MillraceError `TASK_NOT_FOUND`, `OPTION_INVALID` for a bad offset; reading throws AbortError (`ABORTED`).
   */
  stream(id: string, options: StreamOptions = {}): AsyncIterableIterator<StreamEvent, undefined> {
    const { fromOffset = 0, signal } = options;
    if (!(Number.isSafeInteger(fromOffset) && fromOffset >= 0)) {
      throw invalid('fromOffset', 'an integer ≥ 0', fromOffset);
    }
    return this.#find(id).stream.reader(fromOffset, signal);
  }

  /**
   * Cancels a task: a queued one never starts, the handler of a running one sees its signal abort. Does nothing to one
   * that has ended.
   * @returns the task after that.
   * @throws MillraceError `TASK_NOT_FOUND`.
   */
  cancel(id: string): TaskView {
    const task = this.#find(id);
    this.#cancel(task);
    return task.view();
  }

  #refuse({ key, signal }: TaskRequest<I>): void {
    if (typeof key !== 'string' || key === '') throw invalid('key', 'a text of at least one character', key);
    if (signal?.aborted) throw abortError(signal);
    const { name, maxWorkers, queueMaxSize } = this.#config;
    if (this.#closed) throw ERRORS.create('QUEUE_CLOSED', { queue: name });
    const { readyCount: ready, queuedCount: queued, activeCount } = this.#lanes;
    const freeSlots = this.#machinery ? maxWorkers - activeCount : 0;
    const laneFree = this.#lanes.isFree(key);
    if (hasRoom({ queueMaxSize, freeSlots, ready, queued, laneFree })) return;
    throw ERRORS.create('QUEUE_FULL', { queue: name, size: queued });
  }

  #find(id: string): Task<I, R> {
    this.#cleanUp();
    const task = this.#tasks.get(id);
    if (!task) throw ERRORS.create('TASK_NOT_FOUND', { task: id });
    return task;
  }

  #start(): Promise<void> {
    const { name, maxWorkers: concurrency } = this.#config;
    const pool = new ThreadPool({ name, maxWorkers: concurrency });
    const worker = new Worker<null>(
      this.#tickets,
      async () => {
        this.#ticketCount--;
        // Rejects only when the pool is shut down over a handler that does not end.
        await pool.submit(() => this.#runNext()).catch(ignore);
      },
      { name, concurrency },
      { clock: this.#clock, rng: this.#rng, log: this.#log },
    );
    this.#machinery = { pool, worker };
    this.#cleanup.start();
    return worker.start();
  }

  async #stop(): Promise<void> {
    const { stopGraceMs, abortGraceMs } = this.#config;
    await this.#cleanup.stop();
    await this.#idleWithin(stopGraceMs);
    for (const task of [...this.#lanes.tasks()]) this.#cancel(task);
    const idle = await this.#idleWithin(abortGraceMs);
    if (!idle) {
      const handlers = this.#lanes.activeCount;
      this.#log.warn({ handlers }, 'Handlers ignore their signal and are left behind');
    }
    await this.#tickets.close();
    await this.#machinery?.pool.shutdown({ wait: idle });
    await this.#machinery?.worker.stop();
  }

  /** Waits until no handler runs; false when the time is up first. */
  async #idleWithin(ms: number): Promise<boolean> {
    if (this.#lanes.activeCount > 0) {
      const idle = new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
      await withDeadline(this.#clock, ms, idle);
      this.#onIdle = ignore;
    }
    return this.#lanes.activeCount === 0;
  }

  /** As many tickets as there are lanes that could go on. */
  #issueTickets(): void {
    while (this.#ticketCount < this.#lanes.readyCount) {
      this.#ticketCount++;
      // Refused only when closed, and by then nothing is ready.
      this.#tickets.tryPut(null).catch(ignore);
    }
  }

  async #runNext(): Promise<void> {
    const task = this.#lanes.take();
    if (!task) return;
    try {
      this.#end(task, await this.#outcome(task));
    } finally {
      this.#lanes.release(task);
      this.#issueTickets();
      if (this.#lanes.activeCount === 0) this.#onIdle();
    }
  }

  async #outcome(task: Task<I, R>): Promise<TaskEnd<R>> {
    try {
      if (task.late)
        throw FOUNDATION_ERRORS.create('DEADLINE_EXCEEDED', { deadline: task.deadline?.toISOString() });
      const value = await runHandler(this.#handler, task.start(), this.#contextOf(task), task.stream);
      return { status: 'COMPLETED', value };
    } catch (error) {
      return { status: 'FAILED', error };
    }
  }

  #contextOf(task: Task<I, R>): TaskContext {
    return {
      signal: task.signal,
      attempt: 1,
      ...(task.deadline && { deadline: task.deadline }),
      idempotencyKey: task.id,
      log: this.#log.child(fieldsOf(task)),
      emit: (text) => task.stream.write(text),
    };
  }

  #cancel(task: Task<I, R>): void {
    this.#end(task, { status: 'CANCELLED' });
    // An active one stays in its lane until its handler has ended.
    this.#lanes.remove(task);
    this.#issueTickets();
  }

  #end(task: Task<I, R>, end: TaskEnd<R>): void {
    if (!task.end(end)) return;
    this.#finished.add(task, this.#clock.monotonicMs());
    this.#cleanUp();
    if (end.status === 'FAILED') {
      this.#log.warn({ ...fieldsOf(task), err: end.error }, 'A task failed');
    }
  }

  #cleanUp(): void {
    for (const task of this.#finished.sweep(this.#clock.monotonicMs())) this.#tasks.delete(task.id);
  }
}

const fieldsOf = ({ id, key, logFields }: Pick<Task<unknown, unknown>, 'id' | 'key' | 'logFields'>) => ({
  taskId: id,
  key,
  ...logFields,
});

const invalid = (option: string, expected: string, given: unknown) =>
  FOUNDATION_ERRORS.create('OPTION_INVALID', {
    owner: 'TaskManager',
    option,
    expected,
    given: printable(given),
  });
