import { readFileSync } from 'node:fs';
import { ERRORS as DATABASE_ERRORS } from '@millrace/postgres';
import { latch, ManualClock } from '@millrace/testkit';
import { type OpenMetricsContentType, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { type BacklogView, OutboxEvents, type VacuumWatch } from '../../src/index.js';
import { registerMetrics } from '../../src/metrics/index.js';
import { scrape } from './scraping.js';

/** As the specification lists them. */
const METRICS = {
  'outbox_backlog{status}': 'gauge',
  outbox_task_duration_ms: 'histogram',
  'outbox_task_total{result}': 'counter',
  'outbox_batch_total{status}': 'counter',
  outbox_lease_expired_total: 'counter',
  outbox_oldest_ready_age_ms: 'gauge',
  outbox_oldest_transaction_age_ms: 'gauge',
} as const;
const NAMES = Object.keys(METRICS).map((name) => name.replace(/\{.*/, ''));
const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

const SEEN: BacklogView = {
  ...{ waiting: 1, ready: 2, processing: 3, done: 4, failed: 5, skipped: 6, cancelled: 7 },
  oldestReadyAgeMs: 1234.5,
};

/** Metrics of an outbox whose database says what the test wants. */
function measured(
  backlog: () => Promise<BacklogView> = async () => SEEN,
  look: VacuumWatch['look'] = async () => ({ ageMs: 42, holder: undefined }),
) {
  const clock = new ManualClock();
  const events = new OutboxEvents();
  const registry = new Registry();
  const vacuum = { look };
  const outbox = { events, batches: { backlog }, vacuum };
  return { clock, events, registry, register: () => registerMetrics(registry, outbox, { clock }) };
}

describe('outbox: registerMetrics', () => {
  it('outbox: registers every metric of the specification once, with its type and a help text', async () => {
    const { registry, register } = measured();
    register();
    const text = await registry.metrics();
    const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]);
    expect(types.toSorted()).toEqual(
      Object.entries(METRICS)
        .map(([name, type]) => [name.replace(/\{.*/, ''), type])
        .toSorted(),
    );
    const helps = [...text.matchAll(/^# HELP (\S+) (.{10,})$/gm)].map(([, name]) => name);
    expect(helps.toSorted()).toEqual(NAMES.toSorted());
  });

  it('outbox: the README lists these metrics and no other', () => {
    const [, section = ''] = /\n## Metrics\n([\s\S]*?)(?=\n## |$)/.exec(README) ?? [];
    const rows = section.split('\n').filter((line) => line.startsWith('| `'));
    const listed = rows.map((row) => {
      const [, name = '', type = ''] = row.split('|').map((cell) => cell.trim());
      return [name.replaceAll('`', ''), type];
    });
    expect(listed.toSorted()).toEqual(Object.entries(METRICS).toSorted());
  });

  it('outbox OB-9: the backlog by state, with what waits apart from what can run', async () => {
    const { registry, register } = measured();
    register();
    expect(await scrape(registry)).toMatchObject({
      'outbox_backlog{status="waiting"}': 1,
      'outbox_backlog{status="ready"}': 2,
      'outbox_backlog{status="processing"}': 3,
      'outbox_backlog{status="done"}': 4,
      'outbox_backlog{status="failed"}': 5,
      'outbox_backlog{status="skipped"}': 6,
      'outbox_backlog{status="cancelled"}': 7,
      outbox_oldest_ready_age_ms: 1234.5,
      outbox_oldest_transaction_age_ms: 42,
    });
  });

  it('outbox: what happens is counted, each by what came of it; durations of what was run and written', async () => {
    const { events, registry, register } = measured();
    register();
    const before = await scrape(registry);
    expect(before).toMatchObject({
      'outbox_task_total{result="lost"}': 0,
      'outbox_batch_total{status="aborted"}': 0,
      outbox_lease_expired_total: 0,
      outbox_task_duration_ms_count: 0,
    });
    const handler = 'd.a';
    for (const [result, durationMs] of [
      ['done', 1],
      ['done', 3],
      ['retried', 100],
      ['failed', 5_000_000],
      ['skipped', 0],
      ['lost', 10],
      ['returned', 10],
    ] as const)
      events.emit('task', { handler, result, durationMs, tenant: '', batchId: '1', taskKey: 'a' });
    for (const status of ['DONE', 'DONE', 'FAILED', 'ABORTED'] as const)
      events.emit('batch', { id: '1', tenant: '', dag: 'd', bizKey: 'k', status });
    events.emit('lease-expired', { count: 3 });
    expect(await scrape(registry)).toMatchObject({
      'outbox_task_total{result="done"}': 2,
      'outbox_task_total{result="retried"}': 1,
      'outbox_task_total{result="failed"}': 1,
      'outbox_task_total{result="skipped"}': 1,
      'outbox_task_total{result="lost"}': 1,
      'outbox_task_total{result="returned"}': 1,
      'outbox_batch_total{status="done"}': 2,
      'outbox_batch_total{status="failed"}': 1,
      'outbox_batch_total{status="aborted"}': 1,
      outbox_lease_expired_total: 3,
      'outbox_task_duration_ms_bucket{le="1"}': 1,
      'outbox_task_duration_ms_bucket{le="4"}': 2,
      'outbox_task_duration_ms_bucket{le="4194304"}': 3,
      'outbox_task_duration_ms_bucket{le="+Inf"}': 4,
      outbox_task_duration_ms_sum: 5_000_104,
    });
    expect(await registry.metrics()).not.toContain(handler);
  });

  it('outbox: a registry has one outbox; a second one is refused and leaves the first as it is', async () => {
    const { registry, register } = measured();
    const unregister = register();
    expect(register).toThrow('already been registered');
    registry.removeSingleMetric('outbox_batch_total');
    expect(register).toThrow('already been registered');
    expect(registry.getMetricsAsArray()).toHaveLength(NAMES.length - 1);
    unregister();
    expect(registry.getMetricsAsArray()).toEqual([]);
  });

  it('outbox: what it returns takes them out again and ends the counting; others of their names stay', async () => {
    const { events, registry, register } = measured();
    const unregister = register();
    unregister();
    expect(registry.getMetricsAsArray()).toEqual([]);
    events.emit('lease-expired', { count: 1 });
    register();
    unregister();
    expect(await scrape(registry)).toMatchObject({ outbox_lease_expired_total: 0 });
    events.emit('lease-expired', { count: 1 });
    expect(await scrape(registry)).toMatchObject({ outbox_lease_expired_total: 1 });
  });

  it('outbox: OpenMetrics is served too', async () => {
    const registry = new Registry<OpenMetricsContentType>();
    registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    const outbox = {
      ...{ events: new OutboxEvents(), batches: { backlog: async () => SEEN } },
      vacuum: { look: async () => undefined },
    };
    const unregister = registerMetrics(registry, outbox);
    expect(await scrape(registry)).toMatchObject({
      'outbox_task_total{result="done"}': 0,
      'outbox_backlog{status="ready"}': 2,
    });
    unregister();
    expect(registry.getMetricsAsArray()).toEqual([]);
  });
});

describe('outbox: gauges while the database is away', () => {
  const unavailable = () =>
    DATABASE_ERRORS.create('BACKEND_UNAVAILABLE', { what: 'a query', reason: 'away' } as never);

  it('outbox OB-9: one query serves a scrape, and each scrape asks anew; nothing that can run has age 0', async () => {
    let looks = 0;
    const { registry, register } = measured(async () => {
      looks++;
      return { ...SEEN, oldestReadyAgeMs: looks === 1 ? 5 : undefined };
    });
    register();
    expect(await scrape(registry)).toMatchObject({ outbox_oldest_ready_age_ms: 5 });
    expect(looks).toBe(1);
    expect(await scrape(registry)).toMatchObject({ outbox_oldest_ready_age_ms: 0 });
    expect(looks).toBe(2);
  });

  it('outbox: it breaks no scrape: the last values stay, and there is no line before the first', async () => {
    let isAway = true;
    const answer = async <T>(value: T): Promise<T> => {
      if (isAway) throw unavailable();
      return value;
    };
    const { registry, register } = measured(
      () => answer(SEEN),
      () => answer({ ageMs: 42, holder: undefined }),
    );
    register();
    const before = await scrape(registry);
    expect(Object.keys(before).filter((name) => /backlog|oldest/.test(name))).toEqual([]);
    expect(before).toMatchObject({ outbox_lease_expired_total: 0 });
    isAway = false;
    await scrape(registry);
    isAway = true;
    expect(await scrape(registry)).toMatchObject({
      'outbox_backlog{status="ready"}': 2,
      outbox_oldest_ready_age_ms: 1234.5,
      outbox_oldest_transaction_age_ms: 42,
    });
  });

  it('outbox: one that hangs costs a scrape one second, is asked once, and its late answer counts', async () => {
    const answer = latch('the database answers');
    let looks = 0;
    const { clock, registry, register } = measured(async () => {
      looks++;
      await answer.promise;
      return SEEN;
    });
    register();
    for (const _ of [1, 2]) {
      let served: Readonly<Record<string, number>> | undefined;
      const scraping = scrape(registry).then((lines) => {
        served = lines;
      });
      await clock.advance(999);
      expect(served).toBeUndefined();
      await clock.advance(1);
      await scraping;
      expect(served).toMatchObject({ outbox_lease_expired_total: 0 });
      expect(served).not.toHaveProperty('outbox_oldest_ready_age_ms');
    }
    expect(looks).toBe(1);
    answer.open();
    await clock.advance(0);
    expect(await scrape(registry)).toMatchObject({ 'outbox_backlog{status="ready"}': 2 });
    expect(looks).toBe(2);
    expect(clock.pendingTimers).toBe(0);
  });
});
