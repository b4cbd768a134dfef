import { createClient } from '@millrace/contract/client';
import { startTcpProxy } from '@millrace/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { inline } from '../../src/index.js';
import { serve } from './boot.js';

it('orchestrator NFR-2: the client repeats a submit whose response was lost, and its work runs once', async () => {
  let runs = 0;
  const { url } = await serve({ routes: { 'ORDER.PLACE': inline(() => ++runs) } });
  const proxy = await startTcpProxy({ targetHost: '127.0.0.1', targetPort: Number(new URL(url).port) });
  onTestFinished(() => proxy.close());
  const client = createClient({ baseUrl: proxy.url('http') });
  const cut = proxy.cutAfterRequest();
  const answer = await client.submit(
    { domain: 'ORDER', eventType: 'PLACE', bizKey: 'order-1', payload: { items: 2 } },
    { timeBudgetMs: 5_000 },
  );
  await cut;
  expect(answer).toMatchObject({ status: 'COMPLETED', outcome: { type: 'Ok', data: 1 } });
  expect(runs).toBe(1);
  expect((await client.list()).items).toHaveLength(1);
});
