import Table from 'cli-table3';
import { quantile } from './measure.js';

/** A number of a run that is judged by itself. */
interface Reading {
  readonly name: string;
  readonly unit: string;
  /** Bounds of the median; a reading without one is there to be read. */
  readonly least?: number;
  readonly most?: number;
  /** Whether the bounds are those of every run, not only of the median. */
  readonly everyRun?: boolean;
  readonly aim?: number;
}

/** Work that is judged by numbers of its own, not beside a peer. */
export interface Gauge {
  readonly work: string;
  readonly readings: readonly Reading[];
  /** How often it runs, where that differs from the benchmark's pairs. */
  readonly runs?: number;
  /** Does the work once and answers one value for each reading. */
  run(): Promise<readonly number[]>;
}

/** What the runs of a gauge came to. */
export interface GaugeResult {
  readonly work: string;
  readonly runs: number;
  readonly readings: readonly (Reading & {
    readonly median: number;
    /** The least and the greatest of the runs. */
    readonly range: readonly [number, number];
    readonly passed: boolean;
  })[];
  readonly passed: boolean;
}

/** Runs a gauge so many times; the medians are judged, or every run where a reading says so. */
export async function runGauge(gauge: Gauge, runs: number): Promise<GaugeResult> {
  const values: (readonly number[])[] = [];
  for (let run = 0; run < runs; run++) values.push(await gauge.run());
  const readings = gauge.readings.map((reading, index) => {
    const all = values.map((run) => run[index] ?? Number.NaN);
    const median = quantile(all, 0.5);
    const { least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY } = reading;
    const range = [quantile(all, 0), quantile(all, 1)] as const;
    const [low, high] = reading.everyRun ? range : [median, median];
    const passed = low >= least && high <= most;
    return { ...reading, median, range, passed };
  });
  return { work: gauge.work, runs, readings, passed: readings.every(({ passed }) => passed) };
}

/** The results as a table, a line for each reading. */
export function gaugeTable(results: readonly GaugeResult[], smoke: boolean): string {
  const head = ['work', 'reading', 'median', 'from … to', 'runs', 'bar', 'aim', smoke ? '' : 'verdict'];
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const { work, runs, readings } of results)
    for (const { name, unit, least, most, everyRun, aim, median, range, passed } of readings) {
      const bound = least !== undefined ? `≥ ${least}` : most !== undefined ? `≤ ${most}` : '';
      const bar = bound !== '' && everyRun ? `every ${bound}` : bound;
      const verdict = smoke ? 'not judged' : bar === '' ? '' : passed ? 'ok' : 'MISSED';
      const [lowest, highest] = range;
      const spread = `${significant(lowest)} … ${significant(highest)}`;
      table.push([work, name, `${significant(median)} ${unit}`, spread, runs, bar, aim ?? '', verdict]);
    }
  return table.toString();
}

const significant = (value: number): string => String(Number(value.toPrecision(5)));
