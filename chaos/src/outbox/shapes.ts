import type { Rng } from '@millrace/foundation';
import type { FailurePolicy, JoinRule } from '@millrace/outbox';

/** One task of a DAG. */
export interface PlannedTask {
  readonly key: string;
  /** What it waits for, tasks that are added while the batch runs included. */
  readonly after: readonly string[];
  readonly mode: 'transactional' | 'external';
  /** `all` unless given. */
  readonly join?: JoinRule;
  /** `fail` unless given. */
  readonly onFailure?: FailurePolicy;
  /** Whether it has a condition: what it waits for says in its result that it is not wanted. Its join is `all`. */
  readonly conditional?: boolean;
  /** Not part of the definition: added by this task while the batch runs, run by the handler of `root`. */
  readonly addedBy?: string;
}

/** A DAG that is drawn. */
export interface PlannedDag {
  readonly name: string;
  readonly tasks: readonly PlannedTask[];
}

/**
 * All DAGs. Those with a join of 66 are so large that they come less often. The others come in this order, in which the first ones show every
 * join, policy and condition in batches to which nothing is done.
 */
export interface DrawnDags {
  readonly wide: readonly PlannedDag[];
  readonly others: readonly PlannedDag[];
}

type Edges = readonly (readonly [key: string, after: readonly string[]])[];
type Decoration = Pick<PlannedTask, 'join' | 'onFailure' | 'conditional'>;

/** More parents than are counted in the row of the join itself. */
const WIDE = 66;
/** Of them, so many must succeed in the DAG that does not need all; others may fail. */
const WIDE_NEEDS = 30;
const EXTERNAL_SHARE = 0.2;
const CONDITIONAL_SHARE = 0.4;
/** The first task of every DAG; its handler runs added tasks too. */
export const ROOT = 't0';

/**
 * Draws DAGs of every shape: those that need all to succeed, and those with every join, policy and condition.
 */
export function drawDags(rng: Rng): DrawnDags {
  const mixed = (number: number) => decorated(rng, `mixed-${number}`, (own) => web(own, own.integer(6, 10)));
  return {
    wide: [
      shaped(rng, 'wide', () => fan(WIDE)),
      joined(rng, 'wide-some', WIDE, { atLeast: WIDE_NEEDS }, ['skip']),
    ],
    others: [
      growing(rng, 'growing'),
      joined(rng, 'any', 3, 'any', ['skip', 'continue']),
      joined(rng, 'some', 4, { atLeast: 2 }, ['continue', 'skip']),
      mixed(0),
      choice(rng, 'choice'),
      mixed(1),
      joined(rng, 'ended', 4, 'all-done', ['skip', 'continue']),
      mixed(2),
      shaped(rng, 'chain', (own) => chain(own.integer(3, 6))),
      mixed(3),
      shaped(rng, 'diamond', (own) => diamonds(own.integer(1, 2))),
      shaped(rng, 'fan', (own) => fan(own.integer(3, 9))),
      shaped(rng, 'web', (own) => web(own, own.integer(5, 9))),
    ],
  };
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

/** One, many that may fail by turns under these policies, and one that does not need all of them. */
const joined = (
  rng: Rng,
  name: string,
  width: number,
  join: JoinRule,
  policies: readonly FailurePolicy[],
): PlannedDag =>
  shaped(
    rng,
    name,
    () => fan(width),
    (at) => (at > width ? { join } : { onFailure: policies[at % policies.length] ?? 'fail' }),
  );

/** Two branches under conditions, one of two tasks; behind them one that waits for the ends of both. */
const choice = (rng: Rng, name: string): PlannedDag =>
  shaped(
    rng,
    name,
    () => numbered(5, (at) => [[], [0], [1], [0], [2, 3]][at] ?? []),
    (at) => (at === 4 ? { join: 'all-done' } : { conditional: at === 1 || at === 3 }),
  );

/** Any join, policy and condition anywhere. */
const decorated = (rng: Rng, name: string, draw: (own: Rng) => Edges): PlannedDag =>
  shaped(rng, name, draw, (_at, parents, own) => {
    const joins: readonly JoinRule[] = ['all', 'any', { atLeast: Math.min(2, parents) }, 'all-done'];
    const join = parents > 1 ? own.pick(joins) : 'all';
    const onFailure = own.pick(['fail', 'skip', 'continue'] as const);
    return { join, onFailure, conditional: join === 'all' && own.chance(CONDITIONAL_SHARE) };
  });

const numbered = (length: number, after: (at: number) => number[]): Edges =>
  Array.from({ length }, (_, at) => [`t${at}`, after(at).map((other) => `t${other}`)] as const);

/** The first task is never decorated: whatever becomes of a batch begins behind it. */
function shaped(
  rng: Rng,
  name: string,
  draw: (own: Rng) => Edges,
  decorate: (at: number, parents: number, own: Rng) => Decoration = () => ({}),
): PlannedDag {
  const own = rng.fork(name);
  const tasks = draw(own).map(([key, after], at) => {
    const mode = own.chance(EXTERNAL_SHARE) ? ('external' as const) : ('transactional' as const);
    return { key, after, mode, ...(at === 0 ? {} : decorate(at, after.length, own)) };
  });
  return { name, tasks };
}
