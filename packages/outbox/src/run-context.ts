import type { Logger } from '@millrace/foundation';
import type { Tx } from '@millrace/postgres';
import type { AddedTask, BatchOfTask, TaskContext, TransactionalContext } from './define-dag.js';
import type { ClaimedTask } from './postgres/task-store.js';
import type { StopSwitch } from './stop-switch.js';
import type { TaskAdditions } from './task-additions.js';

/** What the handler of one try is given. Signal and logger are made when it asks for them. */
export class RunContext implements TaskContext {
  readonly payload: unknown;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly attempt: number;
  readonly taskKey: string;
  readonly idempotencyKey: string;
  readonly batch: BatchOfTask;
  /** A function, not a method: handlers take it out of the context. */
  readonly addTasks: (tasks: readonly AddedTask[]) => void;
  /** What the handler has added. */
  readonly additions: TaskAdditions;
  /** Only there for a transactional handler. */
  declare readonly tx: Tx | undefined;
  readonly #stop: StopSwitch;
  readonly #logger: Logger;

  /**
   * @param task - the claim.
   * @param stop - tells the handler to stop.
   * @param parts - what it adds tasks to, and the logger.
   */
  constructor(
    task: ClaimedTask,
    stop: StopSwitch,
    { additions, logger }: { readonly additions: TaskAdditions; readonly logger: Logger },
  ) {
    const { batchId: id, taskKey, attempt, payload, inputs, tenant, dag, bizKey, runNo, traceparent } = task;
    this.payload = payload;
    this.inputs = inputs;
    this.attempt = attempt;
    this.taskKey = taskKey;
    this.idempotencyKey = `${id}:${taskKey}`;
    this.batch = { id, tenant, dag, bizKey, runNo, traceparent };
    this.additions = additions;
    this.addTasks = (tasks) => additions.add(tasks);
    this.#stop = stop;
    this.#logger = logger;
  }

  get signal(): AbortSignal {
    const { tx } = this;
    if (tx?.signal.aborted) this.#stop.stop(tx.signal.reason);
    else tx?.signal.addEventListener('abort', () => this.#stop.stop(tx.signal.reason), { once: true });
    return this.#stop.signal;
  }

  get log(): Logger {
    return this.#logger.child({ batch: this.batch.id, task: this.taskKey, attempt: this.attempt });
  }

  /** The same with the transaction of a transactional handler. */
  within(tx: Tx): TransactionalContext {
    return Object.assign(this, { tx });
  }
}
