import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRng } from '@millrace/foundation';
import Table from 'cli-table3';
import { registeredScenarios, type Scenario, type Verdict } from './registry.js';
import './scenarios/abort-storm.js';
import './scenarios/bulk-corrupt-record.js';
import './scenarios/bulk-memory-full.js';
import './scenarios/bulk-redis.js';
import './scenarios/bulk-workers.js';
import './scenarios/redis-queue.js';
import './scenarios/runner-killed.js';

// What `npm test` runs: a twentieth of the counts and durations.
const SHORT_SCALE = 0.05;

interface Outcome {
  readonly scenario: string;
  readonly seed: number;
  readonly scale: number;
  readonly durationMs: number;
  readonly verdicts: readonly Verdict[];
}

async function play(scenario: Scenario, seed: number, scale: number): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-chaos-'));
  const startedAt = performance.now();
  let verdicts: readonly Verdict[];
  try {
    verdicts = await scenario.run({ rng: seededRng(seed).fork(scenario.name), scale, folder });
  } catch (error) {
    verdicts = [
      { invariant: 'ran to its end', held: false, evidence: String((error as Error)?.stack ?? error) },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return { scenario: scenario.name, seed, scale, durationMs: performance.now() - startedAt, verdicts };
}

function print(outcomes: readonly Outcome[]): void {
  const table = new Table({
    head: ['scenario', 'invariant', 'held', 'evidence'],
    style: { head: [], border: [] },
  });
  for (const { scenario, verdicts } of outcomes) {
    for (const { invariant, held, evidence } of verdicts) {
      table.push([scenario, invariant, held ? 'yes' : 'NO', evidence]);
    }
  }
  console.log(table.toString());
  for (const { scenario, seed, scale, durationMs, verdicts } of outcomes) {
    const broken = verdicts.some(({ held }) => !held);
    const took = `${(durationMs / 1000).toFixed(1)} s, seed ${seed}, scale ${scale}`;
    console.log(
      `${scenario}: ${took}${broken ? `; replay: npm run chaos -- ${scenario} --seed ${seed}` : ''}`,
    );
  }
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seed: { type: 'string' },
      minutes: { type: 'string', default: '0' },
      short: { type: 'boolean', default: false },
    },
  });
  const known = registeredScenarios();
  const unknown = positionals.find((name) => !known.some((scenario) => scenario.name === name));
  const firstSeed = Number(values.seed ?? Math.floor(Math.random() * 1e9));
  const minutes = Number(values.minutes);
  if (unknown !== undefined || !Number.isSafeInteger(firstSeed) || !(minutes >= 0)) {
    console.error('Usage: npm run chaos -- [SCENARIO …] [--seed N] [--minutes M] [--short]\n\nScenarios:');
    for (const { name, what } of known) console.error(`  ${name.padEnd(20)} ${what}`);
    return 2;
  }
  const chosen = known.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const scale = values.short ? SHORT_SCALE : 1;
  const outcomes: Outcome[] = [];
  const until = performance.now() + minutes * 60_000;
  // With --minutes the scenarios go round, each time with the next seed, until the time is up.
  for (let seed = firstSeed; ; seed++) {
    for (const scenario of chosen) outcomes.push(await play(scenario, seed, scale));
    if (performance.now() >= until) break;
  }
  print(outcomes);
  mkdirSync('.results/chaos', { recursive: true });
  for (const { name } of chosen) {
    const own = outcomes.filter(({ scenario }) => scenario === name);
    writeFileSync(`.results/chaos/${name}.json`, `${JSON.stringify(own, null, 2)}\n`);
  }
  return outcomes.some(({ verdicts }) => verdicts.some(({ held }) => !held)) ? 1 : 0;
}

process.exitCode = await main();
