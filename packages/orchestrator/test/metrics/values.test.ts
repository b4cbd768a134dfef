import { latch, ManualClock } from '@millrace/testkit';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { inline, MemoryOperationStore, OrchestratorService, RouteExecutor } from '../../src/index.js';
import { registerMetrics } from '../../src/metrics/index.js';
import { scrape } from './scraping.js';

it('orchestrator NFR-4: an orchestrator at work shows what it answers fast, what it converts, and what is in its store', async () => {
  const mayEnd = latch('the slow work may end');
  const executor = new RouteExecutor({
    routes: { 'A.QUICK': inline(() => 1), 'A.SLOW': inline(() => mayEnd.promise) },
  });
  await using orchestrator = new OrchestratorService({ executor, store: new MemoryOperationStore() });
  const registry = new Registry();
  const clock = new ManualClock();
  registerMetrics(registry, orchestrator, { routes: executor.routeNames, clock });
  await orchestrator.start();
  const command = (eventType: string) => ({ domain: 'A', eventType, bizKey: 'k' });
  for (const _ of [1, 2]) await orchestrator.submit(command('QUICK'), 5_000);
  const { opId } = await orchestrator.submit(command('SLOW'), 50);
  await expect(orchestrator.submit(command('NONE'))).rejects.toThrow('no route');
  const { orchestrator_latency_sum: _, ...lines } = await scrape(registry);
  expect(lines).toMatchObject({
    'orchestrator_submit_count{route="A.QUICK"}': 2,
    'orchestrator_submit_count{route="A.SLOW"}': 1,
    'orchestrator_fast_path_completed{route="A.QUICK"}': 2,
    'orchestrator_fast_path_completed{route="A.SLOW"}': 0,
    'orchestrator_async_converted{route="A.SLOW"}': 1,
    'orchestrator_refused_count{code="ROUTE_NOT_FOUND"}': 1,
    'orchestrator_latency_count{route="A.QUICK"}': 2,
    'orchestrator_latency_count{route="A.SLOW"}': 1,
    'orchestrator_latency_bucket{le="25",route="A.SLOW"}': 0,
    'orchestrator_operations{state="IN_PROGRESS"}': 1,
    'orchestrator_operations{state="COMPLETED"}': 2,
    'orchestrator_operations{state="FAILED"}': 0,
    orchestrator_dead_letters: 0,
  });
  mayEnd.open();
  await orchestrator.operations.waitForEnd(opId, 5_000);
  await clock.advance(60_000);
  expect(await scrape(registry)).toMatchObject({ 'orchestrator_operations{state="COMPLETED"}': 3 });
});
