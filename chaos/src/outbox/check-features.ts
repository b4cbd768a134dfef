import type { Verdict } from '../registry.js';
import { type Evidence, reopened } from './evidence.js';
import { stateOf } from './expected.js';
import { taskName, tasksOf, wanted } from './plan.js';
import type { TaskScript } from './scripts.js';
import type { PlannedTask } from './shapes.js';

/** More parents than are counted in the row of the join itself. */
const WIDE_ABOVE = 64;

/** A task as it was planned and as it ended. */
interface EndedTask extends PlannedTask {
  readonly state: string;
  readonly does: TaskScript['does'] | undefined;
}

/** What a task of its kind shows. */
const OF_TASKS: Readonly<Record<string, (task: EndedTask) => boolean>> = {
  'ran after any': ({ join, state }) => join === 'any' && state === 'DONE',
  'after at least k': ({ join, state }) => typeof join === 'object' && state === 'DONE',
  'after all ends': ({ join, state }) => join === 'all-done' && state === 'DONE',
  'after a wide join': ({ after, state }) => after.length > WIDE_ABOVE && state === 'DONE',
  added: ({ addedBy, state }) => addedBy !== undefined && state === 'DONE',
  'failed under fail': ({ onFailure = 'fail', state }) => onFailure === 'fail' && state === 'FAILED',
  'under skip': ({ onFailure, state }) => onFailure === 'skip' && state === 'FAILED',
  'under continue': ({ onFailure, state }) => onFailure === 'continue' && state === 'FAILED',
  'at once': ({ does, state }) => does === 'fails-at-once' && state === 'FAILED',
  'by all tries': ({ does, state }) => does === 'fails-always' && state === 'FAILED',
  'mended and done': ({ does, state }) => !!does?.startsWith('fails-a') && state === 'DONE',
  'skipped by condition': ({ state }) => state === 'SKIPPED by condition',
  'by cascade': ({ state }) => state === 'SKIPPED by cascade',
  cancelled: ({ state }) => state === 'CANCELLED',
};

/** Every feature of DAGs occurred: one that did not proves nothing. */
export function checkFeatures(evidence: Evidence): Verdict {
  const { plan, tasks, batches, moves, testimony } = evidence;
  const ended = wanted(plan).flatMap((batch) =>
    tasksOf(plan, batch).map((task): EndedTask => {
      const state = stateOf(tasks.get(taskName(batch.bizKey, task.key)));
      return { ...task, state, does: batch.payload.scripts[task.key]?.does };
    }),
  );
  const ofBatches: Readonly<Record<string, number>> = {
    'batches DONE': batches.filter(({ status }) => status === 'DONE').length,
    'ended FAILED': moves.filter(({ to }) => to === 'FAILED').length,
    'ended ABORTED': moves.filter(({ to }) => to === 'ABORTED').length,
    'run again': reopened(evidence).size,
    'after FAILED': moves.filter(({ from }) => from === 'FAILED').length,
    'after ABORTED': moves.filter(({ from }) => from === 'ABORTED').length,
    'retries of batches': testimony.retries.batches,
    'of tasks': testimony.retries.tasks,
  };
  const counts = {
    ...Object.fromEntries(
      Object.entries(OF_TASKS).map(([name, shows]) => [name, ended.filter(shows).length]),
    ),
    ...ofBatches,
  };
  return {
    invariant: 'every feature occurred',
    held: Object.values(counts).every((count) => count > 0),
    evidence: Object.entries(counts)
      .map(([name, count]) => `${name} × ${count}`)
      .join(', '),
  };
}
