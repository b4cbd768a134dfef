import { describe, expect, it } from 'vitest';
import { latch } from '../src/latch.js';

describe('latch', () => {
  it('gives everyone who waits the value of the first opening', async () => {
    const claimed = latch<string>('job claimed');
    const early = claimed.promise;
    expect(claimed.opened).toBe(false);
    claimed.open('first');
    claimed.open('second');
    expect(claimed.opened).toBe(true);
    expect(await Promise.all([early, claimed.promise, claimed.wait()])).toEqual(['first', 'first', 'first']);
  });

  it('names the event that did not happen', async () => {
    const waiting = latch('job claimed').wait(10);
    await expect(waiting).rejects.toThrow('expected "job claimed" within 10 ms, it did not happen');
  });
});
