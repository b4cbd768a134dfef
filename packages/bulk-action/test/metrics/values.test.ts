import { NonRetryableError, seededRng, sleep } from '@millrace/foundation';
import { latch, ManualClock } from '@millrace/testkit';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import {
  BulkActionEngine,
  type BulkStore,
  type JobProcessor,
  MemoryStore,
  resolveBulkActionConfig,
} from '../../src/index.js';
import { registerMetrics } from '../../src/metrics/index.js';
import { aroundCall, unavailable } from '../pool/bench.js';
import { type Line, scrape, valuesOf } from './scraping.js';

const CONFIG = {
  workerPool: { workerCount: 6, maxRetryCount: 1, abortGraceMs: 100 },
  reliableQueue: { ackTimeoutMs: 3000, orphanRecoveryIntervalMs: 1000 },
};

/** A processor for each thing that can come of a job; a handler of `slow` ends when it is let go. */
function processorsOf(clock: ManualClock, letGo: Promise<void>): readonly JobProcessor[] {
  return [
    { type: 'fine', process: () => 'done' },
    {
      type: 'flaky',
      process: (_, { attempt }) => {
        if (attempt === 1) throw new Error('not this time');
      },
    },
    {
      type: 'broken',
      process: () => {
        throw new Error('never');
      },
    },
    {
      type: 'refused',
      process: () => {
        throw new NonRetryableError('no such mailbox');
      },
    },
    { type: 'slow', timeoutMs: 500, retry: { retries: 0 }, process: () => letGo },
    {
      // Its first try outlives its lease: see `deaf`.
      type: 'late',
      process: async (_, { attempt }) => {
        if (attempt === 1) await sleep(clock, 5000);
      },
    },
  ];
}

/** A store that renews no lease. */
const deaf = (store: BulkStore): BulkStore =>
  aroundCall(store, 'leases', 'renew', () => Promise.reject(unavailable()));

/** An engine that has met everything that is counted: 9 jobs of 7 groups, one of them left by a process that died. */
async function eventfulRun() {
  const clock = new ManualClock();
  const slowEnds = latch('the slow handler ends');
  const memory = new MemoryStore(resolveBulkActionConfig(CONFIG), { clock });
  const engine = new BulkActionEngine({
    clock,
    rng: seededRng('metrics'),
    config: CONFIG,
    store: deaf(memory),
    processors: processorsOf(clock, slowEnds.promise),
  });
  const registry = new Registry();
  registerMetrics(registry, engine, { clock });
  const submit = (id: string, types: readonly string[]) =>
    engine.service.submitBulk(
      { id, tenant: 'acme' },
      types.map((processorType) => ({ processorType })),
    );
  await submit('orphaned', ['fine']);
  await memory.leases.reserve({ instanceId: 'died', seq: 1, max: 1, turns: 1 });
  await engine.start();
  await submit('good', ['fine', 'fine', 'fine']);
  for (const type of ['flaky', 'broken', 'refused', 'slow', 'late']) await submit(type, [type]);
  return { clock, engine, registry, slowEnds };
}

const bucketsOf = (lines: readonly Line[], name: string) =>
  lines
    .filter((line) => line.name === `${name}_bucket`)
    .map(({ labels, value }) => [labels.le, value] as const);

describe('values', () => {
  it('bulk-action BA-16: successes, failures, retries, dead letters, timeouts, orphans and late results are counted', async () => {
    const { clock, engine, registry, slowEnds } = await eventfulRun();
    await clock.advance(700);
    const early = valuesOf(await scrape(registry));
    // The handler of `slow` does not end; `late` runs, and the orphan's lease has not expired.
    expect(early).toMatchObject({
      bulk_action_abandoned: 1,
      bulk_action_in_flight: 2,
      bulk_action_worker_pool_size: 6,
      bulk_action_worker_pool_active: 6,
      bulk_action_worker_pool_idle: 5,
    });
    await clock.advance(60_000);
    slowEnds.open();
    await clock.advance(0);
    const values = valuesOf(await scrape(registry));
    expect(values).toMatchObject({
      bulk_action_worker_job_success_total: 6,
      bulk_action_worker_job_failed_total: 3,
      bulk_action_worker_job_timeout_total: 1,
      bulk_action_worker_job_retry_total: 2,
      bulk_action_worker_dead_letter_total: 2,
      bulk_action_orphans_recovered_total: 2,
      bulk_action_late_ack_total: 1,
      bulk_action_rate_limit_denied_total: 0,
      bulk_action_repaired_total: 0,
      bulk_action_abandoned: 0,
      bulk_action_ready_queue_size: 0,
      bulk_action_non_ready_queue_size: 0,
      bulk_action_in_flight: 0,
      bulk_action_fair_queue_groups: 0,
      bulk_action_oldest_waiting_ms: 0,
      bulk_action_worker_pool_idle: 6,
      // Two retries and two orphans came back through non-ready.
      bulk_action_dispatcher_total_moved: 4,
      bulk_action_dispatcher_total_skipped: 0,
    });
    const { fetcherStats } = engine.pool.getPoolStatus();
    expect(values).toMatchObject({
      bulk_action_fetcher_total_fetched: fetcherStats.totalFetched,
      bulk_action_fetcher_empty_polls: fetcherStats.totalEmptyPolls,
      bulk_action_fetcher_admitted_ready: fetcherStats.totalAdmittedReady,
      bulk_action_fetcher_admitted_non_ready: 0,
    });
    expect(fetcherStats.totalEmptyPolls).toBeGreaterThan(0);
    await engine.stop();
    expect(valuesOf(await scrape(registry))).toMatchObject({ bulk_action_worker_pool_active: 0 });
  });

  it('bulk-action BA-16: histograms count every try, and each bucket all that is not longer than its bound', async () => {
    const { clock, engine, registry, slowEnds } = await eventfulRun();
    await clock.advance(60_000);
    const lines = await scrape(registry);
    const values = valuesOf(lines);
    // 6 successes, 3 failures and 2 retries took no time but for `slow`: 500 ms and its grace of 100 ms.
    const durations = bucketsOf(lines, 'bulk_action_worker_job_duration_ms');
    expect(Object.fromEntries(durations)).toMatchObject({
      1: 10,
      512: 10,
      1024: 11,
      4194304: 11,
      '+Inf': 11,
    });
    expect(values).toMatchObject({
      bulk_action_worker_job_duration_ms_count: 11,
      bulk_action_worker_job_duration_ms_sum: 600,
      // And the try that came too late.
      bulk_action_job_wait_ms_count: 12,
    });
    for (const name of ['bulk_action_worker_job_duration_ms', 'bulk_action_job_wait_ms']) {
      const buckets = bucketsOf(lines, name);
      const counts = buckets.map(([, count]) => count);
      expect(buckets).toHaveLength(24);
      expect(counts).toEqual(counts.toSorted((a, b) => a - b));
      expect(buckets.at(-1)).toEqual(['+Inf', values[`${name}_count`]]);
    }
    const { waits } = engine.pool.histograms;
    expect(values.bulk_action_job_wait_ms_sum).toBe(waits.sum);
    slowEnds.open();
    await engine.stop();
  });

  it('bulk-action BA-16: a wait is measured from when the job could have started', async () => {
    const clock = new ManualClock();
    const engine = new BulkActionEngine({
      clock,
      config: { workerPool: { workerCount: 1 } },
      processors: [{ type: 'second', process: () => sleep(clock, 1000) }],
    });
    const registry = new Registry();
    registerMetrics(registry, engine, { clock });
    await engine.start();
    const jobs = Array.from({ length: 3 }, () => ({ processorType: 'second' }));
    await engine.service.submitBulk({ id: 'g' }, jobs);
    await clock.advance(1500);
    expect(valuesOf(await scrape(registry))).toMatchObject({ bulk_action_oldest_waiting_ms: 1500 });
    await clock.advance(1500);
    const lines = await scrape(registry);
    // They waited 0, 1 and 2 seconds.
    expect(Object.fromEntries(bucketsOf(lines, 'bulk_action_job_wait_ms'))).toMatchObject({
      512: 1,
      1024: 2,
      2048: 3,
    });
    expect(valuesOf(lines)).toMatchObject({
      bulk_action_job_wait_ms_sum: 3000,
      bulk_action_worker_job_duration_ms_sum: 3000,
      bulk_action_oldest_waiting_ms: 0,
    });
    await engine.stop();
  });

  it('bulk-action BA-16: no label but resource and le, and no id of a group, tenant or job anywhere', async () => {
    const { clock, engine, registry, slowEnds } = await eventfulRun();
    await clock.advance(60_000);
    const text = await registry.metrics();
    const labels = new Set((await scrape(registry)).flatMap((line) => Object.keys(line.labels)));
    expect([...labels]).toEqual(['le']);
    for (const id of ['acme', 'orphaned', 'flaky', 'worker-1', engine.pool.instanceId])
      expect(text).not.toContain(id);
    slowEnds.open();
    await engine.stop();
  });
});
