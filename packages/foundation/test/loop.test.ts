import { latch, ManualClock, recordingLogger } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { loop, seededRng } from '../src/index.js';

/** A loop whose work counts its runs, then does what is given. */
function made(work: (run: number) => Promise<void> = async () => {}) {
  const clock = new ManualClock();
  const { log, lines } = recordingLogger();
  const count = { runs: 0 };
  const kit = { clock, rng: seededRng('loop'), logger: log };
  const chore = loop(kit, 'Prune finished batches', 100, () => work(++count.runs));
  return { clock, lines, count, chore };
}

it('runs at once, again after each pause, and no more after the stop', async () => {
  const { clock, count, chore } = made();
  chore.trigger();
  expect(count.runs).toBe(0);
  chore.start();
  chore.start();
  expect(count.runs).toBe(1);
  // A pause is up to a fifth shorter.
  await clock.advance(79);
  expect(count.runs).toBe(1);
  await clock.advance(21);
  expect(count.runs).toBe(2);
  await chore.stop();
  chore.trigger();
  await clock.advance(1_000);
  expect([count.runs, clock.pendingTimers]).toEqual([2, 0]);
  chore.start();
  expect(count.runs).toBe(3);
  await chore.stop();
});

it('runs once more after the run in progress if it is triggered, and the stop waits for it', async () => {
  const ends = [latch('the first run'), latch('the second run')];
  const { clock, count, chore } = made(async (run) => ends[run - 1]?.promise);
  chore.start();
  for (let times = 0; times < 5; times++) chore.trigger();
  expect(count.runs).toBe(1);
  ends[0]?.open();
  await clock.advance(0);
  expect(count.runs).toBe(2);
  let isStopped = false;
  const stopping = chore.stop().then(() => {
    isStopped = true;
  });
  await clock.advance(0);
  expect(isStopped).toBe(false);
  ends[1]?.open();
  await stopping;
  expect(count.runs).toBe(2);
});

it('logs a failure and runs again after the pause', async () => {
  const failure = Object.assign(new Error('not now'), { code: 'STORE_UNAVAILABLE' });
  const { clock, lines, count, chore } = made((run) =>
    run === 1 ? Promise.reject(failure) : Promise.resolve(),
  );
  chore.start();
  await clock.advance(0);
  const fields = { code: 'STORE_UNAVAILABLE', err: failure };
  expect(lines).toEqual([{ level: 'warn', fields, message: 'Prune finished batches failed, will retry' }]);
  await clock.advance(100);
  expect(count.runs).toBe(2);
  await chore.stop();
});
