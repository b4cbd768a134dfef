/** What the order needs of a task. */
interface Ordered {
  readonly key: string;
}

/**
 * Tasks so that each stands behind what it waits for, otherwise as they are given.
 * @param edges - [from, to]: the second waits for the first. Ends that are not among the tasks are left out of account.
 */
export function inOrderOfTheDag<Task extends Ordered>(
  tasks: readonly Task[],
  edges: readonly (readonly [string, string])[],
): readonly Task[] {
  const byKey = new Map(tasks.map((task) => [task.key, task]));
  const waitsFor = new Map(tasks.map(({ key }) => [key, 0]));
  const followers = new Map<string, string[]>();
  for (const [from, to] of edges) {
    if (!byKey.has(from) || !byKey.has(to)) continue;
    waitsFor.set(to, (waitsFor.get(to) ?? 0) + 1);
    add(followers, from, to);
  }
  const ordered = new Set<Task>();
  const free = tasks.filter(({ key }) => waitsFor.get(key) === 0);
  for (const task of free) {
    ordered.add(task);
    for (const key of followers.get(task.key) ?? []) {
      const left = (waitsFor.get(key) ?? 0) - 1;
      waitsFor.set(key, left);
      if (left === 0) free.push(byKey.get(key) as Task);
    }
  }
  // A server that tells of a circle must not make tasks vanish.
  return [...ordered, ...tasks.filter((task) => !ordered.has(task))];
}

/** Puts a value among those of a key. */
export function add(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
