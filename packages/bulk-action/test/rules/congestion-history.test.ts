import { describe, expect, it } from 'vitest';
import { isPointDue, POINTS_MAX } from '../../src/rules/congestion-history.js';

const HOUR_MS = 3_600_000;
const since = (pointMs: number | undefined) => ({ pointMs, pointThrottles: 0 });

describe('bulk-action BA-3: points of a history', () => {
  it('bulk-action BA-3: the first at once, then so far apart that the retention holds no more than is kept', () => {
    expect(isPointDue(since(undefined), 0, HOUR_MS)).toBe(true);
    expect(isPointDue(since(0), HOUR_MS / POINTS_MAX - 1, HOUR_MS)).toBe(false);
    expect(isPointDue(since(0), HOUR_MS / POINTS_MAX, HOUR_MS)).toBe(true);
  });

  it('bulk-action BA-3: never more often than every second; none without retention', () => {
    expect(isPointDue(since(0), 999, 1000)).toBe(false);
    expect(isPointDue(since(0), 1000, 1000)).toBe(true);
    expect(isPointDue(since(undefined), 0, 0)).toBe(false);
  });

  it('bulk-action BA-3: a clock set back does not stop them', () => {
    expect(isPointDue(since(HOUR_MS), 5, HOUR_MS)).toBe(true);
  });
});
