import { ManualClock, recordingLogger } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { loop, seededRng } from '../src/index.js';

function made(work: () => Promise<void>) {
  const clock = new ManualClock();
  const { log, lines } = recordingLogger();
  const kit = { clock, rng: seededRng('loop'), logger: log };
  return { clock, lines, chore: loop(kit, 'Prune finished batches', 100, work) };
}

it('runs at once, again after each pause, and no more after the stop', async () => {
  let runs = 0;
  const { clock, chore } = made(async () => {
    runs++;
  });
  chore.trigger();
  expect(runs).toBe(0);
  chore.start();
  chore.start();
  await clock.advance(0);
  expect(runs).toBe(1);
  // A pause is up to a fifth shorter.
  await clock.advance(79);
  expect(runs).toBe(1);
  await clock.advance(21);
  expect(runs).toBe(2);
  await chore.stop();
  chore.trigger();
  await clock.advance(1_000);
  expect([runs, clock.pendingTimers]).toEqual([2, 0]);
  chore.start();
  expect(runs).toBe(3);
  await chore.stop();
});

it('runs once more after the run in progress if it is triggered, and the stop waits for it', async () => {
  const ends: (() => void)[] = [];
  let [most, underWay] = [0, 0];
  const { clock, chore } = made(async () => {
    most = Math.max(most, ++underWay);
    await new Promise<void>((resolve) => ends.push(resolve));
    underWay--;
  });
  chore.start();
  for (let times = 0; times < 5; times++) chore.trigger();
  ends[0]?.();
  await clock.advance(0);
  expect([ends.length, most]).toEqual([2, 1]);
  let isStopped = false;
  const stopping = chore.stop().then(() => {
    isStopped = true;
  });
  await clock.advance(0);
  expect(isStopped).toBe(false);
  ends[1]?.();
  await stopping;
  expect(underWay).toBe(0);
});

it('logs a failure and runs again after the pause', async () => {
  let runs = 0;
  const failure = Object.assign(new Error('not now'), { code: 'STORE_UNAVAILABLE' });
  const { clock, lines, chore } = made(async () => {
    if (++runs === 1) throw failure;
  });
  chore.start();
  await clock.advance(0);
  const fields = { code: 'STORE_UNAVAILABLE', err: failure };
  expect(lines).toEqual([{ level: 'warn', fields, message: 'Prune finished batches failed, will retry' }]);
  await clock.advance(100);
  expect(runs).toBe(2);
  await chore.stop();
});
