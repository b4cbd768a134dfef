/** How long a service takes how many calls per second. */
export interface Phase {
  readonly seconds: number;
  readonly perSecond: number;
}

/** 100 → 40 → 100 per second. */
export const stepPhases = (seconds: number): Phase[] =>
  [100, 40, 100].map((perSecond) => ({ seconds, perSecond }));

/** Drawn from numbers of [0, 1): 20 to 200 per second, each for a half to the whole of `seconds`. */
export const drawnPhases = (next: () => number, count: number, seconds: number): Phase[] =>
  Array.from({ length: count }, () => ({
    seconds: seconds * (0.5 + 0.5 * next()),
    perSecond: 20 + Math.floor(181 * next()),
  }));

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
