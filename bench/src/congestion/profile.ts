import type { Rng } from '@millrace/foundation';

const DRAWN_MS = 120_000;

/** How long a service takes how many calls per second. */
export interface Phase {
  readonly seconds: number;
  readonly perSecond: number;
}

/** 100 → 40 → 100 per second. */
export const stepPhases = (seconds: number): Phase[] =>
  [100, 40, 100].map((perSecond) => ({ seconds, perSecond }));

/**
 * From 20 to 200 per second, a new one every 15 to 40 s for two minutes: for one seed the same as in the tests in virtual time.
 * @param speed - how many times as fast it goes.
 */
export function drawnPhases(rng: Rng, speed = 1): Phase[] {
  const phases: Phase[] = [];
  for (let leftMs = DRAWN_MS; leftMs > 0; ) {
    const perSecond = rng.integer(20, 200);
    const ms = Math.min(leftMs, rng.integer(15_000, 40_000));
    phases.push({ seconds: ms / 1000 / speed, perSecond });
    leftMs -= ms;
  }
  return phases;
}

/** Calls per second at a time; the last phase has no end. */
export function capacityAt(phases: readonly Phase[], atMs: number): number {
  let endMs = 0;
  for (const { seconds, perSecond } of phases) {
    endMs += seconds * 1000;
    if (atMs < endMs) return perSecond;
  }
  return phases.at(-1)?.perSecond ?? 0;
}

/** How long all phases take. */
export const durationMs = (phases: readonly Phase[]): number =>
  phases.reduce((sum, { seconds }) => sum + seconds * 1000, 0);

/** What a caller who knew the capacity would get done. */
export const idealCalls = (phases: readonly Phase[]): number =>
  phases.reduce((sum, { seconds, perSecond }) => sum + seconds * perSecond, 0);
