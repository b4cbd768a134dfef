import { readFileSync } from 'node:fs';
import { ManualClock } from '@millrace/testkit';
import { Registry } from 'prom-client';
import { expect, it, vi } from 'vitest';
import { type BacklogView, OutboxEvents, type VacuumWatch } from '../src/index.js';
import { registerMetrics } from '../src/metrics.js';

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

const BACKLOG: BacklogView = {
  ...{ waiting: 1, ready: 2, processing: 3, done: 4, failed: 5, skipped: 6, cancelled: 7 },
  oldestReadyAgeMs: 1234.5,
};

/** Registers the metrics of an outbox whose database gives these values. */
function measured(backlog = async () => BACKLOG, look: VacuumWatch['look'] = async () => undefined) {
  const [clock, events, registry] = [new ManualClock(), new OutboxEvents(), new Registry()];
  const outbox = { events, batches: { backlog }, vacuum: { look } };
  const unregister = registerMetrics(registry, outbox, { clock });
  return { clock, events, registry, unregister };
}

/** The lines of a scrape that belong to `metric`. */
const scrape = async (registry: Registry, metric = '') =>
  (await registry.metrics()).split('\n').filter((line) => line.startsWith(`outbox_${metric}`));

it('outbox: registers the metrics that the README lists, and removes them', async () => {
  const { registry, unregister } = measured();
  const types = (await registry.metrics()).matchAll(/^# TYPE (\S+) (\S+)$/gm);
  const rows = README.matchAll(/^\| `(outbox_\w+)(?:\{\w+\})?` \| (\w+) \|/gm);
  const sorted = (found: Iterable<RegExpExecArray>) => Array.from(found, ([, ...row]) => row).sort();
  const registered = sorted(types);
  expect(registered).toEqual(sorted(rows));
  expect(registered).toHaveLength(7);
  unregister();
  expect(registry.getMetricsAsArray()).toEqual([]);
});

it('outbox OB-9: shows the backlog by state and the oldest transaction, with one query each', async () => {
  const backlog = vi.fn(async () => BACKLOG);
  const { registry } = measured(backlog, async () => ({ ageMs: 42, holder: undefined }));
  expect(await scrape(registry, 'backlog{')).toEqual(
    ['waiting', 'ready', 'processing', 'done', 'failed', 'skipped', 'cancelled'].map(
      (state, index) => `outbox_backlog{status="${state}"} ${index + 1}`,
    ),
  );
  expect(backlog).toHaveBeenCalledTimes(1);
  backlog.mockResolvedValue({ ...BACKLOG, oldestReadyAgeMs: undefined });
  expect(await scrape(registry, 'oldest')).toEqual([
    'outbox_oldest_ready_age_ms 0',
    'outbox_oldest_transaction_age_ms 42',
  ]);
});

it('outbox: has no line for a value it never read, and waits one second for the database', async () => {
  const { clock, registry } = measured(() => new Promise(() => {}));
  const scraping = scrape(registry);
  await clock.advance(1_000);
  expect((await scraping).filter((line) => /backlog|oldest/.test(line))).toEqual([]);
});

it('outbox: counts attempts and batches by their end from 0, and times the attempts whose end is stored', async () => {
  const { events, registry, unregister } = measured();
  expect(await scrape(registry, 'batch_total')).toEqual(
    ['done', 'failed', 'aborted'].map((status) => `outbox_batch_total{status="${status}"} 0`),
  );
  const results = ['done', 'retried', 'failed', 'skipped', 'lost', 'returned'] as const;
  for (const [power, result] of results.entries())
    events.emit('task', {
      ...{ handler: 'd.a', tenant: 't', batchId: '1', taskKey: 'a' },
      ...{ result, durationMs: 10 ** power },
    });
  for (const status of ['DONE', 'FAILED', 'ABORTED'] as const)
    events.emit('batch', { id: '1', tenant: 't', dag: 'd', bizKey: 'k', status });
  events.emit('lease-expired', { count: 3 });
  expect(await scrape(registry, 'task_total')).toEqual(
    results.map((result) => `outbox_task_total{result="${result}"} 1`),
  );
  expect(await scrape(registry, 'batch_total{status="aborted"}')).toEqual([
    'outbox_batch_total{status="aborted"} 1',
  ]);
  expect(await scrape(registry, 'task_duration_ms_')).toEqual(
    expect.arrayContaining([
      'outbox_task_duration_ms_bucket{le="8"} 1',
      'outbox_task_duration_ms_bucket{le="4194304"} 3',
      'outbox_task_duration_ms_sum 111',
      'outbox_task_duration_ms_count 3',
    ]),
  );
  const leases = registry.getSingleMetric('outbox_lease_expired_total');
  unregister();
  events.emit('lease-expired', { count: 1 });
  expect(await leases?.get()).toMatchObject({ values: [{ value: 3 }] });
});
