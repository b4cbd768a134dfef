import { latch, ManualClock } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { CachedRead, type CachedReadOptions } from '../src/index.js';

/** Counts its reads. The first value is 1; reads that `isAway` names fail. */
function cachedCount(isAway: (read: number) => boolean, options: Partial<CachedReadOptions<number>> = {}) {
  const clock = new ManualClock();
  const count = { reads: 0 };
  const read = async () => {
    if (isAway(++count.reads)) throw new Error('away');
    return count.reads;
  };
  return { clock, count, cached: new CachedRead({ read, clock, ...options }) };
}

it('shares one read among the callers of one turn, and reads again in the next', async () => {
  const { cached } = cachedCount(() => false);
  expect(await Promise.all([cached.get(), cached.get()])).toEqual([1, 1]);
  expect(await cached.get()).toBe(2);
});

it('returns the last value if a read fails, and undefined before the first', async () => {
  const { cached } = cachedCount((read) => read !== 2, { waitMs: 1_000 });
  expect([await cached.get(), await cached.get(), await cached.get()]).toEqual([undefined, 2, 2]);
});

it('waits at most waitMs, joins the slow read, and uses its late value', async () => {
  const answer = latch<number>('the store answers');
  const { clock, count, cached } = cachedCount(() => false, { waitMs: 1_000 });
  const slow = new CachedRead({ read: () => cached.get().then(() => answer.promise), clock, waitMs: 1_000 });
  for (const _ of [1, 2]) {
    const seen: unknown[] = [];
    void slow.get().then((value) => seen.push(value));
    await clock.advance(999);
    expect(seen).toEqual([]);
    await clock.advance(1);
    expect(seen).toEqual([undefined]);
  }
  answer.open(3);
  await clock.advance(0);
  expect([count.reads, await slow.get(), count.reads]).toEqual([1, 3, 2]);
});

it('reads again when the last read ended maxAgeMs ago, even if that failed', async () => {
  const { clock, count, cached } = cachedCount((read) => read === 2, { maxAgeMs: 60_000 });
  const seen: unknown[] = [];
  for (const passMs of [0, 59_999, 1, 59_999, 1]) {
    await clock.advance(passMs);
    seen.push([await cached.get(), count.reads].join());
  }
  expect(seen).toEqual(['1,1', '1,1', '1,2', '1,2', '3,3']);
});
