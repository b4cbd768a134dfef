import type { Gauge } from './gauges.js';
import type { Side } from './measure.js';

/** The ends of the curve are judged by a row of their own, with more runs. */
const RUNS = 3;
const FEWEST = 10;

/** How the row that judges the ends of the curve is read. */
export const GROWTH_RATIOS =
  'many groups beside 10: a ratio of 0.4 is 2.5 times the cost of a job, 0.67 is 1.5 times';

/** 10, 100, 1,000 … up to the most, which is the last. */
function tenfold(most: number): number[] {
  const sizes: number[] = [];
  for (let size = FEWEST; size < most; size *= 10) sizes.push(size);
  return [...sizes, most];
}

/**
 * What a job costs among ever more groups: a curve.
 * @param most - groups at most.
 * @param among - does the work among so many groups; nanoseconds per job.
 */
export function growth(most: number, among: (groups: number) => Side): Gauge {
  const sizes = tenfold(most);
  return {
    work: 'process: cost of a job as groups grow',
    runs: RUNS,
    readings: sizes.map((at) => ({ name: `${at.toLocaleString('en')} groups`, unit: 'µs', at })),
    async run() {
      const costs: number[] = [];
      for (const groups of sizes) costs.push((await among(groups).sample()) / 1000);
      return costs;
    },
  };
}
