/** Who waits for whom. */
export type DagEdge = readonly [from: string, to: string];

/** What is to be drawn. */
export interface DagShape {
  /** Of the tasks, each once. */
  readonly keys: readonly string[];
  readonly edges: readonly DagEdge[];
}

/** How far each task is from the beginning, and what is known of it from that. */
export interface DagRanks {
  readonly rankOf: ReadonlyMap<string, number>;
  /** The tasks of each rank, in the order in which they were given. */
  readonly ranks: readonly (readonly string[])[];
  /** Edges between tasks that are there. */
  readonly edges: readonly DagEdge[];
  /** How many ranks the edges cross, all together: what it costs to lay them out. */
  readonly span: number;
}

/**
 * Puts every task one rank behind the last of those it waits for. O(tasks + edges).
 * @param shape - of the DAG; edges to tasks that are not in it are left out.
 */
export function ranksOf({ keys, edges }: DagShape): DagRanks {
  const rankOf = new Map(keys.map((key) => [key, 0]));
  const inside = edges.filter(([from, to]) => rankOf.has(from) && rankOf.has(to));
  const waitsFor = new Map<string, number>();
  const children = new Map<string, string[]>();
  for (const [from, to] of inside) {
    waitsFor.set(to, (waitsFor.get(to) ?? 0) + 1);
    const list = children.get(from);
    if (list) list.push(to);
    else children.set(from, [to]);
  }
  const order = keys.filter((key) => !waitsFor.has(key));
  for (let index = 0; index < order.length; index++) {
    const key = order[index] as string;
    const next = (rankOf.get(key) ?? 0) + 1;
    for (const child of children.get(key) ?? []) {
      rankOf.set(child, Math.max(rankOf.get(child) ?? 0, next));
      const left = (waitsFor.get(child) ?? 0) - 1;
      waitsFor.set(child, left);
      if (left === 0) order.push(child);
    }
  }
  const ranks: string[][] = [];
  for (const key of keys) {
    const rank = rankOf.get(key) ?? 0;
    while (ranks.length <= rank) ranks.push([]);
    ranks[rank]?.push(key);
  }
  const span = inside.reduce((sum, [from, to]) => sum + (rankOf.get(to) ?? 0) - (rankOf.get(from) ?? 0), 0);
  return { rankOf, ranks, edges: inside, span };
}

/** A name that no other edge has: keys hold no NUL. */
export const edgeName = ([from, to]: DagEdge): string => `${from}\0${to}`;
