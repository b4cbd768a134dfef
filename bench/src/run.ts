import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { benchNames, loadBench } from './benches.js';
import { type GaugeResult, gaugeTable, runGauge } from './gauges.js';
import { type Comparison, compare } from './measure.js';
import type { Bench, Row } from './registry.js';

// A bar says "not slower than": a twentieth is left to the noise of the machine.
const TOLERANCE = 0.95;

/** A comparison with what was asked of it: some peers set a bar of their own. */
interface JudgedComparison extends Comparison {
  readonly bar: number;
  readonly aim: number;
  readonly passed: boolean;
}

interface RowResult {
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

async function runRow(row: Row, pairs: number, warmUps: number, smoke: boolean): Promise<RowResult> {
  const comparisons: JudgedComparison[] = [];
  const { ceiling = Number.POSITIVE_INFINITY } = row;
  for (const peer of row.peers) {
    const comparison = await compare(row.ours, peer, pairs, warmUps);
    const { bar = row.bar, aim = row.aim } = peer;
    const passed = comparison.ratio >= bar * TOLERANCE && comparison.oursCost <= ceiling;
    comparisons.push({ ...comparison, bar, aim, passed });
  }
  const [first] = row.peers;
  if (!first) throw new Error(`'${row.work}' has no peer to stand beside`);
  // Where nothing is judged it would only take half of the time.
  const noise = smoke ? {} : { noise: await compare(first, first, pairs, 1) };
  const { work, unit, bar, aim } = row;
  const limit = row.ceiling === undefined ? {} : { ceiling };
  const passed = comparisons.every((comparison) => comparison.passed);
  return { work, unit, bar, aim, ...limit, comparisons, ...noise, passed };
}

interface BenchResults {
  readonly results: readonly RowResult[];
  readonly gauges: readonly GaugeResult[];
}

async function runBench(bench: Bench, smoke: boolean): Promise<BenchResults> {
  const results: RowResult[] = [];
  const gauges: GaugeResult[] = [];
  // A full run takes minutes.
  const announce = (work: string) => smoke || console.error(`${bench.name}: ${work}`);
  try {
    for (const row of bench.rows({ smoke })) {
      announce(row.work);
      const { pairs = bench.pairs, warmUps = bench.warmUps } = row;
      try {
        results.push(await runRow(row, smoke ? 1 : pairs, smoke ? 0 : warmUps, smoke));
      } finally {
        await row.close?.();
      }
    }
    for (const gauge of bench.gauges?.({ smoke }) ?? []) {
      announce(gauge.work);
      gauges.push(await runGauge(gauge, smoke ? 1 : (gauge.runs ?? bench.pairs)));
    }
  } finally {
    await bench.close?.();
  }
  return { results, gauges };
}

function print(bench: Bench, results: readonly RowResult[], smoke: boolean): void {
  const percent = (share: number) => `±${(share * 100).toFixed(1)} %`;
  const table = new Table({
    head: [
      'work',
      'ours',
      'peer',
      'peer’s',
      'ratio',
      'spread',
      'self-noise',
      'bar',
      'aim',
      smoke ? '' : 'verdict',
    ],
    style: { head: [], border: [] },
  });
  for (const { work, unit, ceiling, comparisons, noise } of results)
    for (const { peer, oursCost, peerCost, ratio, spread, bar, aim, passed } of comparisons)
      table.push([
        work,
        `${oursCost.toFixed(0)} ${unit}`,
        peer,
        `${peerCost.toFixed(0)} ${unit}`,
        `${ratio.toFixed(2)} ×`,
        percent(spread),
        noise ? `${noise.ratio.toFixed(2)} × ${percent(noise.spread)}` : '',
        ceiling === undefined ? `≥ ${bar}` : `≥ ${bar}, ≤ ${ceiling} ${unit}`,
        aim,
        smoke ? 'not judged' : passed ? 'ok' : 'MISSED',
      ]);
  console.log(`\nbench ${bench.name}${smoke ? ' (smoke: one short iteration, bars not judged)' : ''}`);
  for (const line of bench.settings) console.log(`  ${line}`);
  if (results.length > 0) console.log(table.toString());
}

/** The machine and the program versions that a number is worth nothing without. */
const machine = () => ({
  node: process.version,
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
});

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { smoke: { type: 'boolean', default: false }, shards: { type: 'boolean', default: false } },
  });
  // Of the engine on Redis, not beside the peers but over one and several shards of a cluster.
  if (values.shards) positionals.splice(0, positionals.length, 'bulk-shards');
  const known = benchNames();
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    console.error(`There is no benchmark '${unknown}'. Known: ${known.join(', ')}`);
    return 2;
  }
  const { smoke } = values;
  let missed = 0;
  for (const name of known) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    const bench = await loadBench(name);
    const { results, gauges } = await runBench(bench, smoke);
    print(bench, results, smoke);
    if (gauges.length > 0) console.log(gaugeTable(gauges, smoke));
    if (!smoke) missed += [...results, ...gauges].filter((result) => !result.passed).length;
    mkdirSync('.results/bench', { recursive: true });
    const report = {
      bench: bench.name,
      smoke,
      machine: machine(),
      settings: bench.settings,
      results,
      gauges,
    };
    writeFileSync(`.results/bench/${bench.name}.json`, `${JSON.stringify(report, null, 2)}\n`);
  }
  if (missed > 0) console.error(`${missed} of the rows above missed the bar`);
  return missed > 0 ? 1 : 0;
}

process.exitCode = await main();
