import type { FailurePolicy, OutboxStatus } from '../model.js';

/** A task of a batch to retry. */
interface TaskState {
  readonly key: string;
  readonly status: OutboxStatus;
  readonly skippedBy?: 'condition' | 'cascade' | undefined;
  readonly onFailure: FailurePolicy;
  /** Its present counts. */
  readonly pre: number;
  readonly open: number;
}

/** Number of successes that a task needs. `ends`: any end of a parent counts, and all are needed, those of added parents too. */
export interface Need {
  readonly successes: number;
  readonly ends: boolean;
}

/** A batch to retry. */
export interface BatchState {
  readonly tasks: readonly TaskState[];
  readonly edges: readonly (readonly [from: string, to: string])[];
  /** For joins that do not need the success of all parents. */
  readonly needs: ReadonlyMap<string, Need>;
}

/** A task that a retry changes: to READY, or to SKIPPED if it can still not start. */
export interface ReopenedTask {
  readonly key: string;
  readonly status: 'READY' | 'SKIPPED';
  readonly pre: number;
  readonly open: number;
  /** True if it had ended and starts anew. False if it is blocked and only its counts change. */
  readonly again: boolean;
  /** True if it can run now and could not before. */
  readonly opened: boolean;
}

/** The result of a retry. */
export interface Reopening {
  /** Changed tasks, with their counts. */
  readonly tasks: readonly ReopenedTask[];
  /** True if a failure under `fail` remains that is not retried. */
  readonly failing: boolean;
}

/**
 * Decides which tasks of a batch run again, and with which counts. It uses only states and edges, not the earlier counts.
 *
 * Tasks that FAILED, were CANCELLED or were SKIPPED because of others run again. With `only`, that failed task runs again,
 * and the tasks that did not run because of it. A task that its parents can still not start stays SKIPPED.
 */
export function reopen({ tasks, edges, needs }: BatchState, only?: string): Reopening {
  const byKey = new Map(tasks.map((task) => [task.key, task]));
  const parents = groupEdges(edges, ([from, to]) => [to, from]);
  const children = groupEdges(edges, ([from, to]) => [from, to]);
  const failing =
    only !== undefined &&
    tasks.some(({ key, status, onFailure }) => key !== only && status === 'FAILED' && onFailure === 'fail');
  const wanted = wantedAgain({ tasks, children, only, failing });

  const after = new Map<string, OutboxStatus>();
  const reopened: ReopenedTask[] = [];
  for (const key of inOrder(tasks, parents, children)) {
    const task = byKey.get(key) as TaskState;
    const again = wanted.has(key);
    // A task that waits for one that runs again has counted its end already, so its counts change too.
    if (!again && task.status !== 'READY') {
      after.set(key, task.status);
      continue;
    }
    const counts = countParents(key, { parents: parents.get(key) ?? [], after, byKey, need: needs.get(key) });
    // A task that failed, or can run now, could start before. It can start again, whatever its parents have become since.
    const couldStart = task.status === 'FAILED' || (!again && task.pre === 0);
    const pre = couldStart ? Math.min(counts.pre, counts.open) : counts.pre;
    const { open } = counts;
    const status = open < pre ? 'SKIPPED' : 'READY';
    after.set(key, status);
    const isSame = again
      ? status === task.status
      : status === 'READY' && pre === task.pre && open === task.open;
    const opened = status === 'READY' && pre === 0 && (again || task.pre > 0);
    if (!isSame) reopened.push({ key, status, pre, open, again, opened });
  }
  return { tasks: reopened, failing };
}

function wantedAgain({
  tasks,
  children,
  only,
  failing,
}: {
  readonly tasks: readonly TaskState[];
  readonly children: ReadonlyMap<string, readonly string[]>;
  readonly only: string | undefined;
  readonly failing: boolean;
}): ReadonlySet<string> {
  const isOver = ({ status, skippedBy }: TaskState) =>
    status === 'FAILED' || status === 'CANCELLED' || (status === 'SKIPPED' && skippedBy === 'cascade');
  if (only === undefined) return new Set(tasks.filter(isOver).map(({ key }) => key));
  const wanted = new Set([only]);
  if (failing) return wanted; // Its successors stay cancelled: something else has failed the batch.
  const byKey = new Map(tasks.map((task) => [task.key, task]));
  for (const { key, status } of tasks) if (status === 'CANCELLED') wanted.add(key);
  const open = [...wanted];
  for (let key = open.pop(); key !== undefined; key = open.pop())
    for (const child of children.get(key) ?? []) {
      const task = byKey.get(child) as TaskState;
      if (wanted.has(child) || !isOver(task) || task.status === 'FAILED') continue;
      wanted.add(child);
      open.push(child);
    }
  return wanted;
}

function countParents(
  key: string,
  {
    parents,
    after,
    byKey,
    need = { successes: parents.length, ends: false },
  }: {
    readonly parents: readonly string[];
    readonly after: ReadonlyMap<string, OutboxStatus>;
    readonly byKey: ReadonlyMap<string, TaskState>;
    readonly need: Need | undefined;
  },
): { readonly pre: number; readonly open: number } {
  let open = 0;
  let reached = 0;
  for (const parent of parents) {
    const status = after.get(parent);
    if (status === undefined) throw new Error(`${key} comes before ${parent}, which it depends on`);
    if (status === 'READY' || status === 'PROCESSING') open++;
    else if (need.ends || status === 'DONE') reached++;
    else if (status === 'FAILED' && byKey.get(parent)?.onFailure === 'continue') reached++;
  }
  const needed = need.ends ? parents.length : need.successes;
  return { pre: Math.max(0, needed - reached), open };
}

/** Sorts parents before children. */
function* inOrder(
  tasks: readonly TaskState[],
  parents: ReadonlyMap<string, readonly string[]>,
  children: ReadonlyMap<string, readonly string[]>,
): Generator<string> {
  const left = new Map(tasks.map(({ key }) => [key, parents.get(key)?.length ?? 0]));
  const next = tasks.filter(({ key }) => left.get(key) === 0).map(({ key }) => key);
  for (let index = 0; index < next.length; index++) {
    const key = next[index] as string;
    yield key;
    for (const child of children.get(key) ?? []) {
      const count = (left.get(child) as number) - 1;
      left.set(child, count);
      if (count === 0) next.push(child);
    }
  }
}

function groupEdges(
  edges: BatchState['edges'],
  pair: (edge: readonly [string, string]) => readonly [string, string],
): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const edge of edges) {
    const [key, other] = pair(edge);
    const group = groups.get(key);
    if (group) group.push(other);
    else groups.set(key, [other]);
  }
  return groups;
}
