/** A task with its time, measured or expected. */
export interface TimedTask {
  readonly key: string;
  /** Total time. 0 for a task that does not run. */
  readonly ms: number;
  /** Time from now on. 0 for a task that has ended. */
  readonly leftMs: number;
}

/** The tasks that determine how long a batch takes if there are enough workers. */
export interface CriticalPath {
  /** Keys of the chain that takes longest, in order. */
  readonly keys: readonly string[];
  /** Total time of the chain. */
  readonly ms: number;
  /** Time of the longest chain of what is left. */
  readonly leftMs: number;
}

/**
 * Finds the chain of tasks that takes longest, and the time of the longest chain of what is left. O(tasks + edges).
 */
export function criticalPath(
  tasks: readonly TimedTask[],
  edges: readonly (readonly [from: string, to: string])[],
): CriticalPath {
  const children = new Map<string, string[]>();
  const parentsLeft = new Map(tasks.map(({ key }) => [key, 0]));
  for (const [from, to] of edges) {
    const list = children.get(from);
    if (list) list.push(to);
    else children.set(from, [to]);
    parentsLeft.set(to, (parentsLeft.get(to) ?? 0) + 1);
  }
  const byKey = new Map(tasks.map((task) => [task.key, task]));
  /** The longest chain that ends before a task, and the parent it comes from. */
  const before = new Map<string, { readonly ms: number; readonly from: string | undefined }>();
  const leftBefore = new Map<string, number>();
  let last: { readonly key: string | undefined; readonly ms: number } = { key: undefined, ms: 0 };
  let leftMs = 0;
  const order = tasks.filter(({ key }) => parentsLeft.get(key) === 0).map(({ key }) => key);
  for (let index = 0; index < order.length; index++) {
    const key = order[index] as string;
    const task = byKey.get(key) as TimedTask;
    const endMs = (before.get(key)?.ms ?? 0) + task.ms;
    const leftEndMs = (leftBefore.get(key) ?? 0) + task.leftMs;
    if (last.key === undefined || endMs > last.ms) last = { key, ms: endMs };
    leftMs = Math.max(leftMs, leftEndMs);
    for (const child of children.get(key) ?? []) {
      const known = before.get(child);
      if (!known || endMs > known.ms) before.set(child, { ms: endMs, from: key });
      leftBefore.set(child, Math.max(leftBefore.get(child) ?? 0, leftEndMs));
      const count = (parentsLeft.get(child) ?? 0) - 1;
      parentsLeft.set(child, count);
      if (count === 0) order.push(child);
    }
  }
  const keys: string[] = [];
  for (let key = last.key; key !== undefined; key = before.get(key)?.from) keys.push(key);
  return { keys: keys.reverse(), ms: last.ms, leftMs };
}
