import type { StatPoint } from '@millrace/contract';

/** How submits were answered. */
export interface FastPath {
  /** With their outcome: 200. */
  readonly fast: number;
  /** With a status URL: 202. */
  readonly converted: number;
  /** Of them all, the first; null: there were none. */
  readonly share: number | null;
}

/**
 * How submits were answered in some time.
 * @param points - of that time; null where nobody has reported.
 */
export function fastPathOf(points: readonly (StatPoint | null)[], stepSeconds: number): FastPath {
  let fast = 0;
  let converted = 0;
  for (const point of points) {
    fast += (point?.operations.fastPerSecond ?? 0) * stepSeconds;
    converted += (point?.operations.convertedPerSecond ?? 0) * stepSeconds;
  }
  const all = fast + converted;
  return { fast: Math.round(fast), converted: Math.round(converted), share: all > 0 ? fast / all : null };
}
