import { NonRetryableError } from '@millrace/foundation';
import { until } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { task } from '../../src/index.js';
import { type ContractSuite, DEADLINE_MS } from './home.js';

/** What an instance does beside its tasks: it forgets what is old, and shows itself. */
export const retentionSuite: ContractSuite = (home, kind) => {
  it('outbox: retention: an instance prunes by itself what ended longer ago, and leaves what is young', async () => {
    const refuse = () => {
      throw new NonRetryableError('never');
    };
    const dag = home().dag({ a: task({ run: refuse }), b: task({ after: ['a'], run: () => 1 }) });
    await using first = await home().outbox([dag]);
    const { id: old } = await first.pusher.start(dag.name, 'old');
    const { id: young } = await first.pusher.start(dag.name, 'young');
    await home().ended(first, old);
    await home().ended(first, young);
    await home().rows(
      "UPDATE {schema}.batch_instance SET ended_at = ended_at - interval '30 days' WHERE id = $1::bigint",
      [old],
    );
    await using second = await home().outbox([dag]);
    await until(async () => (await second.batches.find({ dag: dag.name, bizKey: 'old' })) === undefined, {
      what: 'the old batch to be pruned',
      deadlineMs: DEADLINE_MS,
    });
    await expect(second.batches.retry(old)).rejects.toMatchObject({ code: 'BATCH_NOT_FOUND' });
    const { items } = await second.batches.deadLetters({ handler: `${dag.name}.a` });
    expect(items.map(({ batchId }) => batchId)).toEqual([young]);
    expect(await second.pusher.start(dag.name, 'old')).toMatchObject({ created: true, runNo: 1 });
    await home().ended(second, (await second.batches.find({ dag: dag.name, bizKey: 'old' }))?.id ?? '');
  });

  it('outbox: an instance that polls is listed with its DAGs until it stops; one that fell silent is not alive', async () => {
    const dag = home().dag({ a: task({ run: () => 1 }) });
    const outbox = await home().outbox([dag], { concurrency: 2 });
    const own = async () =>
      (await outbox.workers()).filter(({ workerId }) => workerId === outbox.poller.workerId);
    await until(async () => (await own()).length === 1, {
      what: 'the worker to be listed',
      deadlineMs: DEADLINE_MS,
    });
    expect(await own()).toMatchObject([{ dags: [dag.name], concurrency: 2, alive: true }]);
    await home().rows(
      "UPDATE {schema}.outbox_worker SET seen_at = seen_at - interval '2 minutes' WHERE worker_id = $1",
      [outbox.poller.workerId],
    );
    expect(await own()).toMatchObject([{ alive: false }]);
    await outbox.stop();
    expect(await own()).toEqual([]);
  });

  it('outbox: what holds back vacuum is asked of a server, and not of an embedded database', async () => {
    await using outbox = await home().starter([]);
    const oldest = await outbox.vacuum.look();
    expect(oldest?.ageMs).toEqual(kind === 'pglite' ? undefined : expect.any(Number));
  });
};
