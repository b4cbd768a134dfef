import { latch, ManualClock } from '@millrace/testkit';
import { type OpenMetricsContentType, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { OrchestratorEvents } from '../../src/events.js';
import { type MetricsOptions, registerMetrics } from '../../src/metrics/index.js';
import { OpId } from '../../src/op-id.js';
import type { OpenCounts, OperationCounts } from '../../src/ports.js';
import { scrape } from './scraping.js';

const SEEN: OperationCounts = {
  byState: { PENDING: 1, IN_PROGRESS: 2, COMPLETED: 3, FAILED: 4 },
  deadLetters: 5,
  oldestDueMs: 6.5,
};
const opId = OpId.of('018f0000-0000-7000-8000-000000000000');

const OPEN: OpenCounts = { byState: { PENDING: 1, IN_PROGRESS: 2 }, oldestDueMs: 6.5 };

/** An orchestrator as metrics see it. */
function measured(
  counts: () => Promise<OperationCounts> = async () => SEEN,
  openCounts: () => Promise<OpenCounts> = async () => OPEN,
) {
  const events = new OrchestratorEvents();
  const clock = new ManualClock();
  const registry = new Registry();
  const register = (options: MetricsOptions = {}) =>
    registerMetrics(registry, { events, operations: { counts, openCounts } }, { clock, ...options });
  return { events, clock, registry, register };
}

describe('orchestrator NFR-4: metrics', () => {
  it('orchestrator NFR-4: submits, fast ones and converted ones are counted by route, with their latency', async () => {
    const { events, registry, register } = measured();
    register();
    for (const _ of [1, 2, 3]) events.emit('submitted', { route: 'A.B' });
    events.emit('submitted', { route: 'C.D' });
    events.emit('fast', { route: 'A.B', opId, elapsedMs: 3 });
    events.emit('fast', { route: 'A.B', opId, elapsedMs: 199 });
    events.emit('converted', { route: 'A.B', opId, elapsedMs: 201 });
    events.emit('converted', { route: 'C.D', opId, elapsedMs: 5_001 });
    expect(await scrape(registry)).toMatchObject({
      'orchestrator_submit_count{route="A.B"}': 3,
      'orchestrator_submit_count{route="C.D"}': 1,
      'orchestrator_fast_path_completed{route="A.B"}': 2,
      'orchestrator_async_converted{route="A.B"}': 1,
      'orchestrator_async_converted{route="C.D"}': 1,
      'orchestrator_latency_bucket{le="2",route="A.B"}': 0,
      'orchestrator_latency_bucket{le="5",route="A.B"}': 1,
      'orchestrator_latency_bucket{le="200",route="A.B"}': 2,
      'orchestrator_latency_bucket{le="220",route="A.B"}': 3,
      'orchestrator_latency_sum{route="A.B"}': 403,
      'orchestrator_latency_bucket{le="5000",route="C.D"}': 0,
      'orchestrator_latency_bucket{le="+Inf",route="C.D"}': 1,
    });
  });

  it('orchestrator NFR-4: refusals by code and repairs by who did them; both begin visible where they are known', async () => {
    const { events, registry, register } = measured();
    register({ routes: ['A.B'] });
    expect(await scrape(registry)).toMatchObject({
      'orchestrator_submit_count{route="A.B"}': 0,
      'orchestrator_fast_path_completed{route="A.B"}': 0,
      'orchestrator_async_converted{route="A.B"}': 0,
      'orchestrator_repair_count{by="finalizer"}': 0,
      'orchestrator_repair_count{by="reaper"}': 0,
      'orchestrator_repair_count{by="runner"}': 0,
      'orchestrator_repair_count{by="watcher"}': 0,
    });
    events.emit('refused', { route: 'A.B', code: 'RATE_LIMIT' });
    events.emit('repaired', { by: 'reaper', opId, became: 'released' });
    events.emit('repaired', { by: 'reaper', opId, became: 'failed' });
    events.emit('repaired', { by: 'finalizer', opId, became: 'FAILED' });
    expect(await scrape(registry)).toMatchObject({
      'orchestrator_refused_count{code="RATE_LIMIT"}': 1,
      'orchestrator_repair_count{by="reaper"}': 2,
      'orchestrator_repair_count{by="finalizer"}': 1,
      'orchestrator_repair_count{by="runner"}': 0,
    });
  });

  it('orchestrator NFR-4: names that callers make up do not fill the memory', async () => {
    const known = measured();
    known.register({ routes: ['A.B'] });
    const open = measured();
    open.register();
    for (let index = 0; index < 1_010; index++)
      for (const { events } of [known, open]) events.emit('submitted', { route: `X.R${index}` });
    expect(await scrape(known.registry)).toMatchObject({ 'orchestrator_submit_count{route="other"}': 1_010 });
    const lines = await scrape(open.registry);
    expect(lines['orchestrator_submit_count{route="other"}']).toBe(10);
    expect(Object.keys(lines).filter((name) => name.startsWith('orchestrator_submit_count'))).toHaveLength(
      1_001,
    );
  });

  it('orchestrator NFR-4: what is in the store is read with one question of a kind at each scrape', async () => {
    const asked: string[] = [];
    const { registry, register } = measured(
      async () => {
        asked.push('counts');
        return SEEN;
      },
      async () => {
        asked.push('openCounts');
        return OPEN;
      },
    );
    register();
    expect(await scrape(registry)).toMatchObject({
      'orchestrator_operations{state="PENDING"}': 1,
      'orchestrator_operations{state="IN_PROGRESS"}': 2,
      'orchestrator_operations{state="COMPLETED"}': 3,
      'orchestrator_operations{state="FAILED"}': 4,
      orchestrator_dead_letters: 5,
      orchestrator_oldest_due_ms: 6.5,
    });
    expect(asked.toSorted()).toEqual(['counts', 'openCounts']);
  });

  it('orchestrator NFR-4: what has ended is counted once a minute, however often it is scraped and whether or not it works', async () => {
    let now = SEEN;
    let counted = 0;
    let isAway = false;
    const { clock, registry, register } = measured(
      async () => {
        counted++;
        if (isAway) throw new Error('away');
        return now;
      },
      async () => now,
    );
    register();
    await scrape(registry);
    now = {
      byState: { PENDING: 11, IN_PROGRESS: 12, COMPLETED: 13, FAILED: 14 },
      deadLetters: 15,
      oldestDueMs: 16,
    };
    await clock.advance(59_999);
    expect(await scrape(registry)).toMatchObject({
      'orchestrator_operations{state="PENDING"}': 11,
      'orchestrator_operations{state="IN_PROGRESS"}': 12,
      'orchestrator_operations{state="COMPLETED"}': 3,
      'orchestrator_operations{state="FAILED"}': 4,
      orchestrator_dead_letters: 5,
      orchestrator_oldest_due_ms: 16,
    });
    expect(counted).toBe(1);
    isAway = true;
    for (const ms of [1, 59_999]) {
      await clock.advance(ms);
      expect(await scrape(registry)).toMatchObject({ orchestrator_dead_letters: 5 });
    }
    expect(counted).toBe(2);
    isAway = false;
    await clock.advance(1);
    expect(await scrape(registry)).toMatchObject({
      'orchestrator_operations{state="COMPLETED"}': 13,
      orchestrator_dead_letters: 15,
    });
    expect(counted).toBe(3);
  });

  it('orchestrator NFR-4: a count that takes longer than a minute is waited for, not asked again', async () => {
    const answer = latch<OperationCounts>('the store has counted');
    let counted = 0;
    const { clock, registry, register } = measured(() => {
      counted++;
      return answer.promise;
    });
    register();
    for (const ms of [1_000, 120_000]) {
      const scraping = scrape(registry);
      await clock.advance(ms);
      expect(await scraping).toMatchObject({ orchestrator_oldest_due_ms: 6.5 });
    }
    expect(counted).toBe(1);
    answer.open(SEEN);
    await clock.advance(0);
    expect(await scrape(registry)).toMatchObject({ orchestrator_dead_letters: 5 });
    expect(counted).toBe(1);
  });

  it('orchestrator NFR-4: a store that is away breaks no scrape: no line before the first look, then the last values', async () => {
    const answer = latch<OperationCounts>('the store answers');
    const { clock, registry, register } = measured(
      () => answer.promise,
      () => answer.promise,
    );
    register();
    const scraping = scrape(registry);
    await clock.advance(1_000);
    const lines = await scraping;
    expect(Object.keys(lines).filter((name) => /operations|dead|due/.test(name))).toEqual([]);
    expect(lines).toMatchObject({ 'orchestrator_repair_count{by="reaper"}': 0 });
    answer.open(SEEN);
    await clock.advance(0);
    expect(await scrape(registry)).toMatchObject({ orchestrator_dead_letters: 5 });
  });

  it('orchestrator NFR-4: a registry has one orchestrator; what it returns takes everything out again', async () => {
    const { events, registry, register } = measured();
    const unregister = register();
    expect(register).toThrow('already been registered');
    unregister();
    expect(registry.getMetricsAsArray()).toEqual([]);
    events.emit('submitted', { route: 'A.B' });
    register();
    expect(await scrape(registry)).not.toHaveProperty('orchestrator_submit_count{route="A.B"}');
  });

  it('orchestrator NFR-4: OpenMetrics is served too', async () => {
    const registry = new Registry<OpenMetricsContentType>();
    registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    const events = new OrchestratorEvents();
    const operations = { counts: async () => SEEN, openCounts: async () => OPEN };
    registerMetrics(registry, { events, operations }, { routes: ['A.B'] });
    expect(await scrape(registry)).toMatchObject({ orchestrator_dead_letters: 5 });
  });
});
