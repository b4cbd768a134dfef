import { defaultBurst, nextSlotUs, spend } from '../../src/rules/gcra.js';
import type { Controller } from './controllers.js';

/**
 * The formulas that the rules began with, to the letter: 0.97 × successes of the last second at most once per second, 2 %/s
 * doubling every 2 quiet seconds up to 25 %/s, no limit again above twice the rate of the last throttle. They show in the
 * table what the changes of `src/rules/congestion.ts` are for.
 */
export function firstFormulas(): Controller {
  let rps = 0;
  let ceiling = 0;
  let [throttledAtMs, grownAtMs, tatUs] = [0, 0, 0];
  const successes: number[] = [];
  const starts: number[] = [];
  const ofLastSecond = (times: number[], nowMs: number) => {
    while (times.length > 0 && (times[0] as number) <= nowMs - 1000) times.shift();
    return times.length;
  };
  const grow = (nowMs: number) => {
    const spanMs = nowMs - grownAtMs;
    if (rps === 0 || spanMs < 50) return;
    grownAtMs = nowMs;
    const quietSteps = Math.floor((nowMs - throttledAtMs) / 2000);
    if (ofLastSecond(starts, nowMs) * 2 >= rps)
      rps *= 1 + (Math.min(0.25, 0.02 * 2 ** quietSteps) * spanMs) / 1000;
    if (rps > 2 * ceiling) rps = 0;
  };
  const bucket = () => ({ rps, burst: defaultBurst(rps), tatUs, costMax: 1 });
  return {
    name: 'first formulas',
    nextStartMs(nowMs) {
      grow(nowMs);
      return rps === 0 ? nowMs : nextSlotUs(bucket(), nowMs * 1000, 1, 0) / 1000;
    },
    started(nowMs) {
      starts.push(nowMs);
      if (rps > 0) tatUs = spend(bucket(), nowMs * 1000, 1);
    },
    accepted(nowMs) {
      successes.push(nowMs);
    },
    refused(nowMs) {
      if (nowMs - throttledAtMs < 1000) return;
      ceiling = rps === 0 ? ofLastSecond(starts, nowMs) : rps;
      rps = Math.max(1, 0.97 * ofLastSecond(successes, nowMs));
      throttledAtMs = nowMs;
      grownAtMs = nowMs;
    },
    ratePerSecond: () => rps,
  };
}
