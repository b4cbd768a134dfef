import { pLimit } from '@millrace/async-utils';
import { ERRORS as DATABASE_ERRORS, isConflict, type Tx } from '@millrace/postgres';
import { ERRORS } from './errors.js';
import type { TaskResult } from './events.js';
import type { Kit } from './kit.js';
import type { ClaimedTask } from './ports.js';
import type { TaskHandler } from './registry.js';
import { type ContextParts, contextWithin } from './run-context.js';
import { STOPPING, type StopSwitch } from './stop-switch.js';
import { isUnwanted, type TaskEndings } from './task-endings.js';
import type { TaskOutcomes } from './task-outcomes.js';

/** A handler that writes through `tx`. */
export type TransactionalHandler = Extract<TaskHandler, { readonly mode: 'transactional' }>;

/** Runs each handler in a transaction. Its writes and its completion commit together. */
export class TransactionalRunner {
  readonly #kit: Kit;
  readonly #endings: TaskEndings;
  readonly #outcomes: TaskOutcomes;
  /** Runs one handler at a time on PGlite, which has one session. A timeout starts with the handler's turn. */
  readonly #turn: <T>(work: () => Promise<T>) => Promise<T>;

  constructor(kit: Kit, endings: TaskEndings, outcomes: TaskOutcomes) {
    this.#kit = kit;
    this.#endings = endings;
    this.#outcomes = outcomes;
    this.#turn = kit.options.database.kind === 'pglite' ? pLimit(1) : (work) => work();
  }

  /**
   * Runs a task and stores its end.
   * @param onStart - called when its turn has come.
   */
  run(
    task: ClaimedTask,
    handler: TransactionalHandler,
    parts: ContextParts,
    onStart: () => void,
  ): Promise<TaskResult> {
    return this.#turn(() => {
      onStart();
      return this.#run(task, handler, parts);
    });
  }

  async #run(task: ClaimedTask, handler: TransactionalHandler, parts: ContextParts): Promise<TaskResult> {
    const { stop, additions } = parts;
    let result: TaskResult = 'done';
    let isEnding = false;
    const work = async (tx: Tx) => {
      if (handler.when && (await isUnwanted(handler, task))) {
        result = 'skipped';
        isEnding = true;
        return this.#endings.skip(tx, task);
      }
      const value = this.#endings.encode(handler, await handler.run(contextWithin(task, parts, tx)));
      isEnding = true;
      return this.#endings.complete(tx, task, value, additions.tasks);
    };
    try {
      const { timeoutMs } = task;
      const options = { timeoutMs, signal: stop.signal, beginWithFirst: true };
      this.#kit.afterEnd(await this.#kit.options.database.transaction(work, options));
      return result;
    } catch (error) {
      return this.#failed(task, handler, { error, isEnding, stop });
    }
  }

  /** Distinguishes a failure of the handler from one of the database under it. */
  #failed(
    task: ClaimedTask,
    handler: TransactionalHandler,
    { error, isEnding, stop }: { error: unknown; isEnding: boolean; stop: StopSwitch },
  ): Promise<TaskResult> | TaskResult {
    if (ERRORS.is(error, 'CLAIM_LOST') || ERRORS.is(stop.reason, 'CLAIM_LOST')) return 'lost';
    if (stop.reason === STOPPING) return this.#outcomes.returned(task);
    // The row shows whether it was committed, when the lease expires.
    if (DATABASE_ERRORS.is(error, 'COMMIT_UNKNOWN')) return 'lost';
    if (DATABASE_ERRORS.is(error, 'TX_TIMEOUT')) {
      const { timeoutMs } = task;
      return this.#outcomes.failed(
        task,
        handler,
        ERRORS.create('TASK_TIMEOUT', { timeoutMs }, { cause: error }),
      );
    }
    // Statements of the outbox itself were in conflict, so the attempt does not count.
    if (isEnding && isConflict(error)) return this.#outcomes.returned(task);
    if (DATABASE_ERRORS.is(error, 'BACKEND_UNAVAILABLE') || isConflict(error))
      return this.#outcomes.lost(task, error);
    return this.#outcomes.failed(task, handler, error);
  }
}
