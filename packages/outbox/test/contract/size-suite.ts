import { expect, it } from 'vitest';
import { type TaskDefinition, task } from '../../src/index.js';
import { type ContractSuite, leaveMark } from './home.js';

/** Many tasks in one batch. */
export const sizeSuite: ContractSuite = (home, kind) => {
  const flat = kind === 'postgres' ? 2_000 : 500;
  const length = kind === 'postgres' ? 200 : 60;

  it(`outbox OB-11: ${flat} flat tasks, all joined by one, end once each`, async () => {
    const calls = new Map<string, number>();
    const keys = Array.from({ length: flat }, (_, n) => `t${n}`);
    const run = ({ taskKey }: { taskKey: string }) => {
      calls.set(taskKey, (calls.get(taskKey) ?? 0) + 1);
    };
    const dag = home().dag([
      ...keys.map((key): [string, TaskDefinition] => [key, task({ mode: 'external', run })]),
      ['last', task({ after: keys, run: ({ inputs }) => Object.keys(inputs).length })],
    ]);
    await using outbox = await home().outbox([dag], { concurrency: 13 });
    const { id, taskCount } = await outbox.pusher.start(dag.name, 'k');
    expect(taskCount).toBe(flat + 1);
    expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE', openCount: 0 });
    expect(calls.size).toBe(flat);
    expect([...calls.values()].every((count) => count === 1)).toBe(true);
    expect((await outbox.batches.task(id, 'last')).result).toBe(flat);
    const { counts, tasks } = await outbox.batches.status(id);
    expect(counts).toMatchObject({ done: flat + 1, ready: 0, waiting: 0, processing: 0, failed: 0 });
    expect(tasks).toHaveLength(Math.min(1_000, flat + 1));
    expect(await home().rows('SELECT * FROM {schema}.outbox_tick')).toEqual([]);
  });

  it(`outbox OB-11: a chain of ${length} tasks runs in its order, each with the result of the one before`, async () => {
    const order: number[] = [];
    const dag = home().dag(
      Array.from({ length }, (_, n): [string, TaskDefinition] => [
        `t${n}`,
        task<unknown, Record<string, number>>({
          after: n === 0 ? [] : [`t${n - 1}`],
          run: async ({ tx, inputs, batch }) => {
            order.push(n);
            await leaveMark(tx, `${batch.id}:${String(n).padStart(4, '0')}`);
            return (inputs[`t${n - 1}`] ?? 0) + 1;
          },
        }),
      ]),
    );
    await using outbox = await home().outbox([dag]);
    const { id } = await outbox.pusher.start(dag.name, 'k');
    expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE', openCount: 0 });
    expect(order).toEqual(Array.from({ length }, (_, n) => n));
    expect((await outbox.batches.task(id, `t${length - 1}`)).result).toBe(length);
    expect(await home().effects(`${id}:`)).toHaveLength(length);
    expect(await home().rows('SELECT * FROM {schema}.outbox_tick')).toEqual([]);
  });
};
