import fc from 'fast-check';
import type { FailurePolicy, JoinRule, TaskMode } from '../../src/model.js';
import type { Fate, ModelTask } from './reference-model.js';

/** What random DAGs may have in them. */
export interface DagLimits {
  readonly tasksMax: number;
  /** Only `all` joins and the policy `fail`, without conditions; everything unless given. */
  readonly plain?: boolean | undefined;
  /** How many failures under `fail` there are for 120 successes; few unless given: such a failure ends a batch at once. */
  readonly failures?: number | undefined;
}

/** How a batch is treated until its end, and after it. */
export interface Story {
  /** Aborts it when its tasks have done so many things; never unless given. */
  readonly abortAfter: number | undefined;
  /** What comes after each end. */
  readonly retries: readonly Retry[];
}

/** A batch that runs again. */
export interface Retry {
  /** The one of the tasks that failed to run again; all unless given. */
  readonly only: number | undefined;
  /** Of tasks that fail, by turns: which succeed from now on. */
  readonly mends: readonly boolean[];
  readonly abortAfter: number | undefined;
}

/** One task before it is known how many come before it. */
interface Sketch {
  /** How far back its parents are. */
  readonly back: readonly number[];
  /** Everything before it, so that there are joins which are counted by ticks. */
  readonly isWide: boolean;
  readonly join: 'all' | 'any' | 'all-done' | 'at-least';
  readonly atLeast: number;
  readonly mode: TaskMode;
  readonly onFailure: FailurePolicy;
  readonly fate: Fate;
  readonly adds: readonly AddedSketch[];
}

/** A task that another one adds. */
interface AddedSketch extends Pick<Sketch, 'mode' | 'onFailure' | 'fate'> {
  /** Which of those that wait for the adding task shall wait for it, too; one past the last: none. */
  readonly before: number;
  readonly adds: readonly AddedSketch[];
}

const PARENTS_BACK = 12;
const WIDE_BACK = 80;

const done: fc.Arbitrary<Fate> = fc.record({
  kind: fc.constant('done' as const),
  failures: fc.oneof(
    { weight: 6, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 2 }) },
  ),
});
const fails: fc.Arbitrary<Fate> = fc.record({
  kind: fc.constant('fails' as const),
  how: fc.constantFrom('at-once' as const, 'every-time' as const),
});
const unwanted: fc.Arbitrary<Fate> = fc.constant({ kind: 'unwanted' as const });

interface Kinds {
  readonly plain: boolean;
  readonly failures: number;
}

const behaviour = ({ plain, failures }: Kinds): fc.Arbitrary<Pick<Sketch, 'fate' | 'onFailure'>> =>
  fc.oneof(
    { weight: 120, arbitrary: fc.record({ fate: done, onFailure: fc.constant('fail' as const) }) },
    {
      weight: failures,
      arbitrary: fc.record({ fate: fails, onFailure: fc.constant('fail' as const) }),
    },
    ...(plain
      ? []
      : [
          {
            weight: 12,
            arbitrary: fc.record({
              fate: fails,
              onFailure: fc.constantFrom('skip' as const, 'continue' as const),
            }),
          },
          {
            weight: 8,
            arbitrary: fc.record({
              fate: unwanted,
              onFailure: fc.constantFrom('fail' as const, 'skip' as const),
            }),
          },
        ]),
  );

/** Few: each of them is a task more. */
const someAdded = (depth: number, kinds: Kinds): fc.Arbitrary<readonly AddedSketch[]> =>
  depth === 0
    ? fc.constant([])
    : fc.oneof(
        { weight: 5, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(added(depth, kinds), { minLength: 1, maxLength: 2 }) },
      );

const added = (depth: number, kinds: Kinds): fc.Arbitrary<AddedSketch> =>
  fc
    .record({
      mode: fc.constantFrom<TaskMode>('transactional', 'external'),
      behaviour: behaviour(kinds),
      before: fc.nat({ max: 3 }),
      adds: someAdded(depth - 1, kinds),
    })
    .map(({ behaviour: own, ...rest }) => ({ ...rest, ...own }));

const sketch = (kinds: Kinds): fc.Arbitrary<Sketch> =>
  fc
    .record({
      back: fc.array(fc.nat({ max: PARENTS_BACK - 1 }), { maxLength: 4 }),
      isWide: fc.oneof(
        { weight: 60, arbitrary: fc.constant(false) },
        { weight: 1, arbitrary: fc.constant(true) },
      ),
      join: kinds.plain
        ? fc.constant('all' as const)
        : fc.constantFrom(
            'all' as const,
            'all' as const,
            'any' as const,
            'all-done' as const,
            'at-least' as const,
          ),
      atLeast: fc.integer({ min: 1, max: 4 }),
      mode: fc.constantFrom<TaskMode>('transactional', 'external'),
      behaviour: behaviour(kinds),
      adds: someAdded(kinds.plain ? 0 : 2, kinds),
    })
    .map(({ behaviour: own, ...rest }) => ({ ...rest, ...own }));

/** Random DAGs, parents before children, added tasks behind the one that adds them. */
export function randomDag({
  tasksMax,
  plain = false,
  failures = 1,
}: DagLimits): fc.Arbitrary<readonly ModelTask[]> {
  return fc
    .array(sketch({ plain, failures }), { minLength: 1, maxLength: tasksMax, size: 'max' })
    .map((sketches) => {
      const tasks = sketches.map((one, index) => toTask(one, index));
      return tasks.flatMap((task, index) => {
        const waiting = tasks.filter(({ after }) => after.includes(task.key)).map(({ key }) => key);
        return [task, ...addedBy(task.key, sketches[index]?.adds ?? [], waiting)];
      });
    });
}

/** Added tasks, each followed by those it adds itself. */
function addedBy(
  adder: string,
  sketches: readonly AddedSketch[],
  waiting: readonly string[],
): readonly ModelTask[] {
  return sketches.flatMap(({ before: which, adds, ...rest }, index) => {
    const key = `${adder}+${index}`;
    const chosen = waiting[which % (waiting.length + 1)];
    const before = chosen === undefined ? [] : [chosen];
    return [
      { key, after: [adder], join: 'all', addedBy: adder, before, ...rest },
      ...addedBy(key, adds, before),
    ];
  });
}

const abortAfter = (max: number) => fc.option(fc.nat({ max }), { nil: undefined, freq: 2 });

/** Random stories of batches. */
export function randomStory(deedsMax: number): fc.Arbitrary<Story> {
  const retry = fc.record({
    only: fc.option(fc.nat({ max: 20 }), { nil: undefined }),
    mends: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
    abortAfter: abortAfter(Math.ceil(deedsMax / 2)),
  });
  return fc.record({ abortAfter: abortAfter(deedsMax), retries: fc.array(retry, { maxLength: 3 }) });
}

function toTask({ back, isWide, join, atLeast, adds: _, ...rest }: Sketch, index: number): ModelTask {
  const parents = isWide
    ? Array.from({ length: Math.min(index, WIDE_BACK) }, (_, distance) => index - 1 - distance)
    : [...new Set(back.map((distance) => index - 1 - (distance % Math.max(index, 1))))];
  const after = parents.filter((parent) => parent >= 0).map(keyOf);
  return { key: keyOf(index), after, join: ruleOf(join, atLeast, after.length), ...rest };
}

const keyOf = (index: number) => `t${index}`;

function ruleOf(join: Sketch['join'], atLeast: number, parents: number): JoinRule {
  if (parents === 0) return 'all';
  return join === 'at-least' ? { atLeast: Math.min(atLeast, parents) } : join;
}
