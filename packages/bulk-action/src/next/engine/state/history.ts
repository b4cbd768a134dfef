import type { CongestionPoint } from '../../../congestion-stats.js';
import { type HistoryState, isPointDue, POINTS_MAX } from '../../../rules/congestion-history.js';

/** Rates are kept to a tenth, so that a stored point takes about ten bytes. */
const PARTS = 10;

/** Returns a rate as a point of a history has it. */
export const roundedRate = (rate: number): number => Math.round(rate * PARTS) / PARTS;

/** The points of a rate, oldest first. A point is added when something happens and the last one is old enough. */
export class History<Point extends CongestionPoint> implements HistoryState {
  pointMs: number | undefined;
  /** Throttled attempts since the last point. */
  pointThrottles = 0;
  points: Point[] = [];

  /** Reports whether the next event is worth a point. */
  isDue(nowMs: number, retentionMs: number): boolean {
    return isPointDue(this, nowMs, retentionMs);
  }

  /** Adds a point. The oldest one goes if there are too many. */
  add(point: Point): void {
    this.points.push(point);
    if (this.points.length > POINTS_MAX) this.points.shift();
    this.pointMs = point.at;
    this.pointThrottles = 0;
  }

  /** Returns the points that are not older than the retention. */
  read(nowMs: number, retentionMs: number): Point[] {
    return this.points.filter(({ at }) => at > nowMs - retentionMs);
  }
}
