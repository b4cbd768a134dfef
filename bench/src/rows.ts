import { type Comparison, compare } from './measure.js';
import type { Row } from './registry.js';

/** "Not slower than": of a bar of 1 a twentieth is left to the noise of the machine. Other bars stand as they are. */
const NOT_SLOWER = 0.95;

/** A comparison with what was asked of it: some peers set a bar of their own. */
interface JudgedComparison extends Comparison {
  readonly bar: number;
  readonly aim: number;
  readonly passed: boolean;
}

/** What a row came to. */
export interface RowResult {
  readonly work: string;
  readonly unit: string;
  readonly bar: number;
  readonly aim: number;
  readonly ceiling?: number;
  readonly comparisons: readonly JudgedComparison[];
  /** A peer against itself: how far from 1 the same code lands on this machine in this run. */
  readonly noise?: Comparison;
  readonly passed: boolean;
}

/** The least ratio that passes a bar. */
const leastRatio = (bar: number): number => (bar === 1 ? NOT_SLOWER : bar);

/** How a row is run. */
interface RowOptions {
  readonly pairs: number;
  readonly warmUps: number;
  /** Whether the first peer is also compared with itself; that takes a third of the time. */
  readonly withNoise: boolean;
}

/** Compares ours with each peer and judges the ratios and our own cost. */
export async function runRow(row: Row, { pairs, warmUps, withNoise }: RowOptions): Promise<RowResult> {
  const comparisons: JudgedComparison[] = [];
  const { ceiling = Number.POSITIVE_INFINITY } = row;
  for (const peer of row.peers) {
    const comparison = await compare(row.ours, peer, pairs, warmUps);
    const { bar = row.bar, aim = row.aim } = peer;
    const passed = comparison.ratio >= leastRatio(bar) && comparison.oursCost <= ceiling;
    comparisons.push({ ...comparison, bar, aim, passed });
  }
  const [first] = row.peers;
  if (!first) throw new Error(`'${row.work}' has no peer to stand beside`);
  const noise = withNoise ? { noise: await compare(first, first, pairs, 1) } : {};
  const { work, unit, bar, aim } = row;
  const limit = row.ceiling === undefined ? {} : { ceiling };
  const passed = comparisons.every((comparison) => comparison.passed);
  return { work, unit, bar, aim, ...limit, comparisons, ...noise, passed };
}
