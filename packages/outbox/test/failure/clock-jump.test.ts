import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { defineDag, task } from '../../src/define-dag.js';
import { PATIENCE_MS, type World, withWorld, writeEffect } from './world.js';

const only = (run = writeEffect) => defineDag('jumped', { only: task({ run: (context) => run(context) }) });

/** As if the server's clock had been a year ahead when these were written. */
async function putAhead(world: World, what: 'delay' | 'lease'): Promise<void> {
  const year = "interval '365 days'";
  const statements =
    what === 'delay'
      ? [
          `UPDATE {s}.outbox_evt SET visible_at = visible_at + ${year}`,
          `UPDATE {s}.outbox_ready SET visible_at = visible_at + ${year}`,
        ]
      : [
          `UPDATE {s}.outbox_evt SET lease_until = lease_until + ${year}`,
          `UPDATE {s}.outbox_lease SET look_at = look_at + ${year}`,
        ];
  await world.database.transaction(async (tx) => {
    for (const sql of statements) await tx.query(sql.replace('{s}', `"${world.schema}"`));
  });
}

describe('a server whose clock jumps back', () => {
  it('outbox OB-2: tasks that wait for a time far ahead run all the same', () =>
    withWorld(async (world) => {
      const pusher = await world.startOutbox({ dags: [only()], poll: false });
      for (const key of ['a', 'b', 'c']) await pusher.pusher.start('jumped', key);
      await putAhead(world, 'delay');
      await world.startOutbox({ dags: [only()], leaseMs: 500 });
      await world.settle();
      expect(await world.effects()).toHaveLength(3);
    }));

  it('outbox OB-3: tasks of a dead worker whose lease ends far ahead are given to others', () =>
    withWorld(async (world) => {
      const began = latch('the worker has it');
      const dying = world.open();
      const dead = await world.startOutbox({
        dags: [
          only(async () => {
            began.open();
            await latch('never').promise;
          }),
        ],
        database: dying,
        gracePeriodMs: 0,
      });
      await dead.pusher.start('jumped', 'k');
      await began.wait(PATIENCE_MS);
      await dying.stop();
      await putAhead(world, 'lease');
      await world.startOutbox({ dags: [only()], leaseMs: 500 });
      await world.settle();
      expect(await world.effects()).toHaveLength(1);
    }));
});
