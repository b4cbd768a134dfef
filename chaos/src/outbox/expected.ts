import type { Evidence, StoredTask } from './evidence.js';
import { taskName } from './plan.js';
import { isFailing, type TaskScript } from './scripts.js';
import type { PlannedTask } from './shapes.js';

/** How a task ends; `blocked`: it waits for something that has failed the batch, and is cancelled with it. */
type End = 'DONE' | 'FAILED' | 'SKIPPED by condition' | 'SKIPPED by cascade' | 'blocked';

/** What a batch comes to when nothing is cut short. */
interface Outcome {
  readonly status: 'DONE' | 'FAILED';
  /** Without tasks that nobody comes to add. */
  readonly ends: ReadonlyMap<string, End>;
}

/** What those behind a task see of its end: a success, an end, or nothing because the batch fails. */
type Seen = 'success' | 'end' | 'nothing';

/**
 * How the tasks of a batch end, by what they do and what they wait for. Where a batch fails, a task may also be cancelled before it gets there.
 * @param tasks - parents before children, added tasks behind the one that adds them.
 */
export function expectedOutcome(
  tasks: readonly PlannedTask[],
  scripts: Readonly<Record<string, TaskScript>>,
  isMended: boolean,
): Outcome {
  const ends = new Map<string, End>();
  const seen = new Map<string, Seen>();
  for (const task of tasks) {
    if (task.addedBy !== undefined && ends.get(task.addedBy) !== 'DONE') continue;
    const end = endOf(task, scripts[task.key], seen, isMended);
    ends.set(task.key, end);
    seen.set(task.key, end === 'blocked' ? 'nothing' : seenAs(task, end));
  }
  const isFailed = tasks.some(
    ({ key, onFailure = 'fail' }) => onFailure === 'fail' && ends.get(key) === 'FAILED',
  );
  return { status: isFailed ? 'FAILED' : 'DONE', ends };
}

function endOf(
  task: PlannedTask,
  script: TaskScript | undefined,
  seen: ReadonlyMap<string, Seen>,
  isMended: boolean,
): End {
  const chance = chanceOf(task, seen);
  if (chance !== 'starts') return chance === 'never' ? 'SKIPPED by cascade' : 'blocked';
  if (script?.unwanted) return 'SKIPPED by condition';
  return isFailing(script) && !(isMended && script?.curable) ? 'FAILED' : 'DONE';
}

/**
 * Whether a task can start after the ends of what it waits for.
 * @param seen - what it sees of them; those that are not there are not waited for.
 */
export function chanceOf(
  { join = 'all', after }: PlannedTask,
  seen: ReadonlyMap<string, Seen>,
): 'starts' | 'never' | 'blocked' {
  const parents = after.flatMap((key) => seen.get(key) ?? []);
  const count = (what: Seen) => parents.filter((one) => one === what).length;
  const reached = count('success') + (join === 'all-done' ? count('end') : 0);
  const need =
    typeof join === 'object' ? join.atLeast : join === 'any' ? Math.min(1, parents.length) : parents.length;
  if (reached >= need) return 'starts';
  return reached + count('nothing') < need ? 'never' : 'blocked';
}

function seenAs({ onFailure = 'fail' }: PlannedTask, status: string): Seen {
  if (status === 'DONE') return 'success';
  if (status !== 'FAILED') return status.startsWith('SKIPPED') ? 'end' : 'nothing';
  return ({ fail: 'nothing', skip: 'end', continue: 'success' } as const)[onFailure];
}

/** What the tasks of a batch see of each other by the states in the store. */
export const seenInStore = (
  bizKey: string,
  planned: readonly PlannedTask[],
  tasks: Evidence['tasks'],
): ReadonlyMap<string, Seen> =>
  new Map(
    planned.flatMap((task) => {
      const stored = tasks.get(taskName(bizKey, task.key));
      return stored ? [[task.key, seenAs(task, stored.status)] as const] : [];
    }),
  );

/**
 * The state of a stored task in the words of End.
 * @param task - undefined when it is not there.
 */
export const stateOf = (task: StoredTask | undefined): string =>
  task?.status === 'SKIPPED' ? `SKIPPED by ${task.skippedBy}` : (task?.status ?? 'not there');
