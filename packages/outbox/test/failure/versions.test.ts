import { describe, expect, it } from 'vitest';
import { defineDag, type TransactionalContext, task } from '../../src/define-dag.js';
import { eventually, withWorld, writeEffect } from './world.js';

describe('a DAG that changes while its batches run', () => {
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
