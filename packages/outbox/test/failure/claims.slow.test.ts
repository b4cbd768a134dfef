import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { defineDag, task } from '../../src/define-dag.js';
import type { Outbox } from '../../src/outbox.js';
import { heldHandler, MODES, taskIn } from '../handlers.js';
import { eventually, PATIENCE_MS, splitDatabase, type World, withWorld, writeEffect } from './world.js';

/** Long enough for an idle machine to renew them in time, short enough to wait for. */
const LEASE_MS = 400;

/** Two pollers of one DAG, whose handlers know which of them they are in. */
function pollers(
  world: World,
  tasks: (name: string) => Parameters<typeof defineDag>[1],
): (name: string, setup?: Partial<Parameters<World['startOutbox']>[0]>) => Promise<Outbox> {
  return (name, setup = {}) =>
    world.startOutbox({
      dags: [defineDag('lost', tasks(name))],
      leaseMs: LEASE_MS,
      lostMax: 1_000,
      concurrency: 1,
      instance: name,
      ...setup,
    });
}

const isLost = async (world: World, batchId: string) => (await world.task(batchId, 'only')).lost_cnt > 0;

describe('a worker whose lease has expired', () => {
  it('outbox OB-6: loses its claim while its handler runs, and its writes are rolled back', () =>
    withWorld(async (world) => {
      const began = latch('the first handler has written');
      const goOn = latch('the first handler may end');
      const ended: string[] = [];
      const start = pollers(world, (by) => ({
        only: task({
          run: async (context) => {
            await writeEffect(context, by);
            if (by !== 'first') return by;
            began.open();
            await goOn.promise;
            return by;
          },
        }),
      }));
      const proxy = await world.startProxy();
      const first = await start('first', {
        database: splitDatabase({
          transactions: world.open(),
          statements: world.open({ through: proxy, callTimeoutMs: 60_000 }),
        }),
      });
      first.events.on('task', ({ result }) => ended.push(result));
      const { id } = await first.pusher.start('lost', 'k');
      await began.wait(PATIENCE_MS);
      proxy.pause(); // No heartbeat passes from here on; the handler's own connection works.
      await start('second');
      await eventually('the second run', async () => (await world.task(id, 'only')).status === 'DONE');
      goOn.open();
      await eventually('the first run to be settled', () => ended.length > 0);
      proxy.resume();
      expect(ended).toEqual(['lost']);
      expect(await world.effects()).toEqual([{ batch: id, task: 'only', by: 'second' }]);
      expect(await world.task(id, 'only')).toMatchObject({ result: 'second', attempts: 1, lost_cnt: 1 });
      await world.settle();
    }));

  it.each(MODES)('outbox OB-3: frozen past it, changes nothing when it wakes (%s)', (mode) =>
    withWorld(async (world) => {
      const { isRunning, mayEnd, run } = heldHandler('first');
      const start = pollers(world, (by) => ({
        only: taskIn(mode, () => (by === 'first' ? run() : by), {
          write: (context) => writeEffect(context, by),
        }),
      }));
      const proxy = await world.startProxy();
      const first = await start('first', {
        database: world.open({ through: proxy, callTimeoutMs: 60_000 }),
      });
      const { id } = await first.pusher.start('lost', 'k');
      await isRunning.wait(PATIENCE_MS);
      proxy.pause();
      mayEnd.open(); // What it sends now waits in the network, and arrives after the other one has done it all.
      await start('second');
      await eventually('the second run', async () => (await world.task(id, 'only')).status === 'DONE');
      await world.settle();
      const before = await rowOf(world, id);
      proxy.resume();
      await first.stop();
      expect(await rowOf(world, id)).toEqual(before);
      expect(await world.task(id, 'only')).toMatchObject({ result: 'second', attempts: 1, lost_cnt: 1 });
      expect((await world.effects()).map(({ by }) => by)).toEqual(mode === 'external' ? [] : ['second']);
    }),
  );

  it('outbox OB-3: frozen in the middle of a failure, does not fail the run of another', () =>
    withWorld(async (world) => {
      const began = latch('the first handler has begun');
      const secondBegan = latch('the second handler has begun');
      const goOn = latch('the first handler may end');
      const secondGoesOn = latch('the second handler may end');
      const start = pollers(world, (by) => ({
        only: task({
          retry: { retries: 0 },
          run: async (context) => {
            await writeEffect(context, by);
            (by === 'first' ? began : secondBegan).open();
            await (by === 'first' ? goOn : secondGoesOn).promise;
            if (by === 'first') throw new Error('too late to matter');
            return by;
          },
        }),
      }));
      const proxy = await world.startProxy();
      const first = await start('first', {
        database: world.open({ through: proxy, callTimeoutMs: 60_000 }),
      });
      const { id } = await first.pusher.start('lost', 'k');
      await began.wait(PATIENCE_MS);
      proxy.pause();
      await start('second');
      await secondBegan.wait(PATIENCE_MS);
      expect(await isLost(world, id)).toBe(true);
      goOn.open();
      proxy.resume();
      await first.stop();
      expect(await world.task(id, 'only')).toMatchObject({ status: 'PROCESSING' });
      secondGoesOn.open();
      await world.settle();
      expect(await world.task(id, 'only')).toMatchObject({ status: 'DONE', result: 'second' });
      expect((await world.effects()).map(({ by }) => by)).toEqual(['second']);
    }));
});

const rowOf = async (world: World, id: string) =>
  (await world.database.query(`SELECT * FROM "${world.schema}".outbox_evt WHERE batch_id = $1::bigint`, [id]))
    .rows;

describe('a handler past its timeout', () => {
  it('outbox OB-7: loses its connection while it waits for the server, and tx answers TX_CLOSED', () =>
    withWorld(async (world) => {
      const after = latch<unknown>('the handler has used its tx again');
      let pid = 0;
      const outbox = await world.startOutbox({
        dags: [
          defineDag('slow', {
            only: task({
              timeoutMs: 300,
              retry: { retries: 0 },
              run: async (context) => {
                const { tx } = context;
                const { rows } = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
                pid = rows[0]?.pid ?? 0;
                await writeEffect(context);
                await tx.query('SELECT pg_sleep(60)').catch(() => {});
                await tx.query('SELECT 1').then(after.open, after.open);
              },
            }),
          }),
        ],
      });
      const { id } = await outbox.pusher.start('slow', 'k');
      expect(await after.wait(PATIENCE_MS)).toMatchObject({ code: 'TX_CLOSED' });
      await world.settle();
      const alive = async () =>
        (await world.database.query('SELECT FROM pg_stat_activity WHERE pid = $1', [pid])).rowCount;
      await eventually('the backend to end', async () => (await alive()) === 0);
      expect(await world.effects()).toEqual([]);
      expect(await world.task(id, 'only')).toMatchObject({
        status: 'FAILED',
        attempts: 1,
        error: { code: 'TASK_TIMEOUT' },
      });
    }));
});
