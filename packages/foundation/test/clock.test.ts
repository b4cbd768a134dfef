import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sleep, systemClock } from '../src/index.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('systemClock', () => {
  it('reads the wall clock and a clock that only goes forward', () => {
    const before = [systemClock.now(), systemClock.monotonicMs()];
    vi.advanceTimersByTime(1500);
    expect([systemClock.now(), systemClock.monotonicMs()]).toEqual(before.map((ms) => (ms as number) + 1500));
  });

  it('fires a timer once, never synchronously, unless it was cancelled', () => {
    const [fired, cancelled] = [vi.fn(), vi.fn()];
    systemClock.setTimer(0, fired);
    const cancel = systemClock.setTimer(10, cancelled);
    expect(fired).not.toHaveBeenCalled();
    cancel();
    cancel();
    vi.advanceTimersByTime(100);
    expect(fired).toHaveBeenCalledOnce();
    expect(cancelled).not.toHaveBeenCalled();
  });

  it('holds timers longer than the platform can, and cancels them in any stretch', () => {
    const fired = vi.fn();
    const days = 24 * 3600 * 1000;
    systemClock.setTimer(60 * days, fired);
    const cancel = systemClock.setTimer(60 * days, fired);
    vi.advanceTimersByTime(59 * days);
    cancel();
    expect(fired).not.toHaveBeenCalled();
    vi.advanceTimersByTime(days);
    expect(fired).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('does not keep the process alive when unref is asked for', () => {
    vi.useRealTimers();
    const before = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const cancel = systemClock.setTimer(60_000, () => {}, { unref: true });
    expect(process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout')).toHaveLength(before);
    cancel();
  });
});

describe('sleep', () => {
  it('is true when the time has passed, and leaves no listener', async () => {
    const { signal } = new AbortController();
    const slept = sleep(systemClock, 100, signal);
    vi.advanceTimersByTime(100);
    expect(await slept).toBe(true);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('is false when the signal aborts first, and leaves no timer', async () => {
    const controller = new AbortController();
    const slept = sleep(systemClock, 100, controller.signal);
    controller.abort();
    expect(await slept).toBe(false);
    expect(await sleep(systemClock, 100, controller.signal)).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });
});
