import { describe, expect, it } from 'vitest';
import { runGauge } from '../src/gauges.js';
import { gaugeTable } from '../src/report/tables.js';

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

  it('lets so many runs go on at the same time as the gauge says, and judges them all', async () => {
    const [begun, ended]: [number[], number[]] = [[], []];
    const result = await runGauge(
      {
        ...gauge([], { most: 3 }),
        atOnce: 2,
        async run(turn) {
          begun.push(turn);
          // A turn of a later pair has not begun while one of this pair is under way.
          expect(begun.length - ended.length).toBeLessThanOrEqual(2);
          await Promise.resolve();
          ended.push(turn);
          return [turn, 0];
        },
      },
      5,
    );
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    expect(result.readings[0]).toMatchObject({ runs: 5, median: 2, range: [0, 4], passed: true });
  });

  it('a run that breaks breaks the gauge, when those beside it have ended', async () => {
    let others = 0;
    const run = async (turn: number) => {
      if (turn === 0) throw new Error('broken');
      await new Promise((resolve) => setImmediate(resolve));
      others += 1;
      return [1, 1];
    };
    await expect(runGauge({ ...gauge([], {}), atOnce: 3, run }, 3)).rejects.toThrow('broken');
    expect(others).toBe(2);
  });

  it('takes a reading that is there once from the first run', async () => {
    const readings = [
      { name: 'ours', unit: 'ms', most: 5 },
      { name: 'beside it', unit: 'ms', once: true },
    ];
    const run = async (turn: number) => (turn === 0 ? [1, 7] : [3]);
    const result = await runGauge({ work: 'w', readings, run }, 3);
    expect(result.readings).toMatchObject([
      { median: 3, runs: 3 },
      { median: 7, range: [7, 7], runs: 1, passed: true },
    ]);
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
