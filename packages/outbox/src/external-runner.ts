import { ERRORS as DATABASE_ERRORS, type Tx } from '@millrace/postgres';
import type { Completions } from './completions.js';
import { ERRORS } from './errors.js';
import type { TaskResult } from './events.js';
import type { Kit } from './kit.js';
import type { ClaimedTask } from './ports.js';
import type { TaskHandler } from './registry.js';
import { type ContextParts, contextOf } from './run-context.js';
import { STOPPING, type StopSwitch } from './stop-switch.js';
import { isUnwanted, type TaskEndings } from './task-endings.js';
import { isTransient, type TaskOutcomes } from './task-outcomes.js';

/** A handler that calls other systems. */
export type ExternalHandler = Extract<TaskHandler, { readonly mode: 'external' }>;

/** The callbacks of an attempt. */
export interface TryListener {
  /** The handler has ended. Its slot is free while its completion is being stored. */
  free(): void;
  /** The end is stored. */
  ended(result: TaskResult): void;
}

/**
 * Runs handlers without a transaction, and stores their completions in groups. It uses callbacks, because five promises
 * per task are too slow for tens of thousands of short tasks a second.
 */
export class ExternalRunner {
  readonly #kit: Kit;
  readonly #endings: TaskEndings;
  readonly #outcomes: TaskOutcomes;
  readonly #completions: Completions;

  constructor(kit: Kit, endings: TaskEndings, outcomes: TaskOutcomes, completions: Completions) {
    this.#kit = kit;
    this.#endings = endings;
    this.#outcomes = outcomes;
    this.#completions = completions;
  }

  /** Runs a task and stores its end. */
  run(task: ClaimedTask, handler: ExternalHandler, parts: ContextParts, listener: TryListener): void {
    const { timeoutMs } = task;
    const { stop } = parts;
    const timeUp = () => stop.stop(ERRORS.create('TASK_TIMEOUT', { timeoutMs }));
    const cancelTimer = this.#kit.options.clock.setTimer(timeoutMs, timeUp);
    let isOver = false;
    /** The first end counts. What a handler does after its timeout is ignored. */
    const isFirst = (): boolean => {
      if (isOver) return false;
      isOver = true;
      cancelTimer();
      return true;
    };
    const failed = (error: unknown) => {
      if (isFirst()) this.#settle(this.#failed(task, handler, error, stop), listener);
    };
    const returned = (value: unknown) => {
      if (isFirst()) this.#returned(task, handler, { value, parts, listener });
    };
    stop.onStop(failed);
    if (isOver) return;
    if (!handler.when) {
      this.#start(task, handler, parts, { returned, failed });
      return;
    }
    isUnwanted(handler, task).then((unwanted) => {
      if (isOver) return;
      if (!unwanted) this.#start(task, handler, parts, { returned, failed });
      else if (isFirst()) this.#skipped(task, handler, listener);
    }, failed);
  }

  #start(
    task: ClaimedTask,
    handler: ExternalHandler,
    parts: ContextParts,
    { returned, failed }: { returned: (value: unknown) => void; failed: (error: unknown) => void },
  ): void {
    try {
      const work = handler.run(contextOf(task, parts));
      if (isThenable(work)) work.then(returned, failed);
      else returned(work);
    } catch (error) {
      failed(error);
    }
  }

  #skipped(task: ClaimedTask, handler: ExternalHandler, listener: TryListener): void {
    listener.free();
    this.#settle(
      this.#endAlone(task, handler, (tx) => this.#endings.skip(tx, task), 'skipped'),
      listener,
    );
  }

  #returned(
    task: ClaimedTask,
    handler: ExternalHandler,
    { value, parts, listener }: { value: unknown; parts: ContextParts; listener: TryListener },
  ): void {
    let result: string;
    try {
      result = this.#endings.encode(handler, value);
    } catch (error) {
      this.#settle(this.#failed(task, handler, error, parts.stop), listener);
      return;
    }
    listener.free();
    const added = parts.additions.tasks;
    if (added.length > 0) {
      const end = (tx: Tx) => this.#endings.complete(tx, task, result, added);
      this.#settle(this.#endAlone(task, handler, end, 'done'), listener);
      return;
    }
    const { id, claimId } = task;
    this.#completions.add({ id, claimId, status: 'DONE', result, seenAs: 'success' }, (isEnded, error) => {
      if (error === undefined) listener.ended(isEnded ? 'done' : 'lost');
      else this.#settle(this.#outcomes.failed(task, handler, error), listener);
    });
  }

  #failed(
    task: ClaimedTask,
    handler: ExternalHandler,
    error: unknown,
    stop: StopSwitch,
  ): Promise<TaskResult> | TaskResult {
    if (ERRORS.is(stop.reason, 'CLAIM_LOST')) return 'lost';
    if (stop.reason === STOPPING) return this.#outcomes.returned(task);
    return this.#outcomes.failed(task, handler, error);
  }

  /** Stores an end of more than one statement in a transaction of its own. */
  async #endAlone(
    task: ClaimedTask,
    handler: ExternalHandler,
    end: (tx: Tx) => Promise<number>,
    result: TaskResult,
  ): Promise<TaskResult> {
    try {
      this.#kit.afterEnd(await this.#kit.options.database.transaction(end, { retries: 3 }));
      return result;
    } catch (error) {
      if (ERRORS.is(error, 'CLAIM_LOST') || DATABASE_ERRORS.is(error, 'COMMIT_UNKNOWN')) return 'lost';
      return isTransient(error)
        ? this.#outcomes.lost(task, error)
        : this.#outcomes.failed(task, handler, error);
    }
  }

  #settle(result: Promise<TaskResult> | TaskResult, listener: TryListener): void {
    Promise.resolve(result).then(
      (settled) => listener.ended(settled),
      () => listener.ended('lost'),
    );
  }
}

const isThenable = (work: unknown): work is PromiseLike<unknown> =>
  typeof (work as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function';
