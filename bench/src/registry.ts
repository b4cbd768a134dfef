import type { Gauge } from './gauges.js';
import type { Side } from './measure.js';

/** One line of a benchmark: the same work done by us and by each peer. */
export interface Row {
  readonly work: string;
  readonly unit: string;
  readonly ours: Side;
  readonly peers: readonly Side[];
  /** Least ratio against every peer; a bar of 1.0 passes at 0.95. */
  readonly bar: number;
  readonly aim: number;
  /** Most that one operation may cost us, in the row's unit. */
  readonly ceiling?: number;
  /** Pairs and warm-ups of this row, where they differ from the benchmark's. */
  readonly pairs?: number;
  readonly warmUps?: number;
  /** Ends what its samples have started and kept. */
  close?(): Promise<void>;
}

/** A benchmark that `npm run bench -- NAME` knows. */
export interface Bench {
  readonly name: string;
  /** What the peers were told, printed with the result. */
  readonly settings: readonly string[];
  /** Fewest pairs that count: 25 for micro benchmarks, 9 for macro ones. */
  readonly pairs: number;
  readonly warmUps: number;
  /** Makes the rows; with `smoke` each does as little work as still shows that it runs. */
  rows(options: { readonly smoke: boolean }): readonly Row[];
  /** Makes the lines that have no peer, run as often as a row has pairs unless they say how often. */
  gauges?(options: { readonly smoke: boolean }): readonly Gauge[];
  /** Ends what the rows have started. */
  close?(): Promise<void>;
}

const benches = new Map<string, Bench>();

/** Makes a benchmark known by its name. */
export function registerBench(bench: Bench): void {
  if (benches.has(bench.name)) throw new Error(`There are two benchmarks named '${bench.name}'`);
  benches.set(bench.name, bench);
}

/** The benchmark of that name, when its module has been loaded. */
export const registeredBench = (name: string): Bench | undefined => benches.get(name);
