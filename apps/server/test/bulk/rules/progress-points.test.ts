import { describe, expect, it } from 'vitest';
import { progressPoints } from '../../../src/bulk/rules/progress-points.js';

const point = (at: number, done: number) => ({
  at,
  done,
  success: done,
  failed: 0,
  inFlight: 2,
  registered: 10,
});
const counts = {
  registered: 10,
  success: 5,
  failed: 2,
  cancelled: 1,
  pending: 1,
  inFlight: 1,
  nonReady: 0,
  ready: 0,
};
const START = { at: 100, done: 0, success: 0, failed: 0, inFlight: 0, registered: 0 };
const NOW = { done: 8, success: 5, failed: 2, inFlight: 1, registered: 10 };

describe('the progress of a group', () => {
  it('without anything written down is its start and now', () => {
    expect(progressPoints({ createdAt: 100, counts }, [], 500)).toEqual([START, { at: 500, ...NOW }]);
  });

  it('ends when the group did', () => {
    const written = [point(200, 3), point(300, 8), point(350, 8)];
    const points = progressPoints({ createdAt: 100, endedAt: 300, counts }, written, 9_000);
    expect(points).toEqual([START, point(200, 3), { at: 300, ...NOW }]);
  });

  it('never goes back in time, whatever the clocks of the stores say', () => {
    const written = [point(50, 1), point(100, 1), point(200, 2), point(900, 3)];
    const points = progressPoints({ createdAt: 100, counts }, written, 800);
    expect(points.map(({ at }) => at)).toEqual([100, 200, 800]);
    expect(progressPoints({ createdAt: 100, counts }, [], 20).map(({ at }) => at)).toEqual([100, 100]);
  });
});
