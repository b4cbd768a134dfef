import { NonRetryableError } from '@millrace/foundation';
import type { Database } from '@millrace/postgres';
import { latch, until } from '@millrace/testkit';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { defineDag, migrateOutbox, Outbox, task } from '../../src/index.js';
import { registerMetrics } from '../../src/metrics/index.js';
import { type OutboxDatabase, openOutboxDatabase } from '../open-outbox.js';
import { scrape } from './scraping.js';

let opened: OutboxDatabase | undefined;
let database: Database;
beforeAll(async () => {
  opened = await openOutboxDatabase();
  database = opened.database;
}, 30_000);
afterAll(() => opened?.[Symbol.asyncDispose]());

it('outbox OB-9: an outbox at work shows its backlog, its tries and its batches', async () => {
  const schema = 'at work';
  await migrateOutbox(database, { schema });
  const mayEnd = latch('the slow task may end');
  const begun = latch('the slow task runs');
  const slow = async () => {
    begun.open();
    await mayEnd.promise;
  };
  const flaky = ({ attempt }: { attempt: number }) => {
    if (attempt === 1) throw new Error('not this time');
  };
  const refuse = () => {
    throw new NonRetryableError('never');
  };
  const dags = [
    defineDag('good', {
      flaky: task({ run: flaky, backoffMs: 0 }),
      slow: task({ after: ['flaky'], mode: 'external', run: slow }),
      unwanted: task({ after: ['slow'], when: () => false, run: () => 1 }),
      last: task({ after: ['slow'], run: () => 1 }),
    }),
    defineDag('bad', { refused: task({ run: refuse }), rest: task({ after: ['refused'], run: () => 1 }) }),
  ];
  await using outbox = new Outbox({ database, schema, dags, pollIntervalMs: 20 });
  const registry = new Registry();
  registerMetrics(registry, outbox);
  await outbox.start();
  await outbox.pusher.start('good', 'k');
  await outbox.pusher.start('bad', 'k');
  await begun.wait();
  const ended = (status: string, count: number) =>
    until(async () => (await scrape(registry))[`outbox_batch_total{status="${status}"}`] === count, {
      what: `${count} batches ${status}`,
    });
  await ended('failed', 1);
  expect(await scrape(registry)).toMatchObject({
    'outbox_backlog{status="waiting"}': 2,
    'outbox_backlog{status="ready"}': 0,
    'outbox_backlog{status="processing"}': 1,
    'outbox_backlog{status="done"}': 1,
    'outbox_backlog{status="failed"}': 1,
    outbox_oldest_ready_age_ms: 0,
  });
  mayEnd.open();
  await ended('done', 1);
  const values = await scrape(registry);
  expect(values).toMatchObject({
    'outbox_task_total{result="done"}': 3,
    'outbox_task_total{result="retried"}': 1,
    'outbox_task_total{result="failed"}': 1,
    'outbox_task_total{result="skipped"}': 1,
    'outbox_task_total{result="lost"}': 0,
    'outbox_backlog{status="waiting"}': 0,
    'outbox_backlog{status="failed"}': 1,
    outbox_lease_expired_total: 0,
    outbox_task_duration_ms_count: 5,
  });
});

it('outbox OB-9: the age of the oldest task that can run grows while nobody runs it', async () => {
  const schema = 'idle';
  await migrateOutbox(database, { schema });
  const dags = [defineDag('d', { a: task({ run: () => 1 }), b: task({ after: ['a'], run: () => 1 }) })];
  await using outbox = new Outbox({ database, schema, dags, poll: false });
  const registry = new Registry();
  registerMetrics(registry, outbox);
  await outbox.start();
  await outbox.pusher.start('d', 'k');
  const ages: number[] = [];
  for (const _ of [1, 2]) {
    const values = await scrape(registry);
    expect(values).toMatchObject({
      'outbox_backlog{status="waiting"}': 1,
      'outbox_backlog{status="ready"}': 1,
    });
    ages.push(values.outbox_oldest_ready_age_ms as number);
  }
  expect(ages[0]).toBeGreaterThan(0);
  expect(ages[1]).toBeGreaterThan(ages[0] as number);
});
