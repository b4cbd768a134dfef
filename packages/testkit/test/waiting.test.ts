import { expect, it } from 'vitest';
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

const refusal = new Error('refused');

it.each([
  ['the last value', () => 0, 'the last value was 0', undefined],
  ['the last error', () => Promise.reject(refusal), 'the last check failed: Error: refused', refusal],
  ['a condition that hangs', () => new Promise(() => {}), 'the condition never answered', undefined],
])('until reports %s', async (_, condition, ending, cause) => {
  const wait = until<unknown>(condition, { what: 'it', deadlineMs: 20 });
  await expect(wait).rejects.toMatchObject({ message: `expected it within 20 ms, ${ending}`, cause });
});
