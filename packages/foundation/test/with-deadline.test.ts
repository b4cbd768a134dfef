import { ManualClock } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { TIMED_OUT, withDeadline } from '../src/index.js';

describe('withDeadline', () => {
  it('waits no longer than told, and a late failure is nobody’s', async () => {
    const clock = new ManualClock();
    let fail: (error: Error) => void = () => {};
    const answer = withDeadline(
      clock,
      100,
      new Promise<never>((_, reject) => {
        fail = reject;
      }),
    );
    await clock.advance(100);
    expect(await answer).toBe(TIMED_OUT);
    fail(new Error('too late to matter'));
    expect(await withDeadline(clock, 100, Promise.resolve(7))).toBe(7);
    await expect(withDeadline(clock, 100, Promise.reject(new Error('in time')))).rejects.toThrow('in time');
    expect(clock.pendingTimers).toBe(0);
  });
});
