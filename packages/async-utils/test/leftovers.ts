import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, vi } from 'vitest';

/** Runs the tests of a file or group on fake timers. */
export function useFakeTime(): void {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
}

/** Under fake timers: no timer is pending and no listener is on any of the signals. */
export function expectNothingLeft(...signals: AbortSignal[]): void {
  expect(vi.getTimerCount(), 'pending timers').toBe(0);
  for (const signal of signals) expect(getEventListeners(signal, 'abort'), 'abort listeners').toHaveLength(0);
}

/** The outcome of a promise. Does not throw, so that fake time can advance before the outcome is checked. */
export function outcome<T>(promise: Promise<T>): Promise<{ value?: T; error?: unknown }> {
  return promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}

/** The outcome of a promise after `ms` of fake time, by default after all timers. */
export async function outcomeAfter<T>(promise: Promise<T>, ms?: number) {
  const result = outcome(promise);
  await (ms === undefined ? vi.runAllTimersAsync() : vi.advanceTimersByTimeAsync(ms));
  return result;
}

/** A function that throws `error`. */
export const throwing = (error: unknown) => (): never => {
  throw error;
};

/** Makes a list from the results of `count` calls. */
export const times = <T>(count: number, fn: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => fn(index));
