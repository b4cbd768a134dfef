import { latch, ManualClock } from '@millrace/testkit';
import { expect, it, vi } from 'vitest';
import { CachedRead, type CachedReadOptions } from '../src/index.js';

/** A cached read that passes its number, from 1, to `read`. */
function cachedRead(read: (number: number) => Promise<number>, options?: Partial<CachedReadOptions<number>>) {
  const clock = new ManualClock();
  const count = { reads: 0 };
  const cached = new CachedRead({ read: () => read(++count.reads), clock, ...options });
  return { clock, count, cached };
}
const away = () => Promise.reject(new Error('away'));

it('shares a slow read, for which each caller waits at most waitMs, and uses its late value', async () => {
  const answer = latch<number>('the store answers');
  const read = (number: number) => (number > 1 ? away() : answer.promise);
  const { clock, count, cached } = cachedRead(read, { waitMs: 1_000 });
  for (const _ of [1, 2]) {
    const seen = vi.fn();
    void Promise.all([cached.get(), cached.get()]).then(seen);
    await clock.advance(999);
    expect(seen).not.toHaveBeenCalled();
    await clock.advance(1);
    expect(seen.mock.calls).toEqual([[[undefined, undefined]]]);
  }
  answer.open(3);
  await clock.advance(0);
  expect([count.reads, await cached.get(), count.reads]).toEqual([1, 3, 2]);
});

it('reads again when the last read ended maxAgeMs ago, and returns the last value if that fails', async () => {
  const options = { maxAgeMs: 60_000 };
  const { clock, count, cached } = cachedRead(async (read) => (read === 2 ? read : away()), options);
  const seen: unknown[] = [];
  for (const passMs of [0, 59_999, 1, 59_999, 1, 59_999]) {
    await clock.advance(passMs);
    seen.push([await cached.get(), count.reads].join());
  }
  expect(seen).toEqual([',1', ',1', '2,2', '2,2', '2,3', '2,3']);
});
