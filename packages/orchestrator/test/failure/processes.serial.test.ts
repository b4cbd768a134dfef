import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PostgresOperationStore } from '../../src/postgres/index.js';
import { openDatabase, SCHEMA, type StoreDatabase } from '../open-store.js';
import { command } from '../world.js';
import { InstanceProcess, type Reply } from './instance-process.js';

let home: StoreDatabase;
beforeAll(async () => {
  home = await openDatabase('postgres');
});
afterAll(() => home.close());

const start = (options?: object) => InstanceProcess.start(home.url as string, options);
const opIds = (replies: readonly Reply[]) => new Set(replies.map(({ handle }) => handle?.opId));

describe('four processes on one PostgreSQL', () => {
  it('orchestrator FR-1: 100 submits of one key: the work runs once, all callers get the same operation and its outcome', async () => {
    const processes = await Promise.all([start(), start(), start(), start({ idempotency: 'strict' })]);
    const [, , attaching, strict] = processes as [
      InstanceProcess,
      InstanceProcess,
      InstanceProcess,
      InstanceProcess,
    ];
    try {
      const order = (ms: number) => command('b', { idemKey: 'one', payload: { ms } });
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          (processes[index % 3] as InstanceProcess).submit(order(150), 5_000),
        ),
      );
      expect(processes.flatMap(({ ran }) => ran)).toEqual(['b']);
      expect(opIds(replies).size).toBe(1);
      const outcomes = new Set(replies.map(({ handle }) => JSON.stringify(handle?.responseBodyOrNull)));
      expect(outcomes.size).toBe(1);
      expect([...outcomes][0]).toMatch(/^{"type":"Ok","data":{"by":\d+}}$/);

      // Afterwards every process gives the stored outcome, and none takes another body.
      for (const instance of processes) {
        const again = await instance.submit(order(150));
        expect(JSON.stringify(again.handle?.responseBodyOrNull)).toBe([...outcomes][0]);
        expect(await instance.submit(order(151))).toMatchObject({
          code: 'IDEMPOTENCY_CONFLICT',
          status: 422,
        });
      }

      const slow = command('c', { idemKey: 'two', payload: { ms: 600 } });
      const first = await attaching.submit(slow, 100);
      expect(first.handle).toMatchObject({ completedFast: false });
      expect(await strict.submit(slow)).toMatchObject({ code: 'OPERATION_RUNNING', status: 409 });
      const attached = await (processes[0] as InstanceProcess).submit(slow, 5_000);
      expect(attached.handle).toMatchObject({ opId: first.handle?.opId, completedFast: true });
      expect(processes.flatMap(({ ran }) => ran)).toEqual(['b', 'c']);
    } finally {
      for (const instance of processes) instance[Symbol.dispose]();
    }
  }, 60_000);

  it('orchestrator NFR-2: SIGTERM during waits: callers get 202, the work is kept, the process ends in time', async () => {
    using ending = await start({ gracePeriodMs: 1_500 });
    const orders = ['x', 'y', 'z'].map((key) =>
      command(key, { idemKey: key, payload: { ms: key === 'x' ? 300 : 20_000 } }),
    );
    const waiting = orders.map((order) => ending.submit(order, 5_000));
    await until(() => ending.ran.length === 3, { what: 'the work to have begun' });
    const toldAt = performance.now();
    ending.terminate();
    const replies = await Promise.all(waiting);
    const answeredMs = performance.now() - toldAt;
    expect(replies.map(({ handle }) => handle?.completedFast)).toEqual([false, false, false]);
    expect(answeredMs).toBeLessThan(500);
    expect(await ending.exited).toBe(0);
    expect(performance.now() - toldAt).toBeLessThan(1_500 + 1_200);
    const store = new PostgresOperationStore({ database: home.database, schema: SCHEMA });
    const operations = await Promise.all(replies.map(({ handle }) => store.views.get(handle?.opId as never)));
    expect(operations[0]).toMatchObject({ state: 'COMPLETED', attempts: 1 });
    // Given back, not lost: the next instance runs them, and the broken try is not counted.
    using next = await start();
    await until(() => next.ran.length === 2, { what: 'the rest to be run by another instance' });
    expect(next.ran.toSorted()).toEqual(['y', 'z']);
    const y = await store.views.get(replies[1]?.handle?.opId as never);
    expect(y).toMatchObject({ attempts: 1, state: 'IN_PROGRESS' });
  }, 60_000);
});
