import { NonRetryableError } from '@millrace/foundation';
import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { defineDag, task } from '../../src/define-dag.js';
import { heldHandler, taskIn } from '../handlers.js';
import { cutListening, eventually, PATIENCE_MS, withWorld, writeEffect } from './world.js';

describe('a batch that is aborted and retried while its handler runs', () => {
  it.each([
    ['transactional', 'while the second run is under way'],
    ['transactional', 'after the second run'],
    ['external', 'while the second run is under way'],
    ['external', 'after the second run'],
  ] as const)('outbox OB-6: never accepts the completion of the run before (%s, %s)', (mode, when) =>
    withWorld(async (world) => {
      const held = { first: heldHandler('first'), second: heldHandler('second') };
      const dagOf = (by: 'first' | 'second') =>
        defineDag('stale', {
          only: taskIn(mode, held[by].run, { write: (context) => writeEffect(context, by) }),
        });
      const proxy = await world.startProxy();
      const first = await world.startOutbox({
        dags: [dagOf('first')],
        database: world.open({ through: proxy, applicationName: 'first' }),
        concurrency: 1,
      });
      const results: string[] = [];
      first.events.on('task', ({ result }) => results.push(result));
      const { id } = await first.pusher.start('stale', 'k');
      await held.first.isRunning.wait(PATIENCE_MS);
      await cutListening(world, proxy, 'first'); // It does not hear of the abort: what it sends has to be refused.
      const watcher = await world.startOutbox({ dags: [dagOf('second')], poll: false });
      expect((await watcher.batches.abort(id)).status).toBe('ABORTED');
      expect((await watcher.batches.retry(id)).status).toBe('RUNNING');
      await world.startOutbox({ dags: [dagOf('second')] });
      await held.second.isRunning.wait(PATIENCE_MS);
      if (when === 'after the second run') {
        held.second.mayEnd.open();
        await world.settle();
      }
      held.first.mayEnd.open();
      await eventually('the first run to be settled', () => results.length > 0);
      held.second.mayEnd.open();
      await world.settle();
      expect(results).toEqual(['lost']);
      expect(await world.task(id, 'only')).toMatchObject({ status: 'DONE', result: 'second', attempts: 1 });
      expect((await world.effects()).map(({ by }) => by)).toEqual(mode === 'external' ? [] : ['second']);
      proxy.refuse(false);
    }),
  );
});

describe('a batch that is retried while it runs', () => {
  it.each([
    ['all-done', 'skip'],
    ['all', 'continue'],
    [{ atLeast: 2 }, 'continue'],
  ] as const)(
    'outbox OB-1: a task that waits (join %j) does not count a parent twice that failed under %s',
    (join, onFailure) =>
      withWorld(
        async (world) => {
          const slow = latch('the slow parent may end');
          let isBroken = true;
          const order: string[] = [];
          const outbox = await world.startOutbox({
            dags: [
              defineDag('again', {
                fails: task({
                  onFailure,
                  run: () => {
                    if (isBroken) throw new NonRetryableError('broken');
                  },
                }),
                slow: task({
                  mode: 'external',
                  run: async () => {
                    await slow.promise;
                    order.push('slow');
                  },
                }),
                child: task({ after: ['fails', 'slow'], join, run: () => void order.push('child') }),
                sibling: task({ after: ['fails'], join: 'all-done', run: () => void order.push('sibling') }),
              }),
            ],
          });
          const { id } = await outbox.pusher.start('again', 'k');
          await eventually('the failure', async () => (await world.task(id, 'fails')).status === 'FAILED');
          isBroken = false;
          await outbox.batches.retry(id);
          await eventually('the second try', async () => (await world.task(id, 'fails')).status === 'DONE');
          // Whatever could run has run when a batch that was started later is done.
          const { id: later } = await outbox.pusher.start('again', 'later');
          await eventually('a later one', async () => (await world.task(later, 'fails')).status === 'DONE');
          expect(order).not.toContain('child');
          slow.open();
          await world.settle();
          expect(order.filter((key) => key === 'child')).toHaveLength(2);
        },
        { retried: true },
      ),
  );
});
