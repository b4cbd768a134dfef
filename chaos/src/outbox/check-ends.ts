import { some, type Verdict } from '../registry.js';
import { counted, type Evidence, isSame, reopened } from './evidence.js';
import { chanceOf, expectedOutcome, seenInStore, stateOf } from './expected.js';
import { type PlannedBatch, taskName, tasksOf, wanted } from './plan.js';
import type { PlannedTask } from './shapes.js';

/**
 * Every batch and every task ended as their scripts and joins say: by the whole DAG, and one by one by the recorded ends of what each
 * waited for.
 */
export function checkEnds(evidence: Evidence): Verdict {
  const again = reopened(evidence);
  const wrong = wanted(evidence.plan).flatMap((batch) => {
    const planned = tasksOf(evidence.plan, batch);
    const isAgain = again.has(batch.bizKey);
    const own = [...wrongBatch(batch, evidence, isAgain), ...wrongTasks(batch, evidence, isAgain)];
    // In a batch that was retried, states of before are gone: tasks may have run by ends that were taken back.
    return isAgain ? own : [...own, ...unfounded(batch.bizKey, planned, evidence.tasks)];
  });
  const byStatus = counted(evidence.batches.map(({ status }) => status));
  const byState = counted([...evidence.tasks.values()].map(stateOf));
  return {
    invariant: 'every task ended as it must',
    held: wrong.length === 0 && evidence.tasks.size > 0,
    evidence: wrong.length > 0 ? some(wrong) : `batches ${list(byStatus)}; tasks ${list(byState)}`,
  };
}

const list = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');

/** The state of a batch follows from its tasks, and from what was done to it. */
function wrongBatch(batch: PlannedBatch, evidence: Evidence, isAgain: boolean): string[] {
  const { bizKey, payload, story = {} } = batch;
  const status = evidence.batches.find((stored) => stored.bizKey === bizKey)?.status;
  const expected = expectedOutcome(tasksOf(evidence.plan, batch), payload.scripts, isAgain).status;
  const wrong: string[] = [];
  const mayAbort = story.abortAfterMs !== undefined && !story.mends;
  if (status !== expected && !(mayAbort && status === 'ABORTED'))
    wrong.push(`${bizKey} is ${status} instead of ${expected}`);
  if (story.mends && status !== 'DONE')
    wrong.push(`${bizKey} was retried until it is done, and is ${status}`);
  if (isAgain && !story.mends) wrong.push(`${bizKey} runs again, and nobody retried it`);
  const told = evidence.testimony.aborts.filter((answer) => answer.bizKey === bizKey);
  if (story.abortAfterMs !== undefined && told.length === 0)
    wrong.push(`${bizKey}: its abort was never answered`);
  if (mayAbort && told.some((answer) => answer.status !== status))
    wrong.push(
      `${bizKey} is ${status}, and who aborted it was told ${told.map((answer) => answer.status).join()}`,
    );
  return wrong;
}

/** Each task is where it would have come to if nothing was cut short; where something was, it may be cancelled. */
function wrongTasks(batch: PlannedBatch, { plan, batches, tasks }: Evidence, isAgain: boolean): string[] {
  const { bizKey, payload } = batch;
  const planned = tasksOf(plan, batch);
  const { ends } = expectedOutcome(planned, payload.scripts, isAgain);
  const status = batches.find((stored) => stored.bizKey === bizKey)?.status;
  const isCut = status === 'FAILED' || status === 'ABORTED';
  const wrong: string[] = [];
  for (const { key, addedBy } of planned) {
    const task = tasks.get(taskName(bizKey, key));
    const [state, end = 'not there'] = [stateOf(task), ends.get(key)];
    const adder = addedBy === undefined ? undefined : tasks.get(taskName(bizKey, addedBy));
    const isNotAdded = !task && addedBy !== undefined && adder?.status !== 'DONE';
    if (state === end || (isCut && (isNotAdded || (state === 'CANCELLED' && end !== 'not there')))) continue;
    const why = task?.error ? ` (${JSON.stringify(task.error)})` : '';
    wrong.push(`${bizKey}#${key} is ${state} instead of ${end}${why}`);
  }
  const isFailed = ({ key, onFailure = 'fail' }: PlannedTask) =>
    onFailure === 'fail' && tasks.get(taskName(bizKey, key))?.status === 'FAILED';
  if (status === 'FAILED' && !planned.some(isFailed))
    wrong.push(`${bizKey} has failed, and none of its tasks`);
  return wrong;
}

/** Tasks that ran and could not start, or were skipped and could, by the states that are stored. */
function unfounded(bizKey: string, planned: readonly PlannedTask[], tasks: Evidence['tasks']): string[] {
  const seen = seenInStore(bizKey, planned, tasks);
  return planned.flatMap((task) => {
    const state = stateOf(tasks.get(taskName(bizKey, task.key)));
    const chance = chanceOf(task, seen);
    if (['DONE', 'FAILED', 'SKIPPED by condition'].includes(state) && chance !== 'starts')
      return [`${bizKey}#${task.key} is ${state}, and could not start`];
    if (state === 'SKIPPED by cascade' && chance !== 'never')
      return [`${bizKey}#${task.key} is skipped, and could start`];
    return [];
  });
}

/**
 * What is noted beside the states agrees with them: each batch's tasks by state, results of what is done and nothing else, errors and dead
 * letters of what failed.
 */
export function checkRecords({ batches, tasks }: Evidence): Verdict {
  const wrong: string[] = [];
  let counts = 0;
  for (const { bizKey, counts: noted } of batches) {
    const own = [...tasks.values()].filter(({ name }) => name.startsWith(`${bizKey}#`));
    const found = counted(own.map(({ status }) => status));
    if (!isSame(noted, found))
      wrong.push(`${bizKey} says ${JSON.stringify(noted)}, and has ${JSON.stringify(found)}`);
    counts += Object.keys(found).length;
  }
  for (const { name, status, result, error, skippedBy, letters } of tasks.values()) {
    if ((status === 'DONE') !== (result !== null))
      wrong.push(`${name} is ${status} with ${JSON.stringify(result)}`);
    if (status === 'FAILED' && !error) wrong.push(`${name} has failed without an error`);
    if (letters !== (status === 'FAILED' ? 1 : 0))
      wrong.push(`${name} is ${status} with ${letters} dead letters`);
    if ((status === 'SKIPPED') !== (skippedBy !== null)) wrong.push(`${name} is ${status} by ${skippedBy}`);
  }
  return {
    invariant: 'records agree with states',
    held: wrong.length === 0 && counts > 0,
    evidence:
      wrong.length > 0 ? some(wrong) : `${counts} counts of ${batches.length} batches, ${tasks.size} tasks`,
  };
}
