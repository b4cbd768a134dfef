import { latch, ManualClock, recordingLogger } from '@millrace/testkit';
import { expect, it, vi } from 'vitest';
import { loop, seededRng } from '../src/index.js';

/** A loop of 100 ms whose work counts its runs, then does what is given. */
function newLoop(work: (run: number) => Promise<unknown>) {
  const clock = new ManualClock();
  const { log, lines } = recordingLogger();
  const count = { runs: 0 };
  const kit = { clock, rng: seededRng('loop'), logger: log };
  const chore = loop(kit, 'Prune finished batches', 100, () => work(++count.runs));
  const runsAfter = (ms: number) => clock.advance(ms).then(() => count.runs);
  return { clock, lines, count, chore, runsAfter };
}

it('runs at once, again after each pause, even if a run fails, and no more after the stop', async () => {
  const err = Object.assign(new Error('away'), { code: 'STORE_UNAVAILABLE' });
  const { clock, lines, count, chore, runsAfter } = newLoop(async (run) => run === 1 && Promise.reject(err));
  chore.trigger();
  expect(count.runs).toBe(0);
  chore.start();
  chore.start();
  expect(count.runs).toBe(1);
  // A pause is up to a fifth shorter.
  expect([await runsAfter(79), await runsAfter(21)]).toEqual([1, 2]);
  const fields = { code: 'STORE_UNAVAILABLE', err };
  expect(lines).toEqual([{ level: 'warn', fields, message: 'Prune finished batches failed, will retry' }]);
  await chore.stop();
  chore.trigger();
  expect([await runsAfter(1_000), clock.pendingTimers]).toEqual([2, 0]);
  chore.start();
  expect(count.runs).toBe(3);
  await chore.stop();
});

it('runs once more after the run in progress if it is triggered, and the stop waits for it', async () => {
  const ends = [latch('the first run'), latch('the second run')];
  const { count, chore, runsAfter } = newLoop(async (run) => ends[run - 1]?.promise);
  chore.start();
  for (let times = 0; times < 5; times++) chore.trigger();
  expect(count.runs).toBe(1);
  ends[0]?.open();
  expect(await runsAfter(0)).toBe(2);
  const stopped = vi.fn();
  const stopping = chore.stop().then(stopped);
  await runsAfter(0);
  expect(stopped).not.toHaveBeenCalled();
  ends[1]?.open();
  await stopping;
  expect(count.runs).toBe(2);
});
