import { NonRetryableError } from '@millrace/foundation';
import { latch } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { type JoinRule, type OutboxStatus, type TaskDefinition, task } from '../../src/index.js';
import { type ContractSuite, statusesOf } from './home.js';

/** A parent that ends as it is told; a failure is seen as SKIPPED by its children. */
const parent = (end: 'DONE' | 'FAILED' | 'SKIPPED'): TaskDefinition =>
  task({
    onFailure: 'skip',
    ...(end === 'SKIPPED' && { when: () => false }),
    run: ({ taskKey }) => {
      if (end === 'FAILED') throw new NonRetryableError('as the test wants');
      return taskKey;
    },
  });

const letters = { D: 'DONE', F: 'FAILED', S: 'SKIPPED' } as const;

/** Of parents that end as the letters say. */
const parentsOf = (ends: string): Record<string, TaskDefinition> =>
  Object.fromEntries(
    [...ends].map((letter, n) => [`p${n}`, parent(letters[letter as keyof typeof letters])]),
  );

const CASES: readonly (readonly [JoinRule, ends: string, OutboxStatus])[] = [
  ['all', 'DDD', 'DONE'],
  ['all', 'DFD', 'SKIPPED'],
  ['all', 'DDS', 'SKIPPED'],
  ['any', 'FSD', 'DONE'],
  ['any', 'DDD', 'DONE'],
  ['any', 'FSF', 'SKIPPED'],
  [{ atLeast: 2 }, 'DFD', 'DONE'],
  [{ atLeast: 2 }, 'DDDD', 'DONE'],
  [{ atLeast: 2 }, 'DFS', 'SKIPPED'],
  [{ atLeast: 3 }, 'DDD', 'DONE'],
  [{ atLeast: 1 }, 'F', 'SKIPPED'],
  ['all-done', 'DFS', 'DONE'],
  ['all-done', 'FFF', 'DONE'],
  ['all-done', 'DDD', 'DONE'],
];

/** When a task starts, seen from the ends of what it depends on. */
export const joinsSuite: ContractSuite = (home) => {
  it('outbox OB-1: every join rule with every kind of end', async () => {
    const { batch, tasks } = await home().run(
      Object.fromEntries(
        CASES.flatMap(([join, ends], n) => {
          const parents = Object.entries(parentsOf(ends)).map(([key, each]) => [`${n}${key}`, each] as const);
          const after = parents.map(([key]) => key);
          return [
            ...parents,
            [`join ${n}`, task({ after, join, run: ({ inputs }) => Object.keys(inputs).sort() })] as const,
          ];
        }),
      ),
    );
    expect(batch.status).toBe('DONE');
    for (const [n, [join, ends, status]] of CASES.entries()) {
      const joined = tasks[`join ${n}`];
      expect({ join, ends, status: joined?.status }).toEqual({ join, ends, status });
      if (status === 'SKIPPED') expect(joined).toMatchObject({ skippedBy: 'cascade', attempts: 0 });
      // Only a join that waits for all of them knows all of them.
      const done = [...ends].flatMap((letter, each) => (letter === 'D' ? [`${n}p${each}`] : []));
      if (join === 'all' && status === 'DONE') expect(joined?.result).toEqual(done);
      if (join === 'all-done') expect(joined?.result).toEqual(done);
    }
  });

  it.each([
    ['any', 1],
    [{ atLeast: 2 }, 2],
  ] as const)(
    'outbox OB-1: %j starts with what it needs and does not wait for the others, whose ends change nothing',
    async (join, needed) => {
      const mayEnd = latch('the other parents may end');
      const keys = ['p0', 'p1', 'p2'];
      let calls = 0;
      const dag = home().dag({
        ...Object.fromEntries(
          keys.map((key, n) => [
            key,
            task({ mode: 'external', run: async () => (n < needed ? key : mayEnd.promise.then(() => key)) }),
          ]),
        ),
        join: task({
          after: keys,
          join,
          run: ({ inputs }) => {
            calls++;
            return Object.keys(inputs).sort();
          },
        }),
        next: task({ after: ['join'], run: () => {} }),
      });
      await using outbox = await home().outbox([dag]);
      const { id } = await outbox.pusher.start(dag.name, 'k');
      await home().taskIs(outbox, id, 'next', ({ status }) => status === 'DONE');
      expect(await outbox.batches.get(id)).toMatchObject({ status: 'RUNNING' });
      mayEnd.open();
      expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
      expect((await outbox.batches.task(id, 'join')).result).toEqual(keys.slice(0, needed));
      expect(calls).toBe(1);
    },
  );

  it('outbox OB-1: all-done waits for the last end, also when the others failed', async () => {
    const mayEnd = latch('the last parent may end');
    const dag = home().dag({
      bad: parent('FAILED'),
      slow: task({ mode: 'external', run: () => mayEnd.promise }),
      join: task({ after: ['bad', 'slow'], join: 'all-done', run: ({ inputs }) => inputs }),
    });
    await using outbox = await home().outbox([dag]);
    const { id } = await outbox.pusher.start(dag.name, 'k');
    await home().taskIs(outbox, id, 'bad', ({ status }) => status === 'FAILED');
    await home().taskIs(outbox, id, 'slow', ({ status }) => status === 'PROCESSING');
    expect(await outbox.batches.task(id, 'join')).toMatchObject({ status: 'READY', waiting: true });
    mayEnd.open();
    expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
    expect((await outbox.batches.task(id, 'join')).result).toEqual({ slow: null });
  });

  it('outbox OB-1: what is skipped skips what follows it, down to where a join needs no success', async () => {
    const run = () => {};
    const { batch, tasks } = await home().run({
      bad: parent('FAILED'),
      good: parent('DONE'),
      a: task({ after: ['bad'], run }),
      b: task({ after: ['a'], run }),
      c: task({ after: ['b', 'good'], run }),
      d: task({ after: ['c'], join: 'any', run }),
      either: task({ after: ['c', 'good'], join: 'any', run }),
      ends: task({ after: ['a', 'b', 'c', 'd'], join: 'all-done', run }),
      last: task({ after: ['ends'], run }),
    });
    expect(batch).toMatchObject({ status: 'DONE', openCount: 0 });
    expect(statusesOf(tasks)).toEqual({
      bad: 'FAILED',
      good: 'DONE',
      a: 'SKIPPED',
      b: 'SKIPPED',
      c: 'SKIPPED',
      d: 'SKIPPED',
      either: 'DONE',
      ends: 'DONE',
      last: 'DONE',
    });
  });

  it('outbox OB-1: joins of more parents than change the row of their child themselves come to the same', async () => {
    const keys = (letter: string) => Array.from({ length: 66 }, (_, n) => `${letter}${n}`);
    const parents = (letter: string, made: (n: number) => TaskDefinition) =>
      Object.fromEntries(keys(letter).map((key, n) => [key, made(n)]));
    const good = task({ mode: 'external', run: () => 1 });
    const cases = [
      ['d', 'all', 'DONE'],
      ['m', 'all', 'SKIPPED'],
      ['m', 'any', 'DONE'],
      ['m', { atLeast: 64 }, 'DONE'],
      ['m', { atLeast: 65 }, 'SKIPPED'],
      ['m', 'all-done', 'DONE'],
      ['s', 'any', 'SKIPPED'],
      ['s', 'all-done', 'DONE'],
    ] as const satisfies readonly (readonly [string, JoinRule, OutboxStatus])[];
    const { batch, tasks } = await home().run({
      never: parent('SKIPPED'),
      ...parents('d', () => good),
      ...parents('m', (n) => (n === 3 ? parent('FAILED') : n === 65 ? parent('SKIPPED') : good)),
      ...parents('s', () => task({ after: ['never'], run: () => 1 })),
      ...Object.fromEntries(
        cases.flatMap(([letter, join], n) => [
          [`join ${n}`, task({ after: keys(letter), join, run: ({ inputs }) => Object.keys(inputs).length })],
          [`next ${n}`, task({ after: [`join ${n}`], run: () => n })],
        ]),
      ),
    });
    expect(batch).toMatchObject({ status: 'DONE', openCount: 0 });
    for (const [n, [letter, join, status]] of cases.entries()) {
      expect([letter, join, tasks[`join ${n}`]?.status, tasks[`next ${n}`]?.status]).toEqual([
        letter,
        join,
        status,
        status,
      ]);
    }
    expect([0, 5, 7].map((n) => tasks[`join ${n}`]?.result)).toEqual([66, 64, 0]);
    const ticks = await home().rows('SELECT 1 FROM {schema}.outbox_tick WHERE batch_id = $1', [batch.id]);
    expect(ticks).toEqual([]);
  });
};
