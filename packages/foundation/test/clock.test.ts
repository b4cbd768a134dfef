import { getEventListeners } from 'node:events';
import { latch, ManualClock } from '@millrace/testkit';
import { expect, it, onTestFinished, vi } from 'vitest';
import { beginWait, sleep, systemClock, TIMED_OUT, type Wait, withDeadline } from '../src/index.js';

it('systemClock reads two clocks, and fires a timer once after any delay unless it was cancelled', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  // The timers of the platform cannot wait for 60 days.
  for (const delayMs of [0, 60 * 24 * 3600 * 1000]) {
    const [fired, cancelled] = [vi.fn(), vi.fn()];
    const [wallMs, monotonicMs] = [systemClock.now(), systemClock.monotonicMs()];
    systemClock.setTimer(delayMs, fired);
    const cancel = systemClock.setTimer(delayMs, cancelled);
    if (delayMs > 0) vi.advanceTimersByTime(delayMs - 1);
    cancel();
    cancel();
    expect(fired).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect([fired.mock.calls.length, cancelled.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0, 0]);
    const elapsedMs = [systemClock.now() - wallMs, systemClock.monotonicMs() - monotonicMs];
    expect(new Set(elapsedMs)).toEqual(new Set([Math.max(1, delayMs)]));
  }
});

it('systemClock lets the process exit with unref', () => {
  const timeouts = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout');
  const before = timeouts();
  const cancel = systemClock.setTimer(60_000, () => {}, { unref: true });
  expect(timeouts()).toEqual(before);
  cancel();
});

const clock = new ManualClock();

it('beginWait and sleep end once: by their work, their limit or their signal, and leave nothing behind', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const limits = { clock, timeoutMs: 100, signal, onTimeout: (wait: Wait<string>) => wait.resolve('late') };
  const done = beginWait(limits, (wait) => {
    wait.resolve('done');
    wait.reject(new Error('a second end'));
  });
  const late = beginWait(limits, () => {});
  const slept = [100, 200].map((ms) => sleep(clock, ms, signal));
  await clock.advance(100);
  expect([await done, await late]).toEqual(['done', 'late']);
  const aborted = beginWait(limits, () => {});
  controller.abort();
  const begin = vi.fn();
  for (const wait of [aborted, beginWait(limits, begin)]) await expect(wait).rejects.toBe(signal.reason);
  expect(await Promise.all([...slept, sleep(clock, 100, signal)])).toEqual([true, false, false]);
  expect([begin.mock.calls, clock.pendingTimers, getEventListeners(signal, 'abort')]).toEqual([[], 0, []]);
});

it('withDeadline waits at most its time, and ignores a late failure', async () => {
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
