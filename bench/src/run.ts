import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import './async-utils.js';
import './bulk-memory.js';
import './runtime.js';
import { type Comparison, compare } from './measure.js';
import { type Bench, type Row, registeredBenches } from './registry.js';

// A bar says "not slower than": a twentieth is left to the noise of the machine.
const TOLERANCE = 0.95;

interface RowResult {
  readonly work: string;
  readonly unit: string;
  readonly bar: number;
  readonly aim: number;
  readonly comparisons: readonly Comparison[];
  /** A peer against itself: how far from 1 the same code lands on this machine in this run. */
  readonly noise: Comparison;
  readonly passed: boolean;
}

async function runRow(row: Row, pairs: number, warmUps: number): Promise<RowResult> {
  const comparisons: Comparison[] = [];
  for (const peer of row.peers) comparisons.push(await compare(row.ours, peer, pairs, warmUps));
  const [first] = row.peers;
  if (!first) throw new Error(`'${row.work}' has no peer to stand beside`);
  const noise = await compare(first, first, pairs, 1);
  const { work, unit, bar, aim, ceiling = Number.POSITIVE_INFINITY } = row;
  const passed = comparisons.every(({ ratio, oursCost }) => ratio >= bar * TOLERANCE && oursCost <= ceiling);
  return { work, unit, bar, aim, comparisons, noise, passed };
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
  for (const { work, unit, comparisons, noise, bar, aim, passed } of results)
    for (const { peer, oursCost, peerCost, ratio, spread } of comparisons)
      table.push([
        work,
        `${oursCost.toFixed(0)} ${unit}`,
        peer,
        `${peerCost.toFixed(0)} ${unit}`,
        `${ratio.toFixed(2)} ×`,
        percent(spread),
        `${noise.ratio.toFixed(2)} × ${percent(noise.spread)}`,
        `≥ ${bar}`,
        aim,
        smoke ? 'not judged' : passed ? 'ok' : 'MISSED',
      ]);
  console.log(`\nbench ${bench.name}${smoke ? ' (smoke: one short iteration, bars not judged)' : ''}`);
  for (const line of bench.settings) console.log(`  ${line}`);
  console.log(table.toString());
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
    options: { smoke: { type: 'boolean', default: false } },
  });
  const known = registeredBenches();
  const unknown = positionals.find((name) => !known.some((bench) => bench.name === name));
  if (unknown !== undefined) {
    console.error(
      `There is no benchmark '${unknown}'. Known: ${known.map((bench) => bench.name).join(', ')}`,
    );
    return 2;
  }
  const { smoke } = values;
  let missed = 0;
  for (const bench of known) {
    if (positionals.length > 0 && !positionals.includes(bench.name)) continue;
    const results: RowResult[] = [];
    for (const row of bench.rows({ smoke }))
      results.push(
        await runRow(row, smoke ? 1 : (row.pairs ?? bench.pairs), smoke ? 0 : (row.warmUps ?? bench.warmUps)),
      );
    print(bench, results, smoke);
    if (!smoke) missed += results.filter((result) => !result.passed).length;
    mkdirSync('.results/bench', { recursive: true });
    const report = { bench: bench.name, smoke, machine: machine(), settings: bench.settings, results };
    writeFileSync(`.results/bench/${bench.name}.json`, `${JSON.stringify(report, null, 2)}\n`);
  }
  if (missed > 0) console.error(`${missed} of the rows above missed the bar`);
  return missed > 0 ? 1 : 0;
}

process.exitCode = await main();
