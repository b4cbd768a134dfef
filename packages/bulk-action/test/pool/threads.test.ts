import { systemClock } from '@millrace/foundation';
import { ThreadPool, threadTask } from '@millrace/runtime';
import { until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, describe, expect, it } from 'vitest';
import { MemoryStore } from '../../src/memory/store.js';
import { type BulkActionConfig, resolveBulkActionConfig } from '../../src/options.js';
import type { SettledTry } from '../../src/pool/job-tries.js';
import { WorkerPool } from '../../src/pool/worker-pool.js';
import { ProcessorRegistry } from '../../src/processor.js';
import { bench, definitionOf, jobOf } from './bench.js';

leakCheck();

const heavy = (name: string) => threadTask(new URL('./fixtures/heavy.mjs', import.meta.url), name);

describe('thread processors on the real ThreadPool', () => {
  const threadPool = new ThreadPool({ maxWorkers: 2 });
  afterAll(() => threadPool.shutdown({ wait: false }));

  async function runOn(config: BulkActionConfig, type: string) {
    const resolved = resolveBulkActionConfig(config);
    const store = new MemoryStore(resolved, { clock: systemClock });
    const settled: SettledTry[] = [];
    await using pool = new WorkerPool({
      store,
      config: resolved,
      processors: new ProcessorRegistry([
        { type: 'DESCRIBE', thread: heavy('describe') },
        { type: 'REFUSE', thread: heavy('refuse') },
        { type: 'SPIN', thread: heavy('spin'), timeoutMs: 200 },
      ]),
      threads: threadPool,
      onSettled: (one) => void settled.push(one),
    });
    await pool.start();
    const definition = definitionOf('g', { key: 'acme/g', tenant: 'acme', tenantId: 'acme' });
    await store.groups.add(definition, [jobOf('j1', { processorType: type })], 1);
    const first = await until(() => settled[0], { what: 'the try to be settled', deadlineMs: 15_000 });
    return { response: first.response, abandoned: pool.abandoned };
  }

  it('bulk-action BA-5: a processor with thread runs there, with job and plain context', async () => {
    const { response } = await runOn({}, 'DESCRIBE');
    expect(response).toMatchObject({
      success: true,
      data: {
        onMainThread: false,
        payload: { n: 'j1' },
        groupId: 'acme/g',
        attempt: 1,
        idempotencyKey: 'acme/g:j1',
      },
    });
  });

  it('bulk-action BA-8: what is thrown there keeps its code and whether it may be tried again', async () => {
    const { response } = await runOn({}, 'REFUSE');
    expect(response).toMatchObject({
      success: false,
      error: { code: 'REFUSED', message: 'not this one', retryable: false },
    });
  });

  it('bulk-action BA-9: a timeout ends a thread that never lets go: cancelled, not abandoned', async () => {
    const { response, abandoned } = await runOn({ workerPool: { maxRetryCount: 0 } }, 'SPIN');
    expect(response).toMatchObject({ success: false, error: { code: 'JOB_TIMEOUT' } });
    expect(abandoned).toBe(0);
  });

  it('bulk-action BA-8: without threads the processor counts as missing here, and no retry is spent', async () => {
    const { pool, clock, submit, job } = bench({ processors: [{ type: 'T', thread: heavy('describe') }] });
    await submit('g', [jobOf('j1')]);
    await pool.start();
    await clock.advance(0);
    expect(await job('g', 'j1')).toMatchObject({ reason: 'NO_PROCESSOR', retryCount: 0 });
    await pool.stop();
  });
});
