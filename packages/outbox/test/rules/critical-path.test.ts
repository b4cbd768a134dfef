import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { criticalPath, type TimedTask } from '../../src/rules/critical-path.js';
import { type TaskTimes, timeTasks } from '../../src/rules/task-times.js';

type Edge = readonly [string, string];

/** Up to 12 tasks; an edge goes from a lower number to a higher one. */
const dags = fc.integer({ min: 1, max: 12 }).chain((size) =>
  fc.record({
    tasks: fc.array(
      fc.record({ ms: fc.integer({ min: 0, max: 50 }), share: fc.integer({ min: 0, max: 2 }) }),
      {
        minLength: size,
        maxLength: size,
      },
    ),
    edges: fc.array(fc.boolean(), { minLength: size * size, maxLength: size * size }),
  }),
);

function* pathsFrom(key: string, edges: readonly Edge[]): Generator<readonly string[]> {
  yield [key];
  for (const [from, to] of edges)
    if (from === key) for (const rest of pathsFrom(to, edges)) yield [key, ...rest];
}

describe('the critical path', () => {
  it('outbox OB-1: is the longest of all chains, and so is what is left (every chain tried)', () => {
    fc.assert(
      fc.property(dags, ({ tasks: drawn, edges: drawnEdges }) => {
        const size = drawn.length;
        const tasks: TimedTask[] = drawn.map(({ ms, share }, index) => ({
          key: `t${index}`,
          ms,
          leftMs: (ms * share) / 2,
        }));
        const edges: Edge[] = [];
        for (let from = 0; from < size; from++)
          for (let to = from + 1; to < size; to++)
            if (drawnEdges[from * size + to]) edges.push([`t${from}`, `t${to}`]);
        const of = new Map(tasks.map((task) => [task.key, task]));
        const sum = (keys: readonly string[], field: 'ms' | 'leftMs') =>
          keys.reduce((total, key) => total + (of.get(key)?.[field] ?? Number.NaN), 0);
        let [longest, left] = [0, 0];
        for (const { key } of tasks)
          for (const path of pathsFrom(key, edges)) {
            longest = Math.max(longest, sum(path, 'ms'));
            left = Math.max(left, sum(path, 'leftMs'));
          }
        const found = criticalPath(tasks, edges);
        expect(found.ms).toBe(longest);
        expect(found.leftMs).toBe(left);
        expect(sum(found.keys, 'ms')).toBe(longest);
        for (let index = 1; index < found.keys.length; index++)
          expect(edges).toContainEqual([found.keys[index - 1], found.keys[index]]);
      }),
      { numRuns: 300 },
    );
  });

  it('finds nothing in nothing', () => {
    expect(criticalPath([], [])).toEqual({ keys: [], ms: 0, leftMs: 0 });
  });

  it('goes through 50,000 tasks in a row', () => {
    const tasks = Array.from({ length: 50_000 }, (_, index) => ({ key: `t${index}`, ms: 1, leftMs: 1 }));
    const edges = tasks.slice(1).map(({ key }, index): Edge => [`t${index}`, key]);
    expect(criticalPath(tasks, edges).leftMs).toBe(50_000);
  });
});

describe('times of tasks', () => {
  const one = (given: Partial<TaskTimes>): TaskTimes => ({
    key: 'a',
    handler: 'd.a',
    status: 'READY',
    ranMs: undefined,
    delayMs: 0,
    ...given,
  });

  it('expects of a task what its handler took in this batch, in earlier ones, or what all others took', () => {
    const done = one({ key: 'x', handler: 'd.x', status: 'DONE', ranMs: 100 });
    const tasks = [
      done,
      one({ key: 'again', handler: 'd.x' }),
      one({ key: 'usual', handler: 'd.u' }),
      one({ key: 'new', handler: 'd.n' }),
    ];
    expect(
      timeTasks(
        tasks,
        new Map([
          ['d.u', 40],
          ['d.x', 7],
        ]),
      ),
    ).toEqual([
      { key: 'x', ms: 100, leftMs: 0 },
      { key: 'again', ms: 100, leftMs: 100 },
      { key: 'usual', ms: 40, leftMs: 40 },
      { key: 'new', ms: 100, leftMs: 100 },
    ]);
  });

  it('takes off what has passed, adds what a task is to wait, and never expects less than nothing', () => {
    const usual = new Map([['d.a', 50]]);
    const times = (given: Partial<TaskTimes>) => timeTasks([one(given)], usual)?.[0];
    expect(times({ status: 'PROCESSING', ranMs: 20 })).toEqual({ key: 'a', ms: 50, leftMs: 30 });
    expect(times({ status: 'PROCESSING', ranMs: 80 })).toEqual({ key: 'a', ms: 80, leftMs: 0 });
    expect(times({ delayMs: 500 })).toEqual({ key: 'a', ms: 550, leftMs: 550 });
    expect(times({ status: 'SKIPPED' })).toEqual({ key: 'a', ms: 0, leftMs: 0 });
    expect(times({ status: 'FAILED', ranMs: 5 })).toEqual({ key: 'a', ms: 5, leftMs: 0 });
  });

  it('says nothing where nothing is known', () => {
    expect(timeTasks([one({})], new Map())).toBeUndefined();
    expect(timeTasks([one({ status: 'CANCELLED' })], new Map())).toEqual([{ key: 'a', ms: 0, leftMs: 0 }]);
  });
});
