import type { CongestionPoint } from '../congestion-stats.js';
import { type HistoryState, isPointDue, POINTS_MAX } from '../rules/congestion-history.js';

/** The present of a store, and how far back it remembers. */
interface Present {
  readonly nowMs: number;
  readonly wallMs: number;
  readonly config: { readonly congestion: { readonly statsRetentionMs: number } };
}

/** The points of a rate. */
export class History<Point extends CongestionPoint> implements HistoryState {
  pointMs: number | undefined;
  pointThrottles = 0;
  /** With the store's time of each, which no change of the wall clock moves. */
  readonly points: { readonly ms: number; readonly point: Omit<Point, 'at'> }[] = [];

  /** Adds a point if it is time for one. */
  note(state: Present, make: (throttles: number) => Omit<Point, 'at'>): void {
    if (!isPointDue(this, state.nowMs, state.config.congestion.statsRetentionMs)) return;
    this.points.push({ ms: state.nowMs, point: make(this.pointThrottles) });
    if (this.points.length > POINTS_MAX) this.points.shift();
    this.pointMs = state.nowMs;
    this.pointThrottles = 0;
  }

  /** Those that are not too old. */
  read(state: Present): Point[] {
    const from = state.nowMs - state.config.congestion.statsRetentionMs;
    return this.points
      .filter(({ ms }) => ms > from)
      .map(({ ms, point }) => ({ at: state.wallMs + ms - state.nowMs, ...point }) as Point);
  }
}
