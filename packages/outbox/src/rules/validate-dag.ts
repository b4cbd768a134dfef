import { MillraceError, nearestKey } from '@millrace/foundation';
import type { DagDefinition, TaskDefinition } from '../define-dag.js';
import { ERRORS } from '../errors.js';
import { orderOf } from './dag-order.js';
import { dagNameProblem, quoted, shown, taskKeyProblem } from './names.js';
import { type JoinName, joinName, neededParents } from './task-counts.js';
import { type TaskSettings, taskSettings } from './task-settings.js';

/** A valid task. */
export interface ValidTask extends Omit<TaskSettings, 'join'> {
  readonly key: string;
  readonly join: JoinName;
  /** Number of parents that it needs. */
  readonly needed: number;
  /** `dag.key` of its handler (its own). */
  readonly handler?: string | undefined;
}

/** A valid DAG. */
export interface ValidDag {
  readonly name: string;
  /** Each task comes after its parents. */
  readonly tasks: readonly ValidTask[];
}

/** Maximum number of keys of a cycle or list in a message. */
const NAMED_MAX = 6;
/** Maximum number of keys compared with an unknown one. With 100,000 keys that would take longer than all else. */
const COMPARED_MAX = 1_000;

/** Makes the error for a DAG that cannot be used. */
export const dagInvalid = (dag: unknown, reason: string): MillraceError =>
  ERRORS.create('DAG_INVALID', { dag: shown(dag), reason });

/** Lists tasks in a message, the first ones of many. */
export function listed(keys: readonly string[], between = ', '): string {
  if (keys.length <= NAMED_MAX) return keys.map(shown).join(between);
  const named = [
    ...keys.slice(0, NAMED_MAX - 1).map(shown),
    `… (${keys.length - NAMED_MAX} more)`,
    shown(keys.at(-1)),
  ];
  return named.join(between);
}

/**
 * Suggests the key that was most likely meant.
 * @param key - the unknown one.
 * @returns the end of a sentence, or an empty string.
 */
export function didYouMean(key: string, known: Iterable<string>): string {
  const slack = Math.max(2, Math.floor(key.length / 3));
  const near: string[] = [];
  for (const each of known) {
    if (near.length === COMPARED_MAX) break;
    if (Math.abs(each.length - key.length) <= slack || each.startsWith(key)) near.push(each);
  }
  const nearest = nearestKey(key, near);
  return nearest === undefined ? '' : `; did you mean ${quoted(nearest)}?`;
}

/**
 * Refuses a DAG by its size, before its tasks are checked.
 * @throws MillraceError `DAG_INVALID`: it has none; `BATCH_TOO_LARGE`.
 */
export function requireTaskCount(dag: string, count: number, max: number): void {
  if (count === 0) throw dagInvalid(dag, 'it has no task');
  if (count <= max) return;
  throw ERRORS.create('BATCH_TOO_LARGE', {
    what: 'The number of tasks',
    dag: `DAG ${quoted(dag)}`,
    given: count,
    max,
    option: 'tasksPerBatchMax',
  });
}

/**
 * Validates a DAG and fills in the defaults.
 * @returns a copy that does not change with `dag`.
 * @throws MillraceError `DAG_INVALID` with the first mistake; `BATCH_TOO_LARGE`.
 */
export function validateDag(given: DagDefinition, tasksMax: number): ValidDag {
  const { name, tasks } = given ?? {};
  const nameProblem = dagNameProblem(name);
  if (nameProblem) throw dagInvalid(name, nameProblem);
  if (!Array.isArray(tasks))
    throw dagInvalid(name, 'its tasks must be a list of pairs; make it with defineDag');
  requireTaskCount(name, tasks.length, tasksMax);
  const written = writtenTasks(name, tasks);
  const placeOf = new Map<string, number>();
  for (const key of written.keys()) placeOf.set(key, placeOf.size);
  const parents: (readonly number[])[] = [];
  const valid: ValidTask[] = [];
  for (const [key, settings] of written) {
    parents.push(parentsOf(name, key, settings.after, placeOf));
    valid.push(validTask(name, key, settings));
  }
  const sorted = orderOf(parents);
  if ('order' in sorted) {
    return Object.freeze({
      name,
      tasks: Object.freeze(sorted.order.map((place) => valid[place] as ValidTask)),
    });
  }
  const cycle = [...sorted.cycle, ...sorted.cycle.slice(0, 1)].map((place) => valid[place]?.key ?? '');
  const rootless = parents.every((list) => list.length > 0);
  const what = rootless ? 'it has no root, every task waits for another' : 'tasks wait for each other';
  throw dagInvalid(name, `${what}: ${listed(cycle, ' → ')}`);
}

/** Returns the tasks by key, each validated alone. */
function writtenTasks(dag: string, pairs: DagDefinition['tasks']): Map<string, TaskSettings> {
  const written = new Map<string, TaskSettings>();
  for (const pair of pairs) {
    if (!Array.isArray(pair))
      throw dagInvalid(dag, `its tasks must be pairs of key and task, got ${shown(pair)}`);
    const [key, task] = pair as readonly [string, TaskDefinition];
    const problem = taskKeyProblem(key);
    if (problem) throw dagInvalid(dag, problem);
    if (written.has(key)) throw dagInvalid(dag, `it has two tasks ${quoted(key)}`);
    written.set(key, settingsOf(dag, key, task));
  }
  return written;
}

function settingsOf(dag: string, key: string, given: TaskDefinition): TaskSettings {
  const owner = `task ${quoted(key)}`;
  if (typeof given !== 'object' || given === null)
    throw dagInvalid(dag, `${owner} must be made with task({ … })`);
  try {
    return taskSettings(owner, given);
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    throw dagInvalid(dag, error.message);
  }
}

/** Returns the parents of a task, by index. */
function parentsOf(
  dag: string,
  key: string,
  after: readonly string[],
  placeOf: ReadonlyMap<string, number>,
): readonly number[] {
  const parents = after.map((parent) => {
    const place = placeOf.get(parent);
    if (place !== undefined) return place;
    const hint = didYouMean(parent, placeOf.keys());
    throw dagInvalid(dag, `task ${quoted(key)} is after ${quoted(parent)}, which is not there${hint}`);
  });
  if (parents.length > 1 && new Set(parents).size < parents.length) {
    const seen = new Set<string>();
    const twice = after.find((parent) => seen.size === seen.add(parent).size);
    throw dagInvalid(dag, `task ${quoted(key)} is after ${quoted(twice)} twice`);
  }
  return parents;
}

/** Returns the task with its join rule as stored. */
function validTask(dag: string, key: string, settings: TaskSettings): ValidTask {
  const { join } = settings;
  // A copy, because the user may change the list.
  const after = settings.after.slice();
  if (after.length === 0 && join !== 'all') {
    throw dagInvalid(dag, `task ${quoted(key)} has a join, but nothing in 'after' to wait for`);
  }
  const needed = neededParents(join, after.length);
  if (typeof join === 'object' && !(needed >= 1 && needed <= after.length)) {
    const range = `from 1 to ${after.length}, the number of tasks it is after`;
    throw dagInvalid(dag, `task ${quoted(key)}: join.atLeast must be ${range}, got ${needed}`);
  }
  // Not by a spread, which takes half the time of the validation of 100,000 tasks.
  return {
    key,
    after,
    join: joinName(join),
    needed,
    mode: settings.mode,
    onFailure: settings.onFailure,
    run: settings.run,
    when: settings.when,
    timeoutMs: settings.timeoutMs,
    retry: settings.retry,
    backoffMs: settings.backoffMs,
  };
}
