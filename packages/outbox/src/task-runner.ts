import { pLimit } from '@millrace/async-utils';
import { type Logger, MillraceError, printable } from '@millrace/foundation';
import { ERRORS as DATABASE_ERRORS, type Database, type Tx, toJson } from '@millrace/postgres';
import type { Completions } from './completions.js';
import { ERRORS } from './errors.js';
import type { TaskResult } from './events.js';
import type { ResolvedOutboxOptions } from './options.js';
import { isConflict, isPassing } from './passing.js';
import type { ClaimedTask, NewTask, TaskStore } from './postgres/task-store.js';
import type { DagRegistry, TaskHandler } from './registry.js';
import { type ContextParts, contextOf, contextWithin } from './run-context.js';
import { STOPPING, type StopSwitch } from './stop-switch.js';
import { TaskAdditions } from './task-additions.js';
import type { AfterEnd, TaskOutcomes } from './task-outcomes.js';

/** Runs one claimed task at a time per call, and writes down how it ended. */
export class TaskRunner {
  readonly #database: Database;
  readonly #tasks: TaskStore;
  readonly #registry: DagRegistry;
  readonly #outcomes: TaskOutcomes;
  readonly #completions: Completions;
  readonly #options: ResolvedOutboxOptions;
  readonly #logger: Logger;
  readonly #afterEnd: AfterEnd;
  /** One session: the time of a handler begins with its turn, not while it waits behind others. */
  readonly #turn: <T>(work: () => Promise<T>) => Promise<T>;

  /**
   * @param parts - of the outbox.
   * @param options - limits.
   * @param afterEnd - see AfterEnd.
   */
  constructor(
    parts: {
      readonly tasks: TaskStore;
      readonly registry: DagRegistry;
      readonly outcomes: TaskOutcomes;
      readonly completions: Completions;
    },
    options: ResolvedOutboxOptions,
    afterEnd: AfterEnd,
  ) {
    this.#database = options.database;
    this.#tasks = parts.tasks;
    this.#registry = parts.registry;
    this.#outcomes = parts.outcomes;
    this.#completions = parts.completions;
    this.#options = options;
    this.#logger = options.logger;
    this.#afterEnd = afterEnd;
    this.#turn = options.database.kind === 'pglite' ? pLimit(1) : (work) => work();
  }

  /**
   * Runs a task to its end, whatever that is. Never throws.
   * @param task - claimed by this worker.
   * @param stop - thrown when the claim is lost (`CLAIM_LOST`) or the worker stops (STOPPING).
   * @param free - called when the handler has ended: its slot can be used while the completion is written.
   */
  async run(task: ClaimedTask, stop: StopSwitch, free: () => void): Promise<void> {
    const { clock } = this.#options;
    let startedMs = clock.monotonicMs();
    const handler = this.#registry.handler(task.handler);
    let result: TaskResult;
    try {
      // The claim asked for handlers that this process had stored; one that is gone since is somebody else's.
      if (!handler) result = await this.#outcomes.returned(task);
      else if (handler.mode === 'external') result = await this.#runExternal(task, handler, stop, free);
      else
        result = await this.#turn(() => {
          startedMs = clock.monotonicMs();
          return this.#runTransactional(task, handler, stop);
        });
    } catch (error) {
      result = 'lost';
      this.#logger.error(
        { task: task.taskKey, batch: task.batchId, reason: printable(error) },
        'A task could not be settled',
      );
    }
    free();
    this.#outcomes.note(task.handler, result, clock.monotonicMs() - startedMs);
  }

  async #runTransactional(task: ClaimedTask, handler: TaskHandler, stop: StopSwitch): Promise<TaskResult> {
    if (handler.mode !== 'transactional') throw new Error(`${handler.name} is not transactional`);
    let result: TaskResult = 'done';
    let isEnding = false;
    const work = async (tx: Tx) => {
      const parts = this.#partsOf(task, stop);
      if (handler.when && (await isUnwanted(handler, task))) {
        result = 'skipped';
        isEnding = true;
        return this.#skip(tx, task);
      }
      const value = this.#encode(handler, await handler.run(contextWithin(task, parts, tx)));
      isEnding = true;
      return this.#complete(tx, task, value, parts.additions.tasks);
    };
    try {
      const { timeoutMs } = task;
      const options = { timeoutMs, signal: stop.signal, beginWithFirst: true };
      this.#afterEnd(await this.#database.transaction(work, options));
      return result;
    } catch (error) {
      return this.#settleFailure(task, handler, { error, isEnding, stop });
    }
  }

  /** Tells a handler's own failure from that of the database under it. */
  #settleFailure(
    task: ClaimedTask,
    handler: TaskHandler,
    { error, isEnding, stop }: { error: unknown; isEnding: boolean; stop: StopSwitch },
  ): Promise<TaskResult> | TaskResult {
    if (ERRORS.is(error, 'CLAIM_LOST') || ERRORS.is(stop.reason, 'CLAIM_LOST')) return 'lost';
    if (stop.reason === STOPPING) return this.#outcomes.returned(task);
    // Committed or not: the row says so, to whoever looks at it when the lease ends.
    if (DATABASE_ERRORS.is(error, 'COMMIT_UNKNOWN')) return 'lost';
    if (DATABASE_ERRORS.is(error, 'TX_TIMEOUT'))
      return this.#outcomes.failed(
        task,
        handler,
        ERRORS.create('TASK_TIMEOUT', { timeoutMs: task.timeoutMs }, { cause: error }),
      );
    // Others of the outbox were in the way: nothing that the task could be blamed for, however often.
    if (isEnding && isConflict(error)) return this.#outcomes.returned(task);
    if (DATABASE_ERRORS.is(error, 'BACKEND_UNAVAILABLE') || isConflict(error))
      return this.#outcomes.lost(task, error);
    return this.#outcomes.failed(task, handler, error);
  }

  async #complete(tx: Tx, task: ClaimedTask, result: string, added: readonly NewTask[]): Promise<number> {
    if (added.length > 0) await this.#tasks.add(tx, task, added, this.#options.tasksPerBatchMax);
    const { id, claimId } = task;
    // When nobody knows what can run now, the poller looks.
    return (
      (await this.#tasks.endAndCommit(tx, { id, claimId, status: 'DONE', result, seenAs: 'success' })) ?? 1
    );
  }

  async #skip(tx: Tx, { id, claimId }: ClaimedTask): Promise<number> {
    await this.#tasks.lockDescendants(tx, id);
    const outcome = await this.#tasks.end(tx, [{ id, claimId, status: 'SKIPPED', seenAs: 'end' }]);
    if (!outcome.ended.has(id)) throw ERRORS.create('CLAIM_LOST', {});
    return outcome.ready + (await this.#tasks.skip(tx, outcome.skip));
  }

  async #runExternal(
    task: ClaimedTask,
    handler: TaskHandler,
    stop: StopSwitch,
    free: () => void,
  ): Promise<TaskResult> {
    if (handler.mode !== 'external') throw new Error(`${handler.name} is not external`);
    const { timeoutMs } = task;
    const timeUp = () => stop.stop(ERRORS.create('TASK_TIMEOUT', { timeoutMs }));
    const cancelTimer = this.#options.clock.setTimer(timeoutMs, timeUp);
    const parts = this.#partsOf(task, stop);
    let end: ((tx: Tx) => Promise<number>) | undefined;
    let result = '';
    try {
      if (handler.when && (await stop.during(isUnwanted(handler, task)))) end = (tx) => this.#skip(tx, task);
      else {
        result = this.#encode(handler, await stop.during(handler.run(contextOf(task, parts))));
        const added = parts.additions.tasks;
        if (added.length > 0) end = (tx) => this.#complete(tx, task, result, added);
      }
    } catch (error) {
      if (ERRORS.is(stop.reason, 'CLAIM_LOST')) return 'lost';
      if (stop.reason === STOPPING) return this.#outcomes.returned(task);
      return this.#outcomes.failed(task, handler, error);
    } finally {
      cancelTimer();
    }
    free();
    try {
      if (end) {
        this.#afterEnd(await this.#database.transaction(end, { retries: 3 }));
        return result === '' ? 'skipped' : 'done';
      }
      const { id, claimId } = task;
      const isEnded = await this.#completions.add({ id, claimId, status: 'DONE', result, seenAs: 'success' });
      return isEnded ? 'done' : 'lost';
    } catch (error) {
      if (ERRORS.is(error, 'CLAIM_LOST') || DATABASE_ERRORS.is(error, 'COMMIT_UNKNOWN')) return 'lost';
      return isPassing(error)
        ? this.#outcomes.lost(task, error)
        : this.#outcomes.failed(task, handler, error);
    }
  }

  #partsOf(task: ClaimedTask, stop: StopSwitch): ContextParts {
    const additions = new TaskAdditions(task.handler, this.#registry, this.#options);
    return { stop, additions, logger: this.#logger };
  }

  #encode({ name }: TaskHandler, value: unknown): string {
    if (value === undefined) return 'null';
    const invalid = (expected: string, given: string) =>
      ERRORS.create('RESULT_INVALID', { handler: name, expected, given });
    let text: string;
    try {
      text = toJson(value);
    } catch (error) {
      throw invalid(
        'something JSON can carry',
        error instanceof MillraceError ? error.message : printable(value),
      );
    }
    const { resultBytesMax: max } = this.#options;
    const bytes = Buffer.byteLength(text);
    if (bytes > max) throw invalid(`at most ${max} bytes of JSON (resultBytesMax)`, `${bytes} bytes`);
    return text;
  }
}

async function isUnwanted(handler: TaskHandler, task: ClaimedTask): Promise<boolean> {
  return handler.when !== undefined && !(await handler.when(task.inputs));
}
