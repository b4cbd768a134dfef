/** An order in which every task comes after its parents, or a cycle. */
export type DagOrder =
  | { readonly order: readonly number[] }
  /** Each task is a parent of the next one, and the last of the first. Starts with the lowest number. */
  | { readonly cycle: readonly number[] };

/**
 * Sorts tasks so that each comes after its parents. O(tasks + edges), without recursion, so a chain may have any length.
 * @param parents - of task 0, 1, 2 …, without repetition.
 */
export function orderOf(parents: readonly (readonly number[])[]): DagOrder {
  const open = parents.map((list) => list.length);
  const children: number[][] = parents.map(() => []);
  parents.forEach((list, task) => {
    for (const parent of list) children[parent]?.push(task);
  });
  const order: number[] = [];
  open.forEach((count, task) => {
    if (count === 0) order.push(task);
  });
  // Grows while it is walked: a task whose last open parent is in it follows.
  for (const task of order) {
    for (const child of children[task] ?? []) {
      const left = (open[child] ?? 0) - 1;
      open[child] = left;
      if (left === 0) order.push(child);
    }
  }
  return order.length === parents.length ? { order } : { cycle: cycleAmong(parents, open) };
}

/** Finds a cycle. Every open task has an open parent, so walking up must meet a task again. */
function cycleAmong(parents: readonly (readonly number[])[], open: readonly number[]): number[] {
  const isOpen = (task: number) => (open[task] ?? 0) > 0;
  const trail: number[] = [];
  const placeInTrail = new Map<number, number>();
  let task = open.findIndex((count) => count > 0);
  while (!placeInTrail.has(task)) {
    placeInTrail.set(task, trail.length);
    trail.push(task);
    task = parents[task]?.find(isOpen) as number;
  }
  const cycle = trail.slice(placeInTrail.get(task)).reverse();
  const first = cycle.indexOf(cycle.reduce((lowest, each) => Math.min(lowest, each)));
  return [...cycle.slice(first), ...cycle.slice(0, first)];
}
