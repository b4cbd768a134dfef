import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import type { Mutant } from './mutate.js';
import { play, type Run } from './play.js';
import {
  brokenNames,
  firstEvidence,
  type MutantResult,
  protectionsDocument,
  resultOf,
  runName,
} from './report.js';
import { MUTANTS } from './table.js';

const USAGE = `npm run mutants -- [NAME …] [--no-baseline] [--write]
  takes one protection out after the other: its scenario must break
  --no-baseline  does not play the scenarios as they are first
  --write        writes docs/protections.md; of all mutants only`;

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const RESULTS = join(ROOT, '.results', 'chaos');

interface Request {
  readonly mutants: readonly Mutant[];
  readonly baseline: boolean;
  readonly write: boolean;
}

function readRequest(args: readonly string[]): Request | undefined {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { 'no-baseline': { type: 'boolean' }, write: { type: 'boolean' } },
  });
  const { write = false, 'no-baseline': withoutBaseline = false } = values;
  const isKnown = (asked: string) => MUTANTS.some(({ name }) => name === asked);
  if (!positionals.every(isKnown) || (write && (positionals.length > 0 || withoutBaseline))) return undefined;
  const mutants = MUTANTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  return { mutants, baseline: !withoutBaseline, write };
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** The runs with every protection in its place, each played once. */
class Baselines {
  readonly red: string[] = [];
  readonly #played = new Set<string>();

  /** Plays one, unless it has been played. */
  async play(run: Run): Promise<void> {
    const name = `${run.scenario}, seed ${run.seed}${run.full ? ', full' : ''}`;
    if (this.#played.has(name)) return;
    this.#played.add(name);
    const { tookMs, broken, problem } = await play(run);
    const wrong = problem ?? broken.map(({ invariant, evidence }) => `${invariant}: ${evidence}`).join('; ');
    console.log(`${name}, as it is: ${wrong === '' ? 'green' : `RED (${wrong})`}, ${seconds(tookMs)}`);
    if (wrong !== '') this.red.push(name);
  }
}

/** By one seed after the other, until one shows it. */
async function playMutant(mutant: Mutant, baselines: Baselines | undefined): Promise<MutantResult> {
  const source = readFileSync(join(ROOT, mutant.file), 'utf8');
  const { moreSeeds = [] } = mutant;
  const inVain: number[] = [];
  for (let { seed } = mutant; ; ) {
    const run = { ...mutant, seed };
    await baselines?.play(run);
    const result = resultOf(run, await play(run, mutant.name), source, inVain);
    const said = `${result.caught ? 'caught' : 'NOT caught'}: ${brokenNames(result)}`;
    console.log(`${mutant.name} in ${runName(result)}: ${said}, ${seconds(result.tookMs)}`);
    const next = moreSeeds[inVain.length];
    if (result.caught || next === undefined) return result;
    inVain.push(seed);
    seed = next;
  }
}

function print(results: readonly MutantResult[]): void {
  const table = new Table({
    head: ['mutant', 'protection', 'taken out → in its place', 'scenario', 'broken', 'evidence', 'caught'],
    colWidths: [18, 30, 44, 20, 30, 44, 8],
    wordWrap: true,
    wrapOnWordBoundary: false,
    style: { head: [], border: [] },
  });
  for (const result of results) {
    const { name, protection, line, takenOut, instead, caught } = result;
    const change = `${line}: ${takenOut} → ${instead || 'nothing'}`;
    const [broken, evidence] = [brokenNames(result), firstEvidence(result)];
    table.push([name, protection, change, runName(result), broken, evidence, caught ? 'yes' : 'NO']);
  }
  console.log(table.toString());
}

/**
 * The program behind `npm run mutants`.
 * @returns its exit code: 1 when a protection was taken out unnoticed or a scenario is not green as it is, 2 when it was called wrongly.
 * @throws TypeError for an option that does not exist.
 */
export async function runMutants(args: readonly string[]): Promise<number> {
  const request = readRequest(args);
  if (!request) {
    console.error(`Usage: ${USAGE}\n\nMutants:`);
    for (const { name, protection, scenario } of MUTANTS)
      console.error(`  ${name.padEnd(24)} ${protection} (${scenario})`);
    return 2;
  }
  const { mutants, baseline, write } = request;
  const baselines = baseline ? new Baselines() : undefined;
  const results: MutantResult[] = [];
  for (const mutant of mutants) results.push(await playMutant(mutant, baselines));
  const red = baselines?.red ?? [];
  print(results);
  mkdirSync(RESULTS, { recursive: true });
  const written = `${JSON.stringify({ baseline, red, mutants: results }, null, 2)}\n`;
  writeFileSync(join(RESULTS, 'mutants.json'), written);
  if (write) writeFileSync(join(ROOT, 'docs', 'protections.md'), protectionsDocument(results, red));
  const missed = results.filter(({ caught }) => !caught).map(({ name }) => name);
  console.log(`${results.length - missed.length} of ${results.length} mutants caught`);
  if (missed.length > 0) console.log(`NOT caught: ${missed.join(', ')}`);
  if (red.length > 0) console.log(`not green as they are: ${red.join(', ')}`);
  return missed.length + red.length > 0 ? 1 : 0;
}
