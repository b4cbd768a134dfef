import type { Logger } from '@millrace/foundation';
import type { Tx } from '@millrace/postgres';
import type { TaskContext, TransactionalContext } from './define-dag.js';
import { LentTx } from './lent-tx.js';
import type { ClaimedTask } from './ports.js';
import { taskFields } from './rules/log-fields.js';
import type { StopSwitch } from './stop-switch.js';
import type { TaskAdditions } from './task-additions.js';

/** What a context is made of besides the claim. */
export interface ContextParts {
  /** Tells the handler to stop. */
  readonly stop: StopSwitch;
  /** Where what it adds is kept. */
  readonly additions: TaskAdditions;
  readonly logger: Logger;
}

/** Of a root: it depends on nothing. */
const NO_INPUTS = Object.freeze({});

/**
 * What the handler of one try is given. Signal and logger are made when it asks for them: most handlers never look. Own members all of
 * them, so that a handler can pass the context on as `{ ...context }`.
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

/**
 * The same for a transactional handler: its signal aborts with its transaction, too.
 * @param tx - of the handler, which gets it without its commit.
 */
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
