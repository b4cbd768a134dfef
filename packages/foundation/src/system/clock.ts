import type { Clock } from '../clock.js';

// The platform fires a longer timer after 1 ms instead of waiting.
const TIMER_MAX_MS = 2 ** 31 - 1;

/** The machine's own clock and timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(delayMs, fn, options) {
    let timer: NodeJS.Timeout;
    const arm = (leftMs: number) => {
      timer = setTimeout(
        () => (leftMs > TIMER_MAX_MS ? arm(leftMs - TIMER_MAX_MS) : fn()),
        Math.min(leftMs, TIMER_MAX_MS),
      );
      if (options?.unref) timer.unref();
    };
    arm(delayMs);
    return () => clearTimeout(timer);
  },
};
