import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { defineDag, type TransactionalContext, task } from '../../src/define-dag.js';
import { eventually, PATIENCE_MS, withWorld, writeEffect } from './world.js';

describe('a DAG that changes while its batches run', () => {
  it('outbox OB-4: a running batch keeps its own order, tasks and limits in a poller with the new definition', () =>
    withWorld(async (world) => {
      const began = latch('the first task runs');
      const goOn = latch('the first task may end');
      let tries = 0;
      const old = defineDag('changing', {
        a: task({
          run: async (context) => {
            began.open();
            await goOn.promise;
            await writeEffect(context, 'old');
          },
        }),
        b: task({ after: ['a'], run: (context) => writeEffect(context, 'old') }),
        // The old definition allows one more try than the new one.
        c: task({
          after: ['b'],
          retry: { retries: 2 },
          backoffMs: 1,
          run: (context) => writeEffect(context, 'old'),
        }),
      });
      const run = (context: TransactionalContext) => writeEffect(context, 'new');
      const changed = defineDag('changing', {
        c: task({
          retry: { retries: 1 },
          backoffMs: 1,
          run: async (context) => {
            if (context.batch.bizKey === 'old' && ++tries < 3) throw new Error('not yet');
            await writeEffect(context, 'new');
          },
        }),
        b: task({ after: ['c'], run }),
        a: task({ after: ['b'], run }),
        d: task({ after: ['a'], run }),
      });
      const first = await world.startOutbox({ dags: [old], concurrency: 1 });
      const { id } = await first.pusher.start('changing', 'old');
      await began.wait(PATIENCE_MS);
      const second = await world.startOutbox({ dags: [changed] });
      const { id: later } = await second.pusher.start('changing', 'new');
      await eventually('the new batch', async () => (await second.batches.get(later)).status === 'DONE');
      goOn.open();
      await first.stop(); // Lets a finish; from here on only the new definition is polled for.
      await world.settle();
      const effects = await world.effects();
      const of = (batch: string) => effects.filter((effect) => effect.batch === batch);
      expect(of(later).map((effect) => effect.task)).toEqual(['c', 'b', 'a', 'd']);
      expect(of(id).map((effect) => effect.task)).toEqual(['a', 'b', 'c']);
      expect(of(id)[0]?.by).toBe('old');
      expect(await world.task(id, 'c')).toMatchObject({ status: 'DONE', attempts: 3 });
      expect((await second.batches.get(id)).dagVersion).not.toBe(
        (await second.batches.get(later)).dagVersion,
      );
    }));

  it('outbox OB-4: a poller that lacks a handler never claims its task; one that has it does', () =>
    withWorld(async (world) => {
      const run = (by: string) => (context: TransactionalContext) => writeEffect(context, by);
      const old = defineDag('shrinking', {
        a: task({ run: run('old') }),
        gone: task({ after: ['a'], run: run('old') }),
        z: task({ after: ['gone'], run: run('old') }),
      });
      const changed = defineDag('shrinking', {
        a: task({ run: run('new') }),
        z: task({ after: ['a'], run: run('new') }),
      });
      const pusher = await world.startOutbox({ dags: [old], poll: false });
      const { id } = await pusher.pusher.start('shrinking', 'old');
      const results: string[] = [];
      const second = await world.startOutbox({ dags: [changed] });
      second.events.on('task', ({ handler, result }) => results.push(`${handler} ${result}`));
      await eventually('a', async () => (await world.task(id, 'a')).status === 'DONE');
      for (let round = 0; round < 3; round++) {
        const { id: other } = await second.pusher.start('shrinking', `other ${round}`);
        await eventually('another', async () => (await second.batches.get(other)).status === 'DONE');
      }
      expect(await world.task(id, 'gone')).toMatchObject({ status: 'READY', attempts: 0, claim_id: null });
      expect(results.filter((result) => result.includes('gone'))).toEqual([]);
      await world.startOutbox({ dags: [old] });
      await world.settle();
      const own = (await world.effects()).filter(({ batch }) => batch === id);
      expect(own.map((effect) => effect.task)).toEqual(['a', 'gone', 'z']);
      expect(own[1]?.by).toBe('old');
    }));
});
