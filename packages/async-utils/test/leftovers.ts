import { getEventListeners } from 'node:events';
import { expect, vi } from 'vitest';

/** Under fake timers: no timer is pending and no listener hangs on any of the signals. */
export function expectNothingLeft(...signals: AbortSignal[]): void {
  expect(vi.getTimerCount(), 'pending timers').toBe(0);
  for (const signal of signals) expect(getEventListeners(signal, 'abort'), 'abort listeners').toHaveLength(0);
}

/** Takes the outcome of a promise without throwing, so that fake time can be moved before it is looked at. */
export function outcome<T>(promise: Promise<T>): Promise<{ value?: T; error?: unknown }> {
  return promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}
