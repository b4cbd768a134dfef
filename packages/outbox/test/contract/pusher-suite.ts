import { NonRetryableError } from '@millrace/foundation';
import { latch, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { type StartedBatch, type TaskContext, task } from '../../src/index.js';
import { type ContractSuite, DEADLINE_MS, leaveMark, statusesOf } from './home.js';

const idle = () => {};

/** Sessions of this database that wait for the end of a transaction. */
const WAITING = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;

/** Starts: one transaction, one batch per key, the right version. What is refused is in hostile-suite. */
export const pusherSuite: ContractSuite = (home, kind) => {
  it('outbox OB-5: a start writes the batch and all its tasks with their counts in one transaction', async () => {
    const dag = home().dag({
      a: task({ run: idle }),
      b: task({ run: idle }),
      c: task({ run: idle, after: ['a', 'b'] }),
      d: task({ run: idle, after: ['a', 'b'], join: 'any' }),
      e: task({ run: idle, after: ['a', 'b', 'c'], join: { atLeast: 2 } }),
      f: task({ run: idle, after: ['c', 'd'], join: 'all-done' }),
    });
    await using outbox = await home().starter([dag]);
    const batch = await outbox.pusher.start(dag.name, 'k', { of: 'all' }, { traceparent: '00-1-2-01' });
    expect(batch).toMatchObject({
      created: true,
      tenant: '',
      dag: dag.name,
      dagVersion: outbox.registry.versionOf(dag.name),
      bizKey: 'k',
      runNo: 1,
      status: 'RUNNING',
      payload: { of: 'all' },
      traceparent: '00-1-2-01',
      taskCount: 6,
      openCount: 6,
      endedAt: undefined,
    });
    const rows = await home().rows(
      'SELECT task_key, status, pre_cnt, open_cnt FROM {schema}.outbox_evt WHERE batch_id = $1 ORDER BY task_key',
      [batch.id],
    );
    expect(rows).toEqual(
      [
        ['a', 0, 0],
        ['b', 0, 0],
        ['c', 2, 2],
        ['d', 1, 2],
        ['e', 2, 3],
        ['f', 2, 2],
      ].map(([task_key, pre_cnt, open_cnt]) => ({ task_key, status: 'READY', pre_cnt, open_cnt })),
    );
    const [{ writers } = { writers: 0 }] = await home().rows<{ writers: number }>(
      `SELECT count(DISTINCT w)::integer AS writers FROM (
         SELECT xmin::text AS w FROM {schema}.batch_instance WHERE id = $1
         UNION ALL SELECT xmin::text FROM {schema}.outbox_evt WHERE batch_id = $1
       ) all_rows`,
      [batch.id],
    );
    expect(writers).toBe(1);
  });

  describe("in the caller's own transaction", () => {
    it('outbox OB-5: the batch is there when the caller commits, and is run', async () => {
      const dag = home().dag({ a: task({ run: ({ tx }) => leaveMark(tx, `${dag.name}:task`) }) });
      await using outbox = await home().outbox([dag]);
      const batch = await home().database.transaction(async (tx) => {
        await leaveMark(tx, `${dag.name}:caller`);
        const started = await outbox.pusher.start(dag.name, 'k', {}, { tx });
        // The same transaction sees its own batch.
        expect(await outbox.pusher.start(dag.name, 'k', {}, { tx })).toMatchObject({
          id: started.id,
          created: false,
        });
        return started;
      });
      expect(batch.created).toBe(true);
      expect(await home().ended(outbox, batch.id)).toMatchObject({ status: 'DONE' });
      expect(await home().effects(dag.name)).toEqual([`${dag.name}:caller`, `${dag.name}:task`]);
    });

    it('outbox OB-5: nothing is left of it when the caller rolls back', async () => {
      const dag = home().dag({ a: task({ run: idle }), b: task({ run: idle, after: ['a'] }) });
      await using outbox = await home().starter([dag]);
      const before = await home().counts();
      const thrown = new Error('the caller has changed its mind');
      const start = home().database.transaction(async (tx) => {
        await leaveMark(tx, dag.name);
        await outbox.pusher.start(dag.name, 'k', {}, { tx });
        throw thrown;
      });
      await expect(start).rejects.toBe(thrown);
      expect(await home().counts()).toEqual(before);
      expect(await outbox.batches.find({ dag: dag.name, bizKey: 'k' })).toBeUndefined();
      expect(await outbox.pusher.start(dag.name, 'k')).toMatchObject({ created: true, runNo: 1 });
    });

    it('outbox OB-5: a refused start leaves it usable', async () => {
      const dag = home().dag({ a: task({ run: idle }) });
      await using outbox = await home().starter([dag]);
      await home().database.transaction(async (tx) => {
        const refused = [
          outbox.pusher.start(dag.name, '', {}, { tx }),
          outbox.pusher.start(dag.name, 'a\0b', {}, { tx }),
          outbox.pusher.start(dag.name, 'k', { text: '\ud800' }, { tx }),
          outbox.pusher.start('nobody has it', 'k', {}, { tx }),
        ];
        for (const start of refused) await expect(start).rejects.toMatchObject({ retryable: false });
        await outbox.pusher.start(dag.name, 'k', {}, { tx });
      });
      expect(await outbox.batches.find({ dag: dag.name, bizKey: 'k' })).toMatchObject({ status: 'RUNNING' });
    });
  });

  it('outbox OB-5: the same key again gives the latest run, whatever its state; rerun opens another once it has ended', async () => {
    const isHeld = latch('the task of the running batch may end');
    const dag = home().dag({
      a: task<{ end: string }>({
        mode: 'external',
        run: async ({ payload: { end } }) => {
          if (end === 'FAILED') throw new NonRetryableError('as the test wants');
          if (end === 'RUNNING' || end === 'ABORTED') await isHeld.promise;
        },
      }),
    });
    await using outbox = await home().outbox([dag]);
    const { pusher, batches } = outbox;
    const first: Record<string, StartedBatch> = {};
    for (const end of ['RUNNING', 'DONE', 'FAILED', 'ABORTED']) {
      first[end] = await pusher.start(dag.name, end, { end });
      if (end === 'ABORTED') await batches.abort(first[end].id);
    }
    for (const [end, { id }] of Object.entries(first)) {
      if (end !== 'RUNNING') await home().ended(outbox, id);
      const again = await pusher.start(dag.name, end, { end: 'another payload' });
      expect(again).toMatchObject({ id, status: end, created: false, runNo: 1, payload: { end } });
      const rerun = await pusher.start(dag.name, end, { end: 'DONE' }, { ifEnded: 'rerun' });
      if (end === 'RUNNING') expect(rerun).toMatchObject({ id, created: false, runNo: 1 });
      else {
        expect(rerun).toMatchObject({ created: true, runNo: 2, status: 'RUNNING', payload: { end: 'DONE' } });
        expect(rerun.id).not.toBe(id);
        expect((await home().ended(outbox, rerun.id)).status).toBe('DONE');
        expect(await pusher.start(dag.name, end)).toMatchObject({ id: rerun.id, created: false, runNo: 2 });
        expect(await batches.get(id)).toMatchObject({ status: end, runNo: 1 });
      }
    }
    isHeld.open();
  });

  it('outbox OB-5: whoever listens in this process is told of a batch that was made, once, and of none that may not be', async () => {
    const dag = home().dag({ a: task({ run: idle }) });
    await using outbox = await home().starter([dag]);
    const started: unknown[] = [];
    outbox.events.on('started', (event) => void started.push(event));
    const { id } = await outbox.pusher.start(dag.name, 'k', {}, { tenant: 'acme' });
    await outbox.pusher.start(dag.name, 'k', {}, { tenant: 'acme' });
    await home().database.transaction((tx) => outbox.pusher.start(dag.name, 'theirs', {}, { tx }));
    expect(started).toEqual([{ id, tenant: 'acme', dag: dag.name, bizKey: 'k' }]);
  });

  it('outbox OB-5: two tenants with the same key never meet', async () => {
    const dag = home().dag({ a: task({ run: idle }) });
    await using outbox = await home().starter([dag]);
    const tenants = ['', 'one', 'two'];
    const started = await Promise.all(
      tenants.map((tenant) => outbox.pusher.start(dag.name, 'k', { tenant }, { tenant })),
    );
    expect(new Set(started.map(({ id }) => id)).size).toBe(3);
    for (const [index, tenant] of tenants.entries()) {
      expect(started[index]).toMatchObject({ created: true, runNo: 1, tenant, payload: { tenant } });
      expect(await outbox.pusher.start(dag.name, 'k', {}, { tenant })).toMatchObject({
        id: started[index]?.id,
        created: false,
      });
      expect(await outbox.batches.find({ tenant, dag: dag.name, bizKey: 'k' })).toMatchObject({ tenant });
    }
    await outbox.batches.abort(started[1]?.id ?? '');
    expect(await outbox.pusher.start(dag.name, 'k', {}, { tenant: 'one', ifEnded: 'rerun' })).toMatchObject({
      runNo: 2,
    });
    expect(await outbox.pusher.start(dag.name, 'k', {}, { tenant: 'two', ifEnded: 'rerun' })).toMatchObject({
      id: started[2]?.id,
      runNo: 1,
    });
  });

  it('outbox OB-5: of twenty starts of one key at once one makes the batch, of twenty reruns one makes the next', async () => {
    const dag = home().dag({ a: task({ run: idle }), b: task({ run: idle, after: ['a'] }) });
    await using here = await home().starter([dag]);
    await using there = await home().starter([dag], { database: home().anotherDatabase() });
    const startAll = (options?: { ifEnded: 'rerun' }) =>
      Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          (n % 2 ? here : there).pusher.start(dag.name, 'k', { n }, options),
        ),
      );
    for (const [runNo, options] of [[1], [2, { ifEnded: 'rerun' } as const]] as const) {
      const started = await startAll(options);
      expect(new Set(started.map(({ id }) => id)).size).toBe(1);
      expect(new Set(started.map(({ runNo: n }) => n))).toEqual(new Set([runNo]));
      expect(started.filter(({ created }) => created)).toHaveLength(1);
      await here.batches.abort(started[0]?.id ?? '');
    }
    const { items } = await here.batches.list({ dag: dag.name });
    expect(items).toHaveLength(2);
    for (const { id } of items) expect(Object.keys(await home().tasks(here, id))).toEqual(['a', 'b']);
  });

  // PGlite has one session: there is no second transaction to meet.
  if (kind === 'postgres')
    it('outbox OB-5: a start that meets one in an open transaction waits for its end', async () => {
      const dag = home().dag({ a: task({ run: idle }) });
      await using outbox = await home().starter([dag]);
      for (const end of ['commit', 'rollback']) {
        let second: Promise<StartedBatch> | undefined;
        const first = home().database.transaction(async (tx) => {
          const { id } = await outbox.pusher.start(dag.name, end, {}, { tx });
          second = outbox.pusher.start(dag.name, end);
          await until(async () => (await home().rows(WAITING)).length > 0, {
            what: 'the second start to wait for the first',
            deadlineMs: DEADLINE_MS,
          });
          if (end === 'rollback') throw new Error(id);
          return id;
        });
        const id = await first.catch((error: Error) => error.message);
        const got = await second;
        expect(got).toMatchObject({ runNo: 1, created: end === 'rollback' });
        expect(got?.id === id).toBe(end === 'commit');
      }
    });

  it('a DAG that nobody has registered is not found', async () => {
    const dag = home().dag({ a: task({ run: idle }) });
    await using outbox = await home().starter([dag]);
    const before = await home().counts();
    for (const name of [`${dag.name}x`, '__proto__', '', "'; DROP TABLE effect; --"])
      await expect(outbox.pusher.start(name, 'k')).rejects.toMatchObject({
        code: 'DAG_NOT_FOUND',
        status: 404,
      });
    expect(await home().counts()).toEqual(before);
  });

  it('outbox OB-4: an instance without the DAG starts the version registered last', async () => {
    const name = home().name();
    const one = home().dag({ a: task({ run: idle }) }, name);
    const two = home().dag({ a: task({ run: idle }), b: task({ run: idle }) }, name);
    await using stranger = await home().starter([]);
    await expect(stranger.pusher.start(name, '0')).rejects.toMatchObject({ code: 'DAG_NOT_FOUND' });
    const versions: (number | undefined)[] = [];
    for (const [index, dag] of [one, two, one].entries()) {
      await using owner = await home().starter([dag]);
      versions.push(owner.registry.versionOf(name));
      const batch = await stranger.pusher.start(name, `k${index}`);
      expect(batch).toMatchObject({
        created: true,
        dagVersion: versions[index],
        taskCount: dag.tasks.length,
      });
    }
    expect(versions[2]).toBe(versions[0]);
    expect(versions[1]).not.toBe(versions[0]);
  });

  it('outbox OB-4: a running batch keeps its order, tasks and limits in a poller with a new definition', async () => {
    const name = home().name();
    const seen: string[] = [];
    const run = ({ taskKey, batch }: TaskContext) => void seen.push(`${batch.bizKey}:${taskKey}`);
    const failTwice = (context: TaskContext) => {
      if (context.batch.bizKey === 'old' && context.attempt < 3) throw new Error('not yet');
      run(context);
    };
    const old = home().dag(
      { a: task({ run }), b: task({ run, after: ['a'], retry: { retries: 2 }, backoffMs: 1 }) },
      name,
    );
    const changed = home().dag(
      {
        b: task({ run: failTwice, retry: { retries: 1 } }),
        a: task({ run, after: ['b'] }),
        extra: task({ run, after: ['a'] }),
      },
      name,
    );
    await using starter = await home().starter([old]);
    const before = await starter.pusher.start(name, 'old');
    await using outbox = await home().outbox([changed]);
    const after = await outbox.pusher.start(name, 'new');
    expect(after.dagVersion).not.toBe(before.dagVersion);
    for (const { id } of [before, after])
      expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
    expect(statusesOf(await home().tasks(outbox, before.id))).toEqual({ a: 'DONE', b: 'DONE' });
    expect(seen.filter((each) => each.startsWith('old'))).toEqual(['old:a', 'old:b']);
    expect(seen.filter((each) => each.startsWith('new'))).toEqual(['new:b', 'new:a', 'new:extra']);
    expect(await outbox.batches.get(before.id)).toMatchObject({
      dagVersion: before.dagVersion,
      taskCount: 2,
    });
  });
};
