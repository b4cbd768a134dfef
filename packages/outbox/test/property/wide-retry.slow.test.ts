import { until } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { defineDag, task } from '../../src/define-dag.js';
import { Outbox } from '../../src/outbox.js';
import { findViolations } from '../check-invariants.js';
import { openOutboxDatabase, postgresPlace } from '../open-outbox.js';

/** More than a join may have to be counted by its parents themselves. */
const PARENTS = 70;

it('outbox OB-8: a batch that is retried ends also when nothing of it can run again', async () => {
  await using opened = await openOutboxDatabase(postgresPlace, { schema: 'wide', poolSize: 8 });
  const { database } = opened;
  const parents = Array.from({ length: PARENTS }, (_, index) => `p${index}`);
  const run = () => 'done';
  const dag = defineDag('wide', [
    ...parents.map((key, index) => [key, task({ run, when: () => index > 0 })] as const),
    ['join', task({ after: parents, run })] as const,
  ]);
  await using quiet = new Outbox({ database, schema: 'wide', dags: [dag], poll: false });
  await quiet.start();
  const { id } = await quiet.pusher.start(dag.name, 'k');
  // As pollers leave it that die before a folder of theirs has counted anything.
  await database.query(`UPDATE wide.outbox_evt SET attempts = 1, ended_at = now(),
      status = CASE task_key WHEN 'p0' THEN 'SKIPPED' ELSE 'DONE' END::wide.outbox_status,
      result = CASE task_key WHEN 'p0' THEN NULL ELSE '1'::jsonb END,
      skipped_by = CASE task_key WHEN 'p0' THEN 'condition' END
    WHERE task_key <> 'join'`);
  await database.query(`INSERT INTO wide.outbox_tick (batch_id, task_key, ok_cnt, end_cnt)
    SELECT batch_id, target, CASE status WHEN 'DONE' THEN 1 ELSE 0 END, 1
    FROM wide.outbox_evt, unnest(ARRAY['join', NULL]) AS target WHERE task_key <> 'join'`);
  await quiet.batches.abort(id);
  await quiet.batches.retry(id);
  await using outbox = new Outbox({ database, schema: 'wide', dags: [dag], concurrency: 5 });
  await outbox.start();
  const ended = await until(
    async () => {
      const { status } = await outbox.batches.get(id);
      return status !== 'RUNNING' && status;
    },
    { what: 'the end of the batch', deadlineMs: 10_000 },
  );
  expect(ended).toBe('DONE');
  expect(await outbox.batches.task(id, 'join')).toMatchObject({ status: 'SKIPPED', skippedBy: 'cascade' });
  expect(await findViolations(database, 'wide', { batch: id })).toEqual([]);
});
