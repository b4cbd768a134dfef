import type { MetricsRegistry } from '@millrace/foundation/metrics';
import { latch, ManualClock } from '@millrace/testkit';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { OrchestratorEvents } from '../src/events.js';
import { inline, MemoryOperationStore, OrchestratorService, RouteExecutor } from '../src/index.js';
import { registerMetrics } from '../src/metrics.js';
import { OpId } from '../src/op-id.js';

const COUNTS = {
  byState: { PENDING: 1, IN_PROGRESS: 2, COMPLETED: 3, FAILED: 4 },
  deadLetters: 5,
  oldestDueMs: 6.5,
};

/** The lines of a scrape without comments: `name{labels}` → value. */
async function scrape(registry: MetricsRegistry): Promise<Readonly<Record<string, number>>> {
  const lines = (await registry.metrics()).split('\n').filter((line) => line && !line.startsWith('#'));
  return Object.fromEntries(lines.map((line) => [line.replace(/ \S+$/, ''), Number(/\S+$/.exec(line)?.[0])]));
}

it('orchestrator NFR-4: shows what is answered fast, converted and rejected, and what is in the store', async () => {
  const mayEnd = latch('the slow work may end');
  const routes = { 'A.QUICK': inline(() => 1), 'A.SLOW': inline(() => mayEnd.promise) };
  const executor = new RouteExecutor({ routes });
  await using orchestrator = new OrchestratorService({ executor, store: new MemoryOperationStore() });
  const registry = new Registry();
  registerMetrics(registry, orchestrator, { routes: executor.routeNames, clock: new ManualClock() });
  await orchestrator.start();
  const command = (eventType: string) => ({ domain: 'A', eventType, bizKey: 'k' });
  for (const _ of [1, 2]) await orchestrator.submit(command('QUICK'), 5_000);
  await orchestrator.submit(command('SLOW'), 50);
  await expect(orchestrator.submit(command('NONE'))).rejects.toThrow('not found');
  const opId = OpId.of('018f0000-0000-7000-8000-000000000000');
  orchestrator.events.emit('repaired', { by: 'reaper', opId, became: 'released' });
  orchestrator.events.emit('submitted', { route: 'A.INVENTED' });
  expect(await scrape(registry)).toMatchObject({
    'orchestrator_submit_count{route="A.QUICK"}': 2,
    'orchestrator_submit_count{route="A.SLOW"}': 1,
    'orchestrator_submit_count{route="other"}': 1,
    'orchestrator_fast_path_completed{route="A.QUICK"}': 2,
    'orchestrator_fast_path_completed{route="A.SLOW"}': 0,
    'orchestrator_async_converted{route="A.QUICK"}': 0,
    'orchestrator_async_converted{route="A.SLOW"}': 1,
    'orchestrator_refused_count{code="ROUTE_NOT_FOUND"}': 1,
    'orchestrator_latency_count{route="A.QUICK"}': 2,
    'orchestrator_latency_bucket{le="25",route="A.SLOW"}': 0,
    'orchestrator_latency_bucket{le="+Inf",route="A.SLOW"}': 1,
    'orchestrator_operations{state="IN_PROGRESS"}': 1,
    'orchestrator_operations{state="COMPLETED"}': 2,
    orchestrator_dead_letters: 0,
    'orchestrator_repair_count{by="finalizer"}': 0,
    'orchestrator_repair_count{by="reaper"}': 1,
    'orchestrator_repair_count{by="runner"}': 0,
    'orchestrator_repair_count{by="watcher"}': 0,
  });
  mayEnd.open();
});

it('orchestrator NFR-4: counts open operations at each scrape and all of them once a minute', async () => {
  const reads = { counts: 0, openCounts: 0 };
  const operations = {
    counts: async () => ({ ...COUNTS, deadLetters: ++reads.counts }),
    openCounts: async () => ({ ...COUNTS, oldestDueMs: ++reads.openCounts }),
  };
  const [registry, clock] = [new Registry(), new ManualClock()];
  registerMetrics(registry, { events: new OrchestratorEvents(), operations }, { clock });
  expect(await scrape(registry)).toMatchObject({
    'orchestrator_operations{state="PENDING"}': 1,
    'orchestrator_operations{state="IN_PROGRESS"}': 2,
    'orchestrator_operations{state="COMPLETED"}': 3,
    'orchestrator_operations{state="FAILED"}': 4,
  });
  await clock.advance(59_999);
  expect(await scrape(registry)).toMatchObject({
    orchestrator_dead_letters: 1,
    orchestrator_oldest_due_ms: 2,
  });
  await clock.advance(1);
  expect(await scrape(registry)).toMatchObject({
    orchestrator_dead_letters: 2,
    orchestrator_oldest_due_ms: 3,
  });
});

it('orchestrator NFR-4: shows no counts, and all else, while the store does not answer', async () => {
  const never = () => new Promise<never>(() => {});
  const operations = { counts: never, openCounts: never };
  const [registry, clock] = [new Registry(), new ManualClock()];
  registerMetrics(registry, { events: new OrchestratorEvents(), operations }, { clock });
  const scraping = scrape(registry);
  await clock.advance(1_000);
  const names = Object.keys(await scraping);
  expect(names.filter((name) => /operations|dead|due/.test(name))).toEqual([]);
  expect(names).toContain('orchestrator_repair_count{by="reaper"}');
});

it('orchestrator NFR-4: limits the labels that route names of callers can make', async () => {
  const events = new OrchestratorEvents();
  const operations = { counts: async () => COUNTS, openCounts: async () => COUNTS };
  const registry = new Registry();
  registerMetrics(registry, { events, operations });
  for (let index = 0; index < 1_010; index++) events.emit('submitted', { route: `X.R${index}` });
  const lines = await scrape(registry);
  expect(lines['orchestrator_submit_count{route="other"}']).toBe(10);
  expect(Object.keys(lines).filter((name) => name.startsWith('orchestrator_submit'))).toHaveLength(1_001);
});
