import { describe, expect, it } from 'vitest';
import { latch } from '../src/latch.js';
import { until } from '../src/until.js';

it('a latch gives each waiter the first value, and names the event that did not happen', async () => {
  const claimed = latch<string>('job claimed');
  await expect(claimed.wait(10)).rejects.toThrow('expected "job claimed" within 10 ms, it did not happen');
  const early = claimed.promise;
  claimed.open('first');
  claimed.open('second');
  expect(await Promise.all([early, claimed.wait()])).toEqual(['first', 'first']);
});

describe('until', () => {
  it('returns the first truthy value and treats a throw as "not yet"', async () => {
    let checks = 0;
    const condition = () => {
      checks += 1;
      if (checks === 1) throw new Error('not ready');
      return checks === 3 ? 'third' : undefined;
    };
    expect(await until(condition, { what: 'a third check' })).toBe('third');
  });

  const cause = new Error('connection refused');
  it.each([
    ['the last value', () => 0, { message: 'expected it within 20 ms, the last value was 0' }],
    [
      'the last error, as the cause too',
      () => Promise.reject(cause),
      { message: 'expected it within 20 ms, the last check failed: Error: connection refused', cause },
    ],
    [
      'a condition that hangs',
      () => new Promise(() => {}),
      { message: 'expected it within 20 ms, the condition never answered' },
    ],
  ])('reports %s', async (_, condition, error) => {
    await expect(until<unknown>(condition, { what: 'it', deadlineMs: 20 })).rejects.toMatchObject(error);
  });
});
