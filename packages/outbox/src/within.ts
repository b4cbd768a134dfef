import type { Clock } from '@millrace/foundation';

/**
 * Waits for some work, but not for ever.
 * @param clock - whose time counts.
 * @param ms - how long.
 * @param work - what to wait for; its failure counts as its end.
 * @returns whether it ended in time.
 */
export function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(ms, () => resolve(false));
    const end = () => {
      cancel();
      resolve(true);
    };
    work.then(end, end);
  });
}
