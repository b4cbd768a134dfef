import type { Logger } from '@millrace/foundation';
import type { Tx } from '@millrace/postgres';
import type { TaskContext, TransactionalContext } from './define-dag.js';
import { LentTx } from './lent-tx.js';
import type { ClaimedTask } from './ports.js';
import { taskFields } from './rules/log-fields.js';
import type { StopSwitch } from './stop-switch.js';
import type { TaskAdditions } from './task-additions.js';

/** The parts of a context besides the claim. */
export interface ContextParts {
  readonly stop: StopSwitch;
  readonly additions: TaskAdditions;
  readonly logger: Logger;
}

/** The inputs of a root. */
const NO_INPUTS = Object.freeze({});

/**
 * Makes the context of an attempt. Signal and logger are made when they are read, because most handlers never read them. All
 * members are own properties, so that a handler can pass the context on as `{ ...context }`.
 */
export function contextOf(task: ClaimedTask, { stop, additions, logger }: ContextParts): TaskContext {
  const { batchId: id, taskKey, attempt, payload, inputs, tenant, dag, bizKey, runNo, traceparent } = task;
  return {
    payload,
    inputs: inputs ?? NO_INPUTS,
    attempt,
    taskKey,
    idempotencyKey: `${id}:${taskKey}`,
    batch: { id, tenant, dag, bizKey, runNo, traceparent: traceparent ?? undefined },
    addTasks: (tasks) => additions.add(tasks),
    get signal() {
      return stop.signal;
    },
    get log() {
      return logger.child({ ...taskFields(task), attempt });
    },
  };
}

/** Makes the context of an attempt in a transaction. Its signal aborts with the transaction too. */
export function contextWithin(task: ClaimedTask, parts: ContextParts, tx: Tx): TransactionalContext {
  const context = contextOf(task, parts);
  let isLinked = false;
  return Object.defineProperties(Object.assign(context, { tx: new LentTx(tx) }), {
    signal: {
      enumerable: true,
      get() {
        if (!isLinked) {
          isLinked = true;
          const onEnd = () => parts.stop.stop(tx.signal.reason);
          if (tx.signal.aborted) onEnd();
          else tx.signal.addEventListener('abort', onEnd, { once: true });
        }
        return parts.stop.signal;
      },
    },
  });
}
