import { seededRng, silentLogger } from '@millrace/foundation';
import { collectGarbage, ManualClock } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { expect, it } from 'vitest';
import { TaskManager } from '../../src/lanes/task-manager.js';

leakCheck();

const heapBytes = () => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

/** Allowed above the baseline: 10 % and 5 MB. */
const allowed = (baseline: number) => baseline * 1.1 + 5 * 2 ** 20;

const SESSIONS = 10_000;
const TURNS = 3;

it('runtime RT-8: 10,000 sessions of 3 turns on 16 workers leave the heap as it was after the TTL', async () => {
  const clock = new ManualClock();
  const handler = async function* (text: string) {
    for (const word of text.split(' ')) yield `${word} `;
  };
  const config = { maxWorkers: 16, queueMaxSize: 0, maxStored: SESSIONS * TURNS, resultTtlMs: 60_000 };
  await using tasks = new TaskManager(handler, config, { clock, rng: seededRng(8), log: silentLogger });
  await tasks.start();
  // Once through everything, so that compiled code and warm caches are in the baseline.
  await tasks.enqueue({ key: 'warm', input: 'up' });
  await clock.advance(61_000);
  const baseline = heapBytes();
  for (let turn = 0; turn < TURNS; turn++) {
    for (let session = 0; session < SESSIONS; session++) {
      await tasks.enqueue({ key: `session ${session}`, input: `turn ${turn} of session ${session}` });
    }
  }
  await clock.advance(1000);
  expect(tasks.stats).toEqual({ queued: 0, active: 0, stored: SESSIONS * TURNS, lanes: 0 });
  const full = heapBytes();
  await clock.advance(60_000);
  expect(tasks.stats.stored).toBe(0);
  const after = heapBytes();
  const mb = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MB`;
  console.log(`heap: ${mb(baseline)} before, ${mb(full)} with all results, ${mb(after)} after the TTL`);
  expect(full).toBeGreaterThan(allowed(baseline));
  expect(after).toBeLessThan(allowed(baseline));
});

it('runtime RT-5: a hundred thousand keys, used once each, leave no lanes behind', async () => {
  const clock = new ManualClock();
  const config = { maxWorkers: 16, queueMaxSize: 0, maxStored: 0 };
  await using tasks = new TaskManager<null>(async () => {}, config, { clock, rng: seededRng(5) });
  await tasks.start();
  await tasks.enqueue({ key: 'warm', input: null });
  await clock.advance(0);
  const baseline = heapBytes();
  for (let round = 0; round < 10; round++) {
    for (let n = 0; n < 10_000; n++) await tasks.enqueue({ key: `key ${round} ${n}`, input: null });
    await clock.advance(0);
  }
  expect(tasks.stats).toEqual({ queued: 0, active: 0, stored: 0, lanes: 0 });
  expect(heapBytes()).toBeLessThan(allowed(baseline));
});
