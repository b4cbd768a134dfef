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
  /** Given by the first run only: what stands beside the work, and is not judged. */
  readonly once?: boolean;
  /** Where it stands on the axis, if the readings are the points of a curve. */
  readonly at?: number;
}

/** Work that is judged by numbers of its own, not beside a peer. */
export interface Gauge {
  readonly work: string;
  readonly readings: readonly Reading[];
  /** How often it runs, where that differs from the benchmark's pairs. */
  readonly runs?: number;
  /** How many of the runs go on at the same time (1): for work that waits most of its time. */
  readonly atOnce?: number;
  /** A picture of it, made after the runs. */
  readonly plot?: { readonly file: string; draw(): string };
  /** Does the work once and answers one value for each reading. The first run is number 0. */
  run(turn: number): Promise<readonly number[]>;
}

/** What the runs said about one reading. */
export interface ReadingResult extends Reading {
  readonly runs: number;
  readonly median: number;
  /** The least and the greatest of the runs. */
  readonly range: readonly [number, number];
  readonly passed: boolean;
}

/** What the runs of a gauge came to. */
export interface GaugeResult {
  readonly work: string;
  readonly runs: number;
  /** The file with its picture, beside the report. */
  readonly plot?: string;
  readonly readings: readonly ReadingResult[];
  readonly passed: boolean;
}

/** Runs a gauge so many times; the medians are judged, or every run where a reading says so. */
export async function runGauge(gauge: Gauge, runs: number): Promise<GaugeResult> {
  const values: (readonly number[])[] = [];
  const { atOnce = 1 } = gauge;
  for (let from = 0; from < runs; from += atOnce) {
    const turns = Array.from({ length: Math.min(atOnce, runs - from) }, (_, offset) => from + offset);
    values.push(...(await allOf(turns.map((turn) => gauge.run(turn)))));
  }
  const readings = gauge.readings.map((reading, index) => {
    const counted = reading.once ? values.slice(0, 1) : values;
    return judged(
      reading,
      counted.map((run) => run[index] ?? Number.NaN),
    );
  });
  const passed = readings.every((reading) => reading.passed);
  return { work: gauge.work, runs, ...(gauge.plot && { plot: gauge.plot.file }), readings, passed };
}

/** Waits for all even if one fails: the others would go on beside whatever comes next. */
async function allOf<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

function judged(reading: Reading, values: readonly number[]): ReadingResult {
  const median = quantile(values, 0.5);
  const { least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY } = reading;
  const range = [quantile(values, 0), quantile(values, 1)] as const;
  const [low, high] = reading.everyRun ? range : [median, median];
  const isBound = reading.least !== undefined || reading.most !== undefined;
  const passed = !isBound || (low >= least && high <= most);
  return { ...reading, runs: values.length, median, range, passed };
}
