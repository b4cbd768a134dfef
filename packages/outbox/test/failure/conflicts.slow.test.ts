import { latch, recordingLogger } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { defineDag, type TransactionalContext, task } from '../../src/define-dag.js';
import { carries, PATIENCE_MS, withWorld, writeEffect } from './world.js';

const once = { retries: 0 } as const;
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;

describe('a conflict in the transaction of a handler', () => {
  it('outbox OB-7: a deadlock uses up no attempt', () =>
    withWorld(async (world) => {
      await world.database.query(
        'CREATE TABLE IF NOT EXISTS account AS SELECT n FROM generate_series(1, 2) AS n',
      );
      const held = [latch('account 1 is locked'), latch('account 2 is locked')] as const;
      let runs = 0;
      const locks = (mine: 0 | 1, other: 0 | 1) => async (context: TransactionalContext) => {
        runs++;
        const lock = (account: number) =>
          context.tx.query('SELECT FROM account WHERE n = $1 FOR UPDATE', [account + 1]);
        await context.tx.query("SET LOCAL deadlock_timeout = '20ms'");
        await writeEffect(context);
        await lock(mine);
        held[mine].open();
        await held[other].wait(PATIENCE_MS);
        await lock(other);
      };
      const outbox = await world.startOutbox({
        dags: [
          defineDag('deadlock', {
            one: task({ retry: once, run: locks(0, 1) }),
            two: task({ retry: once, run: locks(1, 0) }),
          }),
        ],
      });
      const { id } = await outbox.pusher.start('deadlock', 'k');
      await world.settle();
      expect(runs).toBeGreaterThan(2);
      for (const key of ['one', 'two'])
        expect(await world.task(id, key)).toMatchObject({ status: 'DONE', attempts: 1 });
      expect((await world.effects()).map((effect) => effect.task).sort()).toEqual(['one', 'two']);
    }));

  it.each([
    ['40001', 'thrown'],
    ['40P01', 'thrown'],
    ['40001', 'swallowed'],
    ['40P01', 'swallowed'],
  ])('outbox OB-7: %s, %s by the handler, uses up no attempt', (code, how) =>
    withWorld(async (world) => {
      let runs = 0;
      const outbox = await world.startOutbox({
        dags: [
          defineDag('conflict', {
            only: task({
              retry: once,
              run: async (context) => {
                await writeEffect(context);
                if (++runs > 2) return 'done';
                const conflict = context.tx.query(
                  `DO $$ BEGIN RAISE EXCEPTION 'in the way' USING ERRCODE = '${code}'; END $$`,
                );
                await (how === 'thrown' ? conflict : conflict.catch(() => {}));
                return 'not true';
              },
            }),
          }),
        ],
      });
      const { id } = await outbox.pusher.start('conflict', 'k');
      await world.settle();
      expect(await world.task(id, 'only')).toMatchObject({ status: 'DONE', attempts: 1, result: 'done' });
      expect(await world.effects()).toHaveLength(1);
    }),
  );
});

describe('a handler that takes its connection down', () => {
  it('outbox OB-2: becomes a dead letter after lostMax, and its neighbours do not notice', () =>
    withWorld(async (world) => {
      const lostMax = 2;
      let runs = 0;
      const outbox = await world.startOutbox({
        lostMax,
        dags: [
          defineDag('poison', {
            poison: task({
              onFailure: 'skip',
              retry: once,
              run: async (context) => {
                runs++;
                await writeEffect(context);
                await context.tx.query('SELECT pg_terminate_backend(pg_backend_pid())');
              },
            }),
            neighbour: task({ retry: once, run: writeEffect }),
            after: task({ after: ['poison', 'neighbour'], join: 'all-done', retry: once, run: writeEffect }),
          }),
        ],
      });
      const { id } = await outbox.pusher.start('poison', 'k');
      await world.settle();
      expect(runs).toBe(lostMax + 1);
      expect(await world.task(id, 'poison')).toMatchObject({
        status: 'FAILED',
        error: { code: 'TASK_LOST' },
        lost_cnt: lostMax,
      });
      for (const key of ['neighbour', 'after'])
        expect(await world.task(id, key)).toMatchObject({ status: 'DONE', attempts: 1, lost_cnt: 0 });
      expect((await world.effects()).map((effect) => effect.task)).toEqual(['neighbour', 'after']);
    }));

  it('outbox OB-2: a worker that dies with its task each time, likewise', () =>
    withWorld(async (world) => {
      const lostMax = 2;
      const neighbours: string[] = [];
      for (let worker = 0; worker <= lostMax; worker++) {
        const died = latch('the worker died');
        const database = world.open();
        const outbox = await world.startOutbox({
          database,
          lostMax,
          leaseMs: 300,
          gracePeriodMs: 1,
          instance: `worker ${worker}`,
          dags: [
            defineDag('deadly', {
              deadly: task({
                mode: 'external',
                onFailure: 'continue',
                retry: once,
                run: async () => {
                  await database.stop(); // As with a process that is gone: nothing more is heard of it.
                  died.open();
                  await latch('never').promise;
                },
              }),
              after: task({ after: ['deadly'], run: writeEffect }),
            }),
          ],
        });
        if (worker === 0) await outbox.pusher.start('deadly', 'k', {}, { traceparent });
        await died.wait(PATIENCE_MS);
      }
      const proxy = await world.startProxy();
      const replyIsLost = proxy.cutAfterRequest(carries('lock-expired', world.schema));
      const { log: logger, lines } = recordingLogger();
      const survivor = await world.startOutbox({
        database: world.open({ through: proxy }),
        lostMax,
        leaseMs: 300,
        logger,
        dags: [
          defineDag('deadly', {
            deadly: task({
              mode: 'external',
              onFailure: 'continue',
              retry: once,
              run: () => {
                throw new Error('a task that was lost too often runs no more');
              },
            }),
            after: task({
              after: ['deadly'],
              run: async (context) => {
                neighbours.push(JSON.stringify(context.inputs));
                await writeEffect(context);
              },
            }),
          }),
        ],
      });
      await world.settle();
      await replyIsLost;
      const batch = await survivor.batches.find({ dag: 'deadly', bizKey: 'k' });
      expect(await world.task(batch?.id ?? '', 'deadly')).toMatchObject({
        status: 'FAILED',
        error: { code: 'TASK_LOST' },
        lost_cnt: lostMax,
      });
      expect(neighbours).toEqual([expect.stringContaining('TASK_LOST')]);
      const fields = { batchId: batch?.id, taskKey: 'deadly', code: 'TASK_LOST', traceId };
      expect(lines.filter(({ message }) => message === 'A task failed for good')).toMatchObject([{ fields }]);
      expect(await world.effects()).toHaveLength(1);
    }));
});
