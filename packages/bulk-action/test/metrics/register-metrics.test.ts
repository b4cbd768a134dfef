import { readFileSync } from 'node:fs';
import { latch, ManualClock } from '@millrace/testkit';
import { type OpenMetricsContentType, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { BulkActionEngine } from '../../src/index.js';
import { type MeasuredEngine, registerMetrics } from '../../src/metrics/index.js';
import type { QueuesView } from '../../src/model.js';
import { unavailable } from '../pool/bench.js';
import { METRICS } from './names.js';
import { scrape, valuesOf } from './scraping.js';

const NAMES = Object.keys(METRICS);
const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** An engine that nobody starts, with something around its look at the queues. */
function measured(around: (look: () => Promise<QueuesView>) => Promise<QueuesView> = (look) => look()) {
  const clock = new ManualClock();
  const { config, pool, store } = new BulkActionEngine({ clock });
  const engine: MeasuredEngine = {
    config,
    pool,
    store: { views: { queues: () => around(() => store.views.queues()) } },
  };
  const registry = new Registry();
  return { clock, engine, store, registry, register: () => registerMetrics(registry, engine, { clock }) };
}

/** Two groups of one job, in two lanes. */
async function fillLanes({ store }: ReturnType<typeof measured>): Promise<void> {
  for (const id of ['a', 'b']) {
    const definition = {
      key: `/${id}`,
      tenant: '',
      tenantId: id,
      weight: 1,
      priorityLevel: 'normal' as const,
      timeoutMs: 1000,
      traceparent: '',
    };
    await store.groups.add(definition, [{ id: 'j', processorType: 'T', payload: '1', cost: 1 }], 1);
  }
}

describe('registerMetrics', () => {
  it('bulk-action BA-16: registers every metric of the specification once, with its type and a help text', async () => {
    const { registry, register } = measured();
    register();
    const text = await registry.metrics();
    const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]);
    expect(types.toSorted()).toEqual(Object.entries(METRICS).toSorted());
    const helps = [...text.matchAll(/^# HELP (\S+) (.{10,})$/gm)].map(([, name]) => name);
    expect(helps.toSorted()).toEqual(NAMES.toSorted());
    expect(
      registry
        .getMetricsAsArray()
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(NAMES.toSorted());
  });

  it('bulk-action BA-16: the README lists these metrics and no other', () => {
    const [, section = ''] = /\n## Metrics\n([\s\S]*?)(?=\n## |$)/.exec(README) ?? [];
    const rows = section.split('\n').filter((line) => line.startsWith('| `'));
    const listed = rows.flatMap((row) => {
      const [, names = '', type = ''] = row.split('|');
      return [...names.matchAll(/`(\w+)(?:\{resource\})?`/g)].map(([, name]) => [name, type.trim()]);
    });
    expect(listed.toSorted()).toEqual(Object.entries(METRICS).toSorted());
  });

  it('bulk-action BA-16: a registry has one engine; a second one is refused and leaves the first as it is', async () => {
    const first = measured();
    first.register();
    const { engine } = measured();
    expect(() => registerMetrics(first.registry, engine)).toThrow('already been registered');
    expect(valuesOf(await scrape(first.registry))).toMatchObject({ bulk_action_ready_queue_size: 0 });
    const taken = new Registry();
    const unregister = registerMetrics(taken, engine);
    taken.removeSingleMetric('bulk_action_in_flight');
    expect(() => registerMetrics(taken, engine)).toThrow('already been registered');
    expect(taken.getMetricsAsArray()).toHaveLength(NAMES.length - 1);
    unregister();
    expect(taken.getMetricsAsArray()).toEqual([]);
  });

  it('bulk-action BA-16: what it returns takes them out again, and they can be registered anew', async () => {
    const { registry, register } = measured();
    const unregister = register();
    unregister();
    expect(registry.getMetricsAsArray()).toEqual([]);
    register();
    unregister();
    expect(registry.getMetricsAsArray()).toHaveLength(NAMES.length);
    registry.resetMetrics();
    expect(await scrape(registry)).not.toEqual([]);
  });

  it('bulk-action BA-16: OpenMetrics and JSON are served too', async () => {
    const { engine } = measured();
    const registry = new Registry<OpenMetricsContentType>();
    registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    const unregister = registerMetrics(registry, engine);
    const text = await registry.metrics();
    expect(text).toContain('\nbulk_action_worker_job_success_total 0\n');
    expect(text).toContain('\nbulk_action_job_wait_ms_count 0\n');
    expect((await registry.getMetricsAsJSON()).length).toBe(NAMES.length);
    unregister();
    expect(registry.getMetricsAsArray()).toEqual([]);
  });

  it('bulk-action BA-16: each count of the pool and of the queues goes to its own metric', async () => {
    const { engine, registry } = measured(async (look) => ({
      ...(await look()),
      ...{ ready: 21, nonReady: 22, inFlight: 23, groups: 24, oldestWaitingMs: 25 },
    }));
    const status = engine.pool.getPoolStatus();
    const counts = {
      ...{ success: 1, failed: 2, timeouts: 3, retries: 4, deadLetters: 5, rateDenied: 6, lateAcks: 7 },
      ...{ orphansRecovered: 8, repaired: 9 },
    };
    const pool: MeasuredEngine['pool'] = {
      counters: { ...engine.pool.counters, ...counts },
      histograms: engine.pool.histograms,
      abandoned: 10,
      getPoolStatus: () => ({
        ...status,
        ...{ workerCount: 11, activeWorkers: 12, idleWorkers: 13 },
        fetcherStats: {
          ...{ totalFetched: 14, totalAdmittedReady: 15, totalAdmittedNonReady: 16 },
          ...{ totalRejected: 99, totalEmptyPolls: 17 },
        },
        dispatcherStats: { totalMoved: 18, totalCycles: 99, totalSkipped: 19 },
      }),
    };
    registerMetrics(registry, { ...engine, pool });
    const names = NAMES.filter((name) => METRICS[name] !== 'histogram' && !name.includes('congestion'));
    const values = valuesOf(await scrape(registry));
    expect(Object.fromEntries(names.map((name) => [name.replace('bulk_action_', ''), values[name]]))).toEqual(
      {
        worker_job_success_total: 1,
        worker_job_failed_total: 2,
        worker_job_timeout_total: 3,
        worker_job_retry_total: 4,
        worker_dead_letter_total: 5,
        rate_limit_denied_total: 6,
        late_ack_total: 7,
        orphans_recovered_total: 8,
        repaired_total: 9,
        abandoned: 10,
        worker_pool_size: 11,
        worker_pool_active: 12,
        worker_pool_idle: 13,
        fetcher_total_fetched: 14,
        fetcher_admitted_ready: 15,
        fetcher_admitted_non_ready: 16,
        fetcher_empty_polls: 17,
        dispatcher_total_moved: 18,
        dispatcher_total_skipped: 19,
        ready_queue_size: 21,
        non_ready_queue_size: 22,
        in_flight: 23,
        fair_queue_groups: 24,
        oldest_waiting_ms: 25,
      },
    );
  });

  it('bulk-action BA-16: a process that only hands in has no workers', async () => {
    const { config, pool, store } = new BulkActionEngine({ config: { workerPool: { enabled: false } } });
    const registry = new Registry();
    registerMetrics(registry, { config, pool, store });
    expect(valuesOf(await scrape(registry))).toMatchObject({
      bulk_action_worker_pool_size: 0,
      bulk_action_worker_pool_active: 0,
      bulk_action_worker_pool_idle: 0,
    });
  });
});

describe('gauges of the store', () => {
  it('bulk-action BA-16: one look serves all gauges of a scrape, and each scrape looks anew', async () => {
    let looks = 0;
    const world = measured((look) => {
      looks += 1;
      return look();
    });
    world.register();
    const lanes = async () => valuesOf(await scrape(world.registry)).bulk_action_fair_queue_groups;
    expect(await lanes()).toBe(0);
    expect(looks).toBe(1);
    await fillLanes(world);
    await world.clock.advance(4000);
    expect(await lanes()).toBe(2);
    expect(looks).toBe(2);
    expect(valuesOf(await scrape(world.registry))).toMatchObject({ bulk_action_oldest_waiting_ms: 4000 });
  });

  it('bulk-action BA-16: a store that is down leaves the last values, and no line before the first', async () => {
    let down = true;
    const world = measured((look) => (down ? Promise.reject(unavailable()) : look()));
    world.register();
    await fillLanes(world);
    const before = valuesOf(await scrape(world.registry));
    expect(before).not.toHaveProperty('bulk_action_fair_queue_groups');
    expect(before).toMatchObject({ bulk_action_worker_pool_size: 10 });
    down = false;
    await scrape(world.registry);
    down = true;
    expect(valuesOf(await scrape(world.registry))).toMatchObject({ bulk_action_fair_queue_groups: 2 });
  });

  it('bulk-action BA-16: a store that hangs costs a scrape one second, is asked once, and its late answer counts', async () => {
    const answer = latch('the store answers');
    let looks = 0;
    const world = measured(async (look) => {
      looks += 1;
      await answer.promise;
      return look();
    });
    world.register();
    await fillLanes(world);
    for (const _ of [1, 2]) {
      let served: Record<string, number> | undefined;
      const scraping = scrape(world.registry).then((lines) => {
        served = valuesOf(lines);
      });
      await world.clock.advance(999);
      expect(served).toBeUndefined();
      await world.clock.advance(1);
      await scraping;
      expect(served).toMatchObject({ bulk_action_worker_pool_size: 10 });
      expect(served).not.toHaveProperty('bulk_action_fair_queue_groups');
    }
    expect(looks).toBe(1);
    answer.open();
    await world.clock.advance(0);
    expect(valuesOf(await scrape(world.registry))).toMatchObject({ bulk_action_fair_queue_groups: 2 });
    expect(looks).toBe(2);
    expect(world.clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-16: the rate of each resource that has one, by its name', async () => {
    const world = measured(async (look) => ({
      ...(await look()),
      congestionRates: { MAIL: 40.5, 'a "b"': 1 },
    }));
    world.register();
    const text = await world.registry.metrics();
    expect(text).toContain('\nbulk_action_congestion_rate{resource="MAIL"} 40.5\n');
    expect(text).toContain('\nbulk_action_congestion_rate{resource="a \\"b\\""} 1\n');
  });
});
