import { resolveBulkActionConfig } from '@millrace/bulk-action';
import { openRedisStore } from '@millrace/bulk-action/redis';
import { redisSandbox } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { BulkBacking, bulk } from '../../src/bulk/index.js';
import { MemoryOperationStore, OrchestratorService, RouteExecutor } from '../../src/index.js';
import { BulkWorld, toGroup } from './bulk-engine.js';

it('orchestrator FR-4: on Redis a front door without workers answers by the hint of the process that ran the jobs', async () => {
  await using sandbox = await redisSandbox();
  const location = { url: sandbox.url, keyPrefix: sandbox.namespace };
  const openStore = () => openRedisStore(resolveBulkActionConfig(), location);
  const worker = new BulkWorld({ store: openStore() });
  const front = new BulkWorld({ store: openStore() });
  await worker.engine.start();
  await front.engine.store.start();
  const { service } = front.engine;
  const executor = new RouteExecutor({
    routes: { 'MAIL.CAMPAIGN': bulk(toGroup) },
    backings: [new BulkBacking({ service })],
  });
  // Only hints: no look comes before the budget is over.
  const orchestrator = new OrchestratorService({
    executor,
    store: new MemoryOperationStore(),
    watchIntervalMs: 60_000,
  });
  await orchestrator.start();
  const command = { domain: 'MAIL', eventType: 'CAMPAIGN', bizKey: 'spring', payload: [{}, {}] };
  const { opId, responseBodyOrNull } = await orchestrator.submit(command, 5_000, { tenant: 'acme' });
  expect(responseBodyOrNull).toMatchObject({ type: 'Ok', data: { success: 2, data: ['x', 'x'] } });
  expect(worker.ran.sort()).toEqual([`acme/${opId}#j0`, `acme/${opId}#j1`]);
  expect(front.ran).toEqual([]);
  await orchestrator.stop();
  await front.engine.store.stop();
  await worker.engine.stop();
});
