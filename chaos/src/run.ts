import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRng } from '@millrace/foundation';
import Table from 'cli-table3';
import { readCommandLine, replayCommand, USAGE } from './command-line.js';
import { registeredScenarios, type Scenario, type Verdict } from './registry.js';
import './scenarios/index.js';

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
    const replay = broken ? `; replay: ${replayCommand({ scenario, seed, scale })}` : '';
    console.log(`${scenario}: ${took}${replay}`);
  }
}

async function main(): Promise<number> {
  const request = readCommandLine(process.argv.slice(2));
  const known = registeredScenarios();
  const isKnown = (asked: string) => known.some(({ name }) => name === asked);
  if (!request?.scenarios.every(isKnown)) {
    console.error(`Usage: ${USAGE}\n\nScenarios:`);
    for (const { name, what } of known) console.error(`  ${name.padEnd(26)} ${what}`);
    return 2;
  }
  const { scenarios, seed: firstSeed, minutes, scale } = request;
  const chosen = known.filter(({ name }) => scenarios.length === 0 || scenarios.includes(name));
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
