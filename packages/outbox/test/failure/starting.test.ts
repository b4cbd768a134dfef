import { latch, ManualClock } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { defineDag, task } from '../../src/define-dag.js';
import { cutListening, eventually, PATIENCE_MS, type World, withWorld, writeEffect } from './world.js';

const two = () =>
  defineDag('two', { a: task({ run: writeEffect }), b: task({ after: ['a'], run: writeEffect }) });

const rowsOf = async (world: World): Promise<number> => {
  const tables = ['batch_instance', 'outbox_evt', 'outbox_tick', 'outbox_dep'];
  const counts = tables.map((table) => `(SELECT count(*) FROM "${world.schema}".${table})`);
  const { rows } = await world.database.query<{ n: number }>(`SELECT (${counts.join(' + ')})::integer AS n`);
  return rows[0]?.n ?? 0;
};

describe('a batch that is started in a transaction of its caller', () => {
  it('outbox OB-5: is not hidden by a later one that commits first', () =>
    withWorld(async (world) => {
      const inserted = latch<string>('the first has inserted its batch');
      const commit = latch('the first may commit');
      const outbox = await world.startOutbox({ dags: [two()] });
      const first = world.database.transaction(async (tx) => {
        const { id } = await outbox.pusher.start('two', 'first', {}, { tx });
        inserted.open(id);
        await commit.promise;
      });
      const early = await inserted.wait(PATIENCE_MS);
      const { id: late } = await world.database.transaction((tx) =>
        outbox.pusher.start('two', 'second', {}, { tx }),
      );
      expect(BigInt(late)).toBeGreaterThan(BigInt(early));
      await eventually('the later one', async () => (await outbox.batches.get(late)).status === 'DONE');
      expect((await world.effects()).map(({ batch }) => batch)).toEqual([late, late]);
      commit.open();
      await first;
      await world.settle();
      expect((await world.effects()).map(({ batch }) => batch)).toEqual([late, late, early, early]);
    }));

  it('outbox OB-5: leaves no trace when the connection of its caller dies before the commit', () =>
    withWorld(async (world) => {
      const proxy = await world.startProxy();
      const outbox = await world.startOutbox({ dags: [two()] });
      const caller = world.open({ through: proxy });
      const lost = caller.transaction(async (tx) => {
        await outbox.pusher.start('two', 'k', {}, { tx });
        proxy.cut();
        await latch('never').promise;
      });
      await expect(lost).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
      expect(await rowsOf(world)).toBe(0);
    }));

  it('outbox OB-5: of many that start one key at once, some of which roll back, one makes the batch', () =>
    withWorld(async (world) => {
      const outbox = await world.startOutbox({ dags: [two()], poll: false });
      const starts = Array.from({ length: 12 }, (_, index) =>
        world.database
          .transaction(async (tx) => {
            const batch = await outbox.pusher.start('two', 'one key', {}, { tx });
            if (index % 3 === 0) throw new Error('rolled back');
            return batch;
          })
          .catch(() => undefined),
      );
      const made = (await Promise.all(starts)).filter((batch) => batch !== undefined);
      expect(made).toHaveLength(8);
      expect(made.filter(({ created }) => created)).toHaveLength(1);
      expect(new Set(made.map(({ id }) => id)).size).toBe(1);
      await world.startOutbox({ dags: [two()] });
      await world.settle();
      expect(await world.effects()).toHaveLength(2);
    }));
});

describe('hints', () => {
  it('outbox OB-3: a lost NOTIFY costs one poll interval at most', () =>
    withWorld(async (world) => {
      const pollIntervalMs = 60_000;
      const clock = new ManualClock();
      const proxy = await world.startProxy();
      const poller = await world.startOutbox({
        dags: [two()],
        clock,
        pollIntervalMs,
        database: world.open({ through: proxy, applicationName: 'deaf' }),
      });
      const pusher = await world.startOutbox({ dags: [two()], poll: false });
      const heard = await pusher.pusher.start('two', 'heard');
      await eventually('tasks by a hint, in no time at all', async () => {
        await clock.advance(1);
        return (await poller.batches.get(heard.id)).status === 'DONE';
      });
      expect(clock.monotonicMs()).toBeLessThan(pollIntervalMs / 2);

      await cutListening(world, proxy, 'deaf');
      await eventually('the poller to wait', async () => {
        await clock.advance(0);
        return (await activeOf(world, 'deaf')) === 0;
      });
      const unheard = await pusher.pusher.start('two', 'unheard');
      expect((await world.task(unheard.id, 'a')).status).toBe('READY');
      await clock.advance(pollIntervalMs);
      await eventually(
        'a task by the poll',
        async () => (await world.task(unheard.id, 'a')).status === 'DONE',
      );
      proxy.refuse(false);
      await eventually('the rest', async () => {
        await clock.advance(1_000);
        return (await poller.batches.get(unheard.id)).status === 'DONE';
      });
    }));
});

const activeOf = async (world: World, applicationName: string): Promise<number> => {
  const { rowCount } = await world.database.query(
    "SELECT FROM pg_stat_activity WHERE application_name = $1 AND state <> 'idle'",
    [`${applicationName}:pool`],
  );
  return rowCount;
};
