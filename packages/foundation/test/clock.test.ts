import { getEventListeners } from 'node:events';
import { latch, ManualClock } from '@millrace/testkit';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { beginWait, sleep, systemClock, TIMED_OUT, type Wait, withDeadline } from '../src/index.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('systemClock reads the wall clock and a monotonic clock', () => {
  const before = [systemClock.now(), systemClock.monotonicMs()];
  vi.advanceTimersByTime(1500);
  expect([systemClock.now(), systemClock.monotonicMs()]).toEqual(before.map((ms) => (ms as number) + 1500));
});

it('systemClock fires a timer once after any delay, never synchronously, unless it was cancelled', () => {
  // The timers of the platform cannot wait for 60 days.
  for (const delayMs of [0, 60 * 24 * 3600 * 1000]) {
    const [fired, cancelled] = [vi.fn(), vi.fn()];
    systemClock.setTimer(delayMs, fired);
    const cancel = systemClock.setTimer(delayMs, cancelled);
    if (delayMs > 0) vi.advanceTimersByTime(delayMs - 1);
    cancel();
    cancel();
    expect(fired).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect([fired.mock.calls.length, cancelled.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0, 0]);
  }
});

it('systemClock lets the process exit with unref', () => {
  vi.useRealTimers();
  const before = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const cancel = systemClock.setTimer(60_000, () => {}, { unref: true });
  expect(process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout')).toHaveLength(before);
  cancel();
});

it('beginWait ends once: by its work, its limit or its signal, and leaves nothing behind', async () => {
  const clock = new ManualClock();
  const controller = new AbortController();
  const { signal } = controller;
  const limits = { clock, timeoutMs: 100, signal, onTimeout: (wait: Wait<string>) => wait.resolve('late') };
  const done = beginWait(limits, (wait) => {
    wait.resolve('done');
    wait.reject(new Error('a second end'));
  });
  const late = beginWait(limits, () => {});
  await clock.advance(100);
  expect([await done, await late]).toEqual(['done', 'late']);
  const aborted = beginWait(limits, () => {});
  controller.abort();
  const begin = vi.fn();
  for (const wait of [aborted, beginWait(limits, begin)]) await expect(wait).rejects.toBe(signal.reason);
  expect([begin.mock.calls, clock.pendingTimers, getEventListeners(signal, 'abort')]).toEqual([[], 0, []]);
});

it('sleep resolves to true after its time, or to false as soon as the signal aborts', async () => {
  const clock = new ManualClock();
  const controller = new AbortController();
  const slept = [100, 200].map((ms) => sleep(clock, ms, controller.signal));
  await clock.advance(100);
  controller.abort();
  slept.push(sleep(clock, 100, controller.signal));
  expect(await Promise.all(slept)).toEqual([true, false, false]);
});

it('withDeadline waits at most its time, and ignores a late failure', async () => {
  const clock = new ManualClock();
  const late = latch('the late failure');
  const fail = () => Promise.reject(new Error('too late to matter'));
  const answer = withDeadline(clock, 100, late.promise.then(fail));
  await clock.advance(100);
  expect(await answer).toBe(TIMED_OUT);
  late.open();
  expect(await withDeadline(clock, 100, Promise.resolve(7))).toBe(7);
  await expect(withDeadline(clock, 100, Promise.reject(new Error('in time')))).rejects.toThrow('in time');
  expect(clock.pendingTimers).toBe(0);
});
