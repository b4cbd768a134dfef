import type { Rng } from '@millrace/foundation';

/** One task of a DAG. */
export interface PlannedTask {
  readonly key: string;
  /** What it waits for, tasks that are added while the batch runs included. */
  readonly after: readonly string[];
  readonly mode: 'transactional' | 'external';
  /** Not part of the definition: added by this task while the batch runs, run by the handler of `root`. */
  readonly addedBy?: string;
}

/** A DAG that is drawn. */
export interface PlannedDag {
  readonly name: string;
  readonly tasks: readonly PlannedTask[];
}

type Edges = readonly (readonly [key: string, after: readonly string[]])[];

/** More parents than are counted in the row of the join itself. */
const WIDE = 66;
const EXTERNAL_SHARE = 0.2;
/** The first task of every DAG; its handler runs added tasks too. */
export const ROOT = 't0';

/**
 * Draws DAGs of every shape; the one with the wide join comes first, then the one that grows.
 * @param rng - where they are drawn.
 */
export function drawDags(rng: Rng): PlannedDag[] {
  const twice = (name: string, draw: (own: Rng) => Edges) =>
    [0, 1].map((number) => shaped(rng, `${name}-${number}`, draw));
  return [
    shaped(rng, 'wide', () => fan(WIDE)),
    growing(rng, 'growing'),
    ...twice('chain', (own) => chain(own.integer(3, 6))),
    ...twice('diamond', (own) => diamonds(own.integer(1, 2))),
    ...twice('fan', (own) => fan(own.integer(3, 9))),
    ...twice('web', (own) => web(own, own.integer(5, 9))),
  ];
}

/** One after the other. */
const chain = (length: number): Edges => numbered(length, (at) => (at === 0 ? [] : [at - 1]));

/** One, two that may run together, one; so often. */
const diamonds = (times: number): Edges =>
  numbered(3 * times + 1, (at) => {
    if (at === 0) return [];
    return at % 3 === 0 ? [at - 2, at - 1] : [at - 1 - ((at + 2) % 3)];
  });

/** One, many that may run together, one. */
const fan = (width: number): Edges =>
  numbered(width + 2, (at) => {
    if (at === 0) return [];
    return at <= width ? [0] : Array.from({ length: width }, (_, index) => index + 1);
  });

/** Each after some of those before it. */
const web = (rng: Rng, size: number): Edges =>
  numbered(size, (at) => {
    const before = Array.from({ length: at }, (_, index) => index);
    return rng.shuffle(before).slice(0, Math.min(at, rng.integer(1, 3)));
  });

/** The second task adds some, for which the third waits. */
function growing(rng: Rng, name: string): PlannedDag {
  const [root, splits, joins] = shaped(rng, name, () => chain(3)).tasks;
  if (!root || !splits || !joins) throw new Error('a chain of three has three');
  const added = Array.from({ length: rng.integer(2, 4) }, (_, index) => ({
    key: `added${index}`,
    after: [splits.key],
    mode: root.mode,
    addedBy: splits.key,
  }));
  const all = { ...joins, after: [...joins.after, ...added.map(({ key }) => key)] };
  return { name, tasks: [root, splits, ...added, all] };
}

const numbered = (length: number, after: (at: number) => number[]): Edges =>
  Array.from({ length }, (_, at) => [`t${at}`, after(at).map((other) => `t${other}`)] as const);

function shaped(rng: Rng, name: string, draw: (own: Rng) => Edges): PlannedDag {
  const own = rng.fork(name);
  const tasks = draw(own).map(([key, after]) => {
    const mode = own.chance(EXTERNAL_SHARE) ? ('external' as const) : ('transactional' as const);
    return { key, after, mode };
  });
  return { name, tasks };
}
