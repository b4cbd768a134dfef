import type { Rng } from '@millrace/foundation';
import type { Capacity } from './hidden-service.js';

/** How the capacity of a service changes. */
export interface Profile {
  readonly name: string;
  readonly endMs: number;
  readonly capacity: Capacity;
}

/** 100 → 40 → 100 per second. */
export const stepProfile = (phaseMs: number): Profile => ({
  name: `100 → 40 → 100/s, ${phaseMs / 1000} s each`,
  endMs: 3 * phaseMs,
  capacity: (atMs) => (atMs >= phaseMs && atMs < 2 * phaseMs ? 40 : 100),
});

/** From 20 to 200 per second, a new one every 15 to 40 seconds. */
export function drawnProfile(rng: Rng, name: string, endMs = 120_000): Profile {
  const phases: { readonly fromMs: number; readonly perSecond: number }[] = [];
  for (let fromMs = 0; fromMs < endMs; fromMs += rng.integer(15_000, 40_000))
    phases.push({ fromMs, perSecond: rng.integer(20, 200) });
  const capacity: Capacity = (atMs) => phases.findLast(({ fromMs }) => fromMs <= atMs)?.perSecond ?? 0;
  return { name, endMs, capacity };
}

/** What a caller who knew the capacity would get done. */
export function idealOf({ capacity, endMs }: Profile): number {
  const stepMs = 10;
  let calls = 0;
  for (let atMs = 0; atMs < endMs; atMs += stepMs) calls += (capacity(atMs) * stepMs) / 1000;
  return calls;
}
