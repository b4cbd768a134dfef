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

/** A task of a random DAG. */
export interface ModelTask {
  readonly key: string;
  /** Keys of tasks before this one. */
  readonly after: readonly string[];
  readonly join: JoinRule;
  readonly mode: TaskMode;
  readonly onFailure: FailurePolicy;
  readonly fate: Fate;
}

/** How a task ends; `blocked`: it waits for the end of something that has failed the batch, so it is cancelled with it. */
export type ModelEnd = 'DONE' | 'FAILED' | 'skipped by condition' | 'skipped by cascade' | 'blocked';

/** What a batch comes to. */
export interface ModelOutcome {
  readonly status: 'DONE' | 'FAILED';
  readonly ends: ReadonlyMap<string, ModelEnd>;
}

/**
 * How many parents a task needs.
 * @param task - of a DAG.
 */
export function needOf({ join, after }: Pick<ModelTask, 'join' | 'after'>): number {
  if (typeof join === 'object') return join.atLeast;
  return join === 'any' ? Math.min(1, after.length) : after.length;
}

/**
 * Whether the end of a parent is one of those that a task needs.
 * @param join - of the task.
 * @param parent - policy and end.
 */
export function isReached(join: JoinRule, parent: Pick<ModelTask, 'onFailure'>, end: ModelEnd): boolean {
  if (isUntold(parent, end)) return false;
  return join === 'all-done' || end === 'DONE' || (end === 'FAILED' && parent.onFailure === 'continue');
}

/** Ends that nobody is told of: the batch fails by them, or with them. */
const isUntold = ({ onFailure }: Pick<ModelTask, 'onFailure'>, end: ModelEnd): boolean =>
  end === 'blocked' || (end === 'FAILED' && onFailure === 'fail');

/**
 * Computes how every task ends if nothing is ever cut short. In a batch that fails, a task may also be cancelled before it gets there.
 * @param tasks - parents before children.
 */
export function expectedOutcome(tasks: readonly ModelTask[]): ModelOutcome {
  const byKey = new Map(tasks.map((task) => [task.key, task]));
  const ends = new Map<string, ModelEnd>();
  for (const task of tasks) {
    const parents = task.after.map((key) => ({
      parent: byKey.get(key) as ModelTask,
      end: ends.get(key) as ModelEnd,
    }));
    const reached = parents.filter(({ parent, end }) => isReached(task.join, parent, end)).length;
    const untold = parents.filter(({ parent, end }) => isUntold(parent, end)).length;
    const need = needOf(task);
    if (reached >= need) ends.set(task.key, ownEnd(task.fate));
    else ends.set(task.key, reached + untold < need ? 'skipped by cascade' : 'blocked');
  }
  const isFailed = tasks.some(({ key, onFailure }) => onFailure === 'fail' && ends.get(key) === 'FAILED');
  return { status: isFailed ? 'FAILED' : 'DONE', ends };
}

const ownEnd = (fate: Fate): ModelEnd =>
  fate.kind === 'done' ? 'DONE' : fate.kind === 'fails' ? 'FAILED' : 'skipped by condition';

/** A task as it was found at the end. */
export interface FoundTask {
  readonly status: OutboxStatus;
  readonly skippedBy: 'condition' | 'cascade' | undefined;
}

/**
 * Compares a batch that has ended with what it had to come to.
 * @param expected - see expectedOutcome.
 * @param found - state of the batch, and its tasks by key.
 * @returns what is different.
 */
export function differences(
  { status, ends }: ModelOutcome,
  found: { readonly status: string; readonly tasks: ReadonlyMap<string, FoundTask> },
): string[] {
  const wrong: string[] = [];
  if (found.status !== status) wrong.push(`the batch is ${found.status} instead of ${status}`);
  for (const [key, end] of ends) {
    const task = found.tasks.get(key);
    const state = task?.status === 'SKIPPED' ? `skipped by ${task.skippedBy}` : task?.status;
    const isCancelled = state === 'CANCELLED' && status === 'FAILED';
    if (state !== end && !isCancelled) wrong.push(`${key} is ${state} instead of ${end}`);
  }
  return wrong;
}
