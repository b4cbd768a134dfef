import type { Clock } from './clock.js';

/** What `withDeadline` returns when the deadline passes first. */
export const TIMED_OUT = Symbol('timed out');

/**
 * Waits at most `ms` for `work`. Returns its value, or `TIMED_OUT`. Ignores a value or rejection that arrives later.
 * @throws what `work` rejects with before the deadline.
 */
export function withDeadline<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | typeof TIMED_OUT> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(ms, () => resolve(TIMED_OUT));
    work.then(
      (value) => {
        cancel();
        resolve(value);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}
