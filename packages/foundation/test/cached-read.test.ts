import { latch, ManualClock } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { CachedRead } from '../src/index.js';

it('shares one read among the callers of one turn, and reads again in the next', async () => {
  let reads = 0;
  const cached = new CachedRead({ read: async () => ++reads, clock: new ManualClock() });
  expect(await Promise.all([cached.get(), cached.get()])).toEqual([1, 1]);
  expect(await cached.get()).toBe(2);
});

it('returns the last value if a read fails, and undefined before the first', async () => {
  const answers = [new Error('away'), 7, new Error('away')];
  const read = async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const cached = new CachedRead({ read, clock: new ManualClock(), waitMs: 1_000 });
  expect([await cached.get(), await cached.get(), await cached.get()]).toEqual([undefined, 7, 7]);
});

it('waits no longer than waitMs, joins the slow read, and uses its late value', async () => {
  const clock = new ManualClock();
  const answer = latch<number>('the store answers');
  let reads = 0;
  const read = () => {
    reads++;
    return answer.promise;
  };
  const cached = new CachedRead({ read, clock, waitMs: 1_000 });
  for (const _ of [1, 2]) {
    let seen: number | undefined | 'nothing yet' = 'nothing yet';
    const reading = cached.get().then((value) => {
      seen = value;
    });
    await clock.advance(999);
    expect(seen).toBe('nothing yet');
    await clock.advance(1);
    await reading;
    expect(seen).toBeUndefined();
  }
  answer.open(3);
  await clock.advance(0);
  expect([reads, await cached.get(), reads]).toEqual([1, 3, 2]);
});

it('reads again when the last read ended maxAgeMs ago, and a failed read counts', async () => {
  const clock = new ManualClock();
  let reads = 0;
  const read = async () => {
    if (++reads === 2) throw new Error('away');
    return reads;
  };
  const cached = new CachedRead({ read, clock, maxAgeMs: 60_000 });
  const seen: unknown[] = [];
  for (const passMs of [0, 59_999, 1, 59_999, 1]) {
    await clock.advance(passMs);
    seen.push([await cached.get(), reads]);
  }
  expect(seen).toEqual([
    [1, 1],
    [1, 1],
    [1, 2],
    [1, 2],
    [3, 3],
  ]);
});
