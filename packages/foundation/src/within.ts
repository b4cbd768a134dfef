import type { Clock } from './clock.js';

/** The answer of `within` for what was not done in time. */
export const LATE = Symbol('late');

/**
 * Waits for something, but not for ever; what comes later is ignored, a late failure too.
 * @param ms - longest wait.
 * @returns its value, or LATE.
 */
export function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | typeof LATE> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(ms, () => resolve(LATE));
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
