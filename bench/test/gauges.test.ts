import { describe, expect, it } from 'vitest';
import { gaugeTable, runGauge } from '../src/gauges.js';

const gauge = (values: number[], bounds: { least?: number; most?: number; everyRun?: boolean }) => ({
  work: 'waiting',
  readings: [
    { name: 'wait', unit: 'ms', ...bounds },
    { name: 'runs so far', unit: '' },
  ],
  run: async () => [values.shift() ?? Number.NaN, values.length],
});

describe('runGauge', () => {
  it('judges the median of the runs by its bounds: one disturbed run changes nothing', async () => {
    const result = await runGauge(gauge([4, 900, 5], { most: 5 }), 3);
    expect(result).toMatchObject({ work: 'waiting', runs: 3, passed: true });
    expect(result.readings[0]).toMatchObject({ median: 5, range: [4, 900], passed: true });
  });

  it('judges every run where a reading says so', async () => {
    expect((await runGauge(gauge([4, 6, 5], { most: 5, everyRun: true }), 3)).passed).toBe(false);
    expect((await runGauge(gauge([4, 5, 5], { most: 5, everyRun: true }), 3)).passed).toBe(true);
    expect((await runGauge(gauge([4, 5, 5], { least: 5, everyRun: true }), 3)).passed).toBe(false);
  });

  it('misses what is above the most or below the least, and never what has no bound', async () => {
    const above = await runGauge(gauge([6], { most: 5 }), 1);
    expect(above.passed).toBe(false);
    expect(above.readings.map(({ passed }) => passed)).toEqual([false, true]);
    expect((await runGauge(gauge([6], { least: 7 }), 1)).passed).toBe(false);
    expect((await runGauge(gauge([], { least: 0 }), 1)).passed).toBe(false);
  });
});

describe('gaugeTable', () => {
  it('prints bound and verdict of each reading, and judges nothing in a smoke run', async () => {
    const results = [await runGauge(gauge([6], { most: 5 }), 1)];
    expect(gaugeTable(results, false)).toMatch(/wait .*6 ms.*≤ 5.*MISSED/);
    expect(gaugeTable(results, true)).toMatch(/wait .*not judged/);
    const every = [await runGauge(gauge([5], { most: 5, everyRun: true }), 1)];
    expect(gaugeTable(every, false)).toMatch(/wait .*every ≤ 5.*ok/);
  });
});
