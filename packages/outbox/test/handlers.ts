import { latch } from '@millrace/testkit';
import { type TaskContext, type TaskDefinition, type TransactionalContext, task } from '../src/define-dag.js';
import type { TaskMode } from '../src/model.js';

export const MODES = ['transactional', 'external'] as const satisfies readonly TaskMode[];

interface Settings extends Omit<TaskDefinition, 'mode' | 'run'> {
  /** Runs before the handler if the task is transactional. */
  readonly write?: (context: TransactionalContext) => Promise<unknown>;
}

/** A task of either mode. */
export function taskIn(
  mode: TaskMode,
  run: (context: TaskContext) => unknown,
  { write, ...settings }: Settings = {},
): TaskDefinition {
  if (mode === 'external') return task({ ...settings, mode, run });
  if (!write) return task({ ...settings, run });
  return task({
    ...settings,
    run: async (context) => {
      await write(context);
      return run(context);
    },
  });
}

/** A handler that does not end before the test lets it. */
export function heldHandler<T>(result?: T) {
  const isRunning = latch('the handler runs');
  const mayEnd = latch('the handler may end');
  const run = async () => {
    isRunning.open();
    await mayEnd.promise;
    return result;
  };
  return { isRunning, mayEnd, run };
}
