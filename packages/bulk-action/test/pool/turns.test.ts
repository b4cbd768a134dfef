import { systemClock } from '@millrace/foundation';
import { latch } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { MemoryStore } from '../../src/memory/store.js';
import { resolveBulkActionConfig } from '../../src/options.js';
import { WorkerPool } from '../../src/pool/worker-pool.js';
import { ADD_BATCH_MAX } from '../../src/ports.js';
import { ProcessorRegistry } from '../../src/processor.js';
import { definitionOf, jobOf } from './bench.js';

const JOBS = 20_000;

it('bulk-action BA-5: jobs that never wait, on a store that never waits, leave the timers of the process their turns', async () => {
  const config = resolveBulkActionConfig({ backpressure: { globalRps: 0 }, workerPool: { workerCount: 20 } });
  const store = new MemoryStore(config, { clock: systemClock });
  for (let from = 0; from < JOBS; from += ADD_BATCH_MAX) {
    const jobs = Array.from({ length: ADD_BATCH_MAX }, (_, index) => jobOf(`j${from + index}`));
    await store.groups.add(definitionOf('g'), jobs, jobs.length);
  }
  const allRun = latch('all jobs have run');
  let ran = 0;
  const process = () => {
    ran += 1;
    if (ran === JOBS) allRun.open();
  };
  await using pool = new WorkerPool({
    store,
    config,
    processors: new ProcessorRegistry([{ type: 'T', process }]),
  });
  const firedAfter: number[] = [];
  const timer = setInterval(() => firedAfter.push(ran), 1);
  await pool.start();
  await allRun.promise;
  clearInterval(timer);
  // About 200 ms of work, a turn every 25 ms at the latest.
  expect(firedAfter.filter((jobs) => jobs > 0 && jobs < JOBS).length).toBeGreaterThan(1);
});
