/*
 * How a rate went, in points: one when something happens and the one before is old enough. Nobody has to wake up for it, and
 * where nothing happens there is nothing to see.
 */

/** Points of one history at most: the default retention of an hour has one every five seconds. */
export const POINTS_MAX = 720;
const EVERY_MIN_MS = 1000;

/** What is kept beside the points. Times in ms of the store. */
export interface HistoryState {
  /** The last point; undefined = none. */
  pointMs: number | undefined;
  /** Throttled tries since then. */
  pointThrottles: number;
}

/**
 * Whether it is time for a point; a clock that was set back does not stop them.
 * @param state - looked at only.
 * @param nowMs - the present.
 * @param retentionMs - how long points are kept; 0 = none are made.
 */
export function isPointDue({ pointMs }: HistoryState, nowMs: number, retentionMs: number): boolean {
  if (retentionMs === 0) return false;
  if (pointMs === undefined || nowMs < pointMs) return true;
  return nowMs - pointMs >= pointEveryMs(retentionMs);
}

/**
 * The least time between two points.
 * @param retentionMs - how long they are kept.
 */
export const pointEveryMs = (retentionMs: number): number =>
  Math.max(EVERY_MIN_MS, Math.ceil(retentionMs / POINTS_MAX));
