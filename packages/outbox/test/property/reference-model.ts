import type { FailurePolicy, JoinRule, OutboxStatus, TaskMode } from '../../src/model.js';

/**
 * What a task does when it runs.
 * - `done`: succeeds, after failing `failures` times.
 * - `fails`: for good, at the first try (`at-once`) or at every one.
 * - `unwanted`: its condition is false.
 */
export type Fate =
  | { readonly kind: 'done'; readonly failures: number }
  | { readonly kind: 'fails'; readonly how: 'at-once' | 'every-time' }
  | { readonly kind: 'unwanted' };

/** A task of a random DAG, or one that such a task adds when it is done. */
export interface ModelTask {
  readonly key: string;
  /** Keys of tasks before this one. */
  readonly after: readonly string[];
  readonly join: JoinRule;
  readonly mode: TaskMode;
  readonly onFailure: FailurePolicy;
  readonly fate: Fate;
  /** The task that adds it; it is not in the DAG then. */
  readonly addedBy?: string | undefined;
  /** Tasks that shall wait for an added one, where it is certain that they still wait when it is added. */
  readonly before?: readonly string[] | undefined;
}

/** How a task ends; `blocked`: it waits for the end of something that has failed the batch, so it is cancelled with it. */
export type ModelEnd = 'DONE' | 'FAILED' | 'skipped by condition' | 'skipped by cascade' | 'blocked';

/** What a batch begins, or begins again, with. */
export interface ModelStart {
  /** Tasks that have ended and do not run again. */
  readonly fixed: ReadonlyMap<string, ModelEnd>;
  /** Added tasks that others wait for already, by the one that waits. */
  readonly added: ReadonlyMap<string, readonly string[]>;
  /** Tasks that have failed and run again: they could start once, so they need no more than what still runs. */
  readonly failed: ReadonlySet<string>;
  /** A failure is left under which nothing else starts. */
  readonly failing: boolean;
}

/** A batch that starts for the first time. */
export const NEW: ModelStart = { fixed: new Map(), added: new Map(), failed: new Set(), failing: false };

/** What a batch comes to. */
export interface ModelOutcome {
  readonly status: 'DONE' | 'FAILED';
  /** Without tasks that nobody comes to add. */
  readonly ends: ReadonlyMap<string, ModelEnd>;
  /** What each task waits for, added tasks included. */
  readonly parents: ReadonlyMap<string, readonly string[]>;
}

type Waiting = Pick<ModelTask, 'join' | 'after'>;

/** How many parents a task needs. */
export function needOf({ join, after }: Waiting): number {
  if (typeof join === 'object') return join.atLeast;
  return join === 'any' ? Math.min(1, after.length) : after.length;
}

/** Whether the end of a parent is one of those that a task needs. */
export function isReached(join: JoinRule, parent: Pick<ModelTask, 'onFailure'>, end: ModelEnd): boolean {
  if (isUntold(parent, end)) return false;
  return join === 'all-done' || end === 'DONE' || (end === 'FAILED' && parent.onFailure === 'continue');
}

/** Ends that nobody is told of: the batch fails by them, or with them. */
const isUntold = ({ onFailure }: Pick<ModelTask, 'onFailure'>, end: ModelEnd): boolean =>
  end === 'blocked' || (end === 'FAILED' && onFailure === 'fail');

/**
 * Computes how every task ends if nothing is ever cut short. In a batch that fails, a task may also be cancelled before it gets there.
 * @param tasks - parents before children, added tasks behind the one that adds them.
 */
export function expectedOutcome(tasks: readonly ModelTask[], start: ModelStart = NEW): ModelOutcome {
  const ends = new Map<string, ModelEnd>();
  const parents = new Map<string, readonly string[]>();
  const look: Look = { byKey: new Map(tasks.map((task) => [task.key, task])), ends, start };
  for (const task of tasks) {
    const { key, addedBy } = task;
    if (addedBy !== undefined && ends.get(addedBy) !== 'DONE') continue;
    const before = { join: task.join, after: [...task.after, ...(start.added.get(key) ?? [])] };
    const own = start.fixed.has(key) ? before : withAdded(key, before, look);
    parents.set(key, own.after);
    ends.set(key, start.fixed.get(key) ?? endOf(task, own, look));
  }
  const isFailed = tasks.some(({ key, onFailure }) => onFailure === 'fail' && ends.get(key) === 'FAILED');
  return { status: isFailed || start.failing ? 'FAILED' : 'DONE', ends, parents };
}

interface Look {
  readonly byKey: ReadonlyMap<string, ModelTask>;
  readonly ends: ReadonlyMap<string, ModelEnd>;
  readonly start: ModelStart;
}

function endOf({ key, fate }: ModelTask, waiting: Waiting, look: Look): ModelEnd {
  const { reached, untold } = count(waiting, look);
  const { fixed, failed } = look.start;
  const running = waiting.after.filter((parent) => !fixed.has(parent)).length;
  const kept = count(
    { ...waiting, after: waiting.after.filter((parent) => fixed.has(parent)) },
    look,
  ).reached;
  const need = failed.has(key) ? Math.min(needOf(waiting), kept + running) : needOf(waiting);
  if (reached >= need) return ownEnd(fate);
  return reached + untold < need ? 'skipped by cascade' : 'blocked';
}

function count(
  { join, after }: Waiting,
  { byKey, ends }: Look,
): { readonly reached: number; readonly untold: number } {
  const all = after.map((key) => ({ parent: byKey.get(key) as ModelTask, end: ends.get(key) as ModelEnd }));
  return {
    reached: all.filter(({ parent, end }) => isReached(join, parent, end)).length,
    untold: all.filter(({ parent, end }) => isUntold(parent, end)).length,
  };
}

/** Adds to what a task waits for the tasks that are added before it, by parents of its own that run now. */
function withAdded(key: string, waiting: Waiting, look: Look): Waiting {
  const { byKey, ends, start } = look;
  const groups = new Map<string, string[]>();
  for (const [added, { addedBy, before }] of byKey) {
    if (addedBy === undefined || !ends.has(added) || start.fixed.has(addedBy) || !before?.includes(key))
      continue;
    groups.set(addedBy, [...(groups.get(addedBy) ?? []), added]);
  }
  let now = waiting;
  const adders: string[] = [];
  for (const [adder, added] of groups) {
    const next = { join: now.join, after: [...now.after, ...added] };
    if (now.after.includes(adder) && [...adders, adder].every((one) => isWaitingFor(one, next, look))) {
      now = next;
      adders.push(adder);
    }
  }
  return now;
}

/** Whether a task waits for certain as long as this parent runs: others neither make it start nor make it impossible. */
function isWaitingFor(adder: string, { join, after }: Waiting, look: Look): boolean {
  const known = after.filter((key) => !isAddedUnder(adder, key, look));
  const need = needOf({ join, after: known });
  const { reached, untold } = count({ join, after: known.filter((key) => key !== adder) }, look);
  return reached < need && need - 1 <= reached + untold;
}

function isAddedUnder(adder: string, key: string, { byKey }: Look): boolean {
  for (let one = byKey.get(key)?.addedBy; one !== undefined; one = byKey.get(one)?.addedBy)
    if (one === adder) return true;
  return false;
}

const ownEnd = (fate: Fate): ModelEnd =>
  fate.kind === 'done' ? 'DONE' : fate.kind === 'fails' ? 'FAILED' : 'skipped by condition';

/** A task as it was found at the end. */
interface FoundTask {
  readonly status: OutboxStatus;
  readonly skippedBy: 'condition' | 'cascade' | undefined;
}

/** A batch as it was found at its end. */
export interface FoundBatch<T extends FoundTask = FoundTask> {
  readonly status: string;
  readonly tasks: ReadonlyMap<string, T>;
}

/**
 * What a retry begins with.
 * @param only - the one task to run again, and what did not run because of it; everything that can unless given.
 */
export function startAgain(
  tasks: readonly ModelTask[],
  found: FoundBatch,
  parents: ReadonlyMap<string, readonly string[]>,
  only?: string,
): ModelStart {
  const there = tasks.filter(({ key }) => found.tasks.has(key));
  const is = (key: string, ...ends: string[]) => ends.includes(nameOf(found.tasks.get(key)) ?? '');
  const failing =
    only !== undefined &&
    there.some(({ key, onFailure }) => key !== only && onFailure === 'fail' && is(key, 'FAILED'));
  const again = new Set<string>();
  for (const { key } of there) {
    const follows = (parents.get(key) ?? []).some((parent) => again.has(parent));
    if (only === undefined) {
      if (is(key, 'FAILED', 'CANCELLED', 'skipped by cascade')) again.add(key);
    } else if (key === only) again.add(key);
    else if (!failing && (is(key, 'CANCELLED') || (follows && is(key, 'skipped by cascade')))) again.add(key);
  }
  const fixed = new Map<string, ModelEnd>();
  const added = new Map<string, readonly string[]>();
  for (const { key, after } of there) {
    const end = nameOf(found.tasks.get(key));
    if (!again.has(key)) fixed.set(key, end === 'CANCELLED' ? 'blocked' : (end as ModelEnd));
    added.set(
      key,
      (parents.get(key) ?? []).filter((parent) => !after.includes(parent) && found.tasks.has(parent)),
    );
  }
  const failed = new Set([...again].filter((key) => is(key, 'FAILED')));
  return { fixed, added, failed, failing };
}

const nameOf = (task: FoundTask | undefined): string | undefined =>
  task?.status === 'SKIPPED' ? `skipped by ${task.skippedBy}` : task?.status;

/**
 * Compares a batch that has ended with what it had to come to.
 * @returns what is different.
 */
export function differences(
  tasks: readonly ModelTask[],
  { status, ends }: ModelOutcome,
  found: FoundBatch,
): string[] {
  const wrong: string[] = [];
  const isAborted = found.status === 'ABORTED';
  if (found.status !== status && !isAborted) wrong.push(`the batch is ${found.status} instead of ${status}`);
  const isCut = isAborted || status === 'FAILED';
  for (const { key, addedBy } of tasks) {
    const state = nameOf(found.tasks.get(key));
    const end = ends.get(key);
    if (isCut && state === 'CANCELLED' && end !== undefined) continue;
    // Who was to add it has not come to it.
    if (isCut && state === undefined && found.tasks.get(addedBy ?? '')?.status === 'CANCELLED') continue;
    if (isCut && state === undefined && addedBy !== undefined && !found.tasks.has(addedBy)) continue;
    if (state !== end) wrong.push(`${key} is ${state} instead of ${end}`);
  }
  const known = new Set(tasks.map(({ key }) => key));
  for (const key of found.tasks.keys()) if (!known.has(key)) wrong.push(`nobody knows ${key}`);
  return wrong;
}
