import type { GroupView } from '@millrace/bulk-action';
import type { ProgressPoint } from '@millrace/contract';

/** A point as it was written down, or is now; `at` in ms since 1970. */
export type TimedPoint = Omit<ProgressPoint, 'at'> & { readonly at: number };

const NOTHING_DONE = { done: 0, success: 0, failed: 0, inFlight: 0, registered: 0 };

/**
 * The progress of a group from its start to now.
 * @param now - in ms since 1970.
 * @returns its start, what was written in between, and how it is now or was when it ended; times never go back, whatever clocks said.
 */
export function progressPoints(
  { createdAt, endedAt, counts }: Pick<GroupView, 'createdAt' | 'endedAt' | 'counts'>,
  written: readonly TimedPoint[],
  now: number,
): readonly TimedPoint[] {
  const { success, failed, cancelled, inFlight, registered } = counts;
  const last = Math.max(createdAt, endedAt ?? now);
  return [
    { at: createdAt, ...NOTHING_DONE },
    ...written.filter(({ at }) => at > createdAt && at < last),
    { at: last, done: success + failed + cancelled, success, failed, inFlight, registered },
  ];
}
