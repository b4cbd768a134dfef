import { type GaugeResult, runGauge } from './gauges.js';
import type { Bench } from './registry.js';
import type { BenchFiles } from './report/files.js';
import { type RowResult, runRow } from './rows.js';

/** What the rows and gauges of a benchmark came to. */
interface BenchResults {
  readonly results: readonly RowResult[];
  readonly gauges: readonly GaugeResult[];
}

interface RunOptions {
  /** Whether everything runs once and short. */
  readonly smoke: boolean;
  /** Told of each row and gauge before it begins. */
  readonly announce: (work: string) => void;
  /** Where pictures go. */
  readonly files: Pick<BenchFiles, 'savePicture'>;
}

/** Runs a benchmark to its end and ends what it has started. */
export async function runBench(bench: Bench, { smoke, announce, files }: RunOptions): Promise<BenchResults> {
  const results: RowResult[] = [];
  const gauges: GaugeResult[] = [];
  try {
    for (const row of bench.rows({ smoke })) {
      announce(row.work);
      const { pairs = bench.pairs, warmUps = bench.warmUps } = row;
      // Where nothing is judged, noise would only take half of the time.
      const options = smoke
        ? { pairs: 1, warmUps: 0, withNoise: false }
        : { pairs, warmUps, withNoise: true };
      try {
        results.push(await runRow(row, options));
      } finally {
        await row.close?.();
      }
    }
    for (const gauge of bench.gauges?.({ smoke }) ?? []) {
      announce(gauge.work);
      gauges.push(await runGauge(gauge, smoke ? 1 : (gauge.runs ?? bench.pairs)));
      if (gauge.plot) files.savePicture(gauge.plot.file, gauge.plot.draw(), smoke);
    }
  } finally {
    await bench.close?.();
  }
  return { results, gauges };
}
