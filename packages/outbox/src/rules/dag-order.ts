/** An order in which every task stands after what it depends on, or why there is none. */
export type DagOrder =
  | { readonly order: readonly number[] }
  /** Each of these stands before the next one, and the last before the first; begins with the lowest number of them. */
  | { readonly cycle: readonly number[] };

/**
 * Puts tasks into an order in which each stands after its parents. Takes time by the number of tasks and edges, and no
 * stack: a chain of any length will do.
 * @param parents - of task 0, 1, 2 …; none of them twice.
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
  // Grows while it is walked: whoever has lost its last open parent comes next.
  for (const task of order) {
    for (const child of children[task] ?? []) {
      const left = (open[child] ?? 0) - 1;
      open[child] = left;
      if (left === 0) order.push(child);
    }
  }
  return order.length === parents.length ? { order } : { cycle: cycleAmong(parents, open) };
}

/** Whoever is still open has an open parent: going up from one to the next must come to the same task again. */
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
