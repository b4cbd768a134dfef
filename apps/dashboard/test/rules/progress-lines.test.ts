import { describe, expect, it } from 'vitest';
import { progressLines } from '../../src/rules/progress-lines.js';

const point = (second: number, success: number) => ({
  at: new Date(second * 1000).toISOString(),
  done: success,
  success,
  failed: 0,
  inFlight: 1,
  registered: 100,
});

describe('progressLines', () => {
  it('draws a start and an end as they are', () => {
    const { times, success, registered } = progressLines([point(100, 0), point(130, 60)]);
    expect({ times, success, registered }).toEqual({
      times: [100, 130],
      success: [0, 60],
      registered: [100, 100],
    });
  });

  it('draws a long time without a point as a time without progress', () => {
    const points = [point(0, 0), point(10, 10), point(20, 20), point(620, 30), point(630, 40)];
    const { times, success } = progressLines(points);
    expect(times).toEqual([0, 10, 20, 610, 620, 630]);
    expect(success).toEqual([0, 10, 20, 20, 30, 40]);
  });

  it('has one value for a time, also when a clock went back', () => {
    const { times, success } = progressLines([point(10, 0), point(10, 5), point(9, 6), point(11, 7)]);
    expect(times).toEqual([10, 11]);
    expect(success).toEqual([6, 7]);
  });

  it('draws nothing of nothing', () => {
    expect(progressLines([]).times).toEqual([]);
  });
});
