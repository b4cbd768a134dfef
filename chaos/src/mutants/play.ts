import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Verdict } from '../registry.js';
import type { Mutant } from './mutate.js';
import { MUTANT_NAME, MUTANT_WITNESS, notApplied } from './witness.js';

/** Which run of which scenario. */
export type Run = Pick<Mutant, 'scenario' | 'seed' | 'full'>;

/** What came of a run. */
export interface Played {
  readonly tookMs: number;
  /** Of the invariants that did not hold. */
  readonly broken: readonly Verdict[];
  /** Why it shows nothing, if it does not. */
  readonly problem: string | undefined;
}

const PROGRAM = fileURLToPath(new URL('../run.js', import.meta.url));
const HOOK = new URL('./hook.js', import.meta.url).href;
/** Longer than the patience of any scenario. */
const ENDS_WITHIN_MS = 240_000;
const LAST_WORDS = 600;

/**
 * Plays a scenario in processes of its own, and in a folder of its own: what it writes down of itself must not pass for the result of a real run.
 * @param name - of the mutant that all its processes are; as they are when none is given.
 */
export async function play(run: Run, name?: string): Promise<Played> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-mutant-'));
  const [witness, output] = [join(folder, 'witness'), join(folder, 'output')];
  const startedAt = performance.now();
  try {
    const options = [process.env.NODE_OPTIONS, `--import=${HOOK}`].filter(Boolean).join(' ');
    const mutated = name && { NODE_OPTIONS: options, [MUTANT_NAME]: name, [MUTANT_WITNESS]: witness };
    await playedToItsEnd(run, { folder, output, env: { ...process.env, ...mutated } });
    const verdicts = verdictsIn(join(folder, '.results', 'chaos', `${run.scenario}.json`));
    return {
      tookMs: performance.now() - startedAt,
      broken: verdicts?.filter(({ held }) => !held) ?? [],
      problem: (name && notApplied(textOf(witness))) || (verdicts ? undefined : lastWords(output)),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function playedToItsEnd(
  { scenario, seed, full = false }: Run,
  {
    folder,
    output,
    env,
  }: { readonly folder: string; readonly output: string; readonly env: NodeJS.ProcessEnv },
): Promise<void> {
  const printed = openSync(output, 'a');
  const args = [PROGRAM, scenario, '--seed', String(seed), ...(full ? [] : ['--short'])];
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', printed, printed] });
  const killer = setTimeout(() => child.kill('SIGKILL'), ENDS_WITHIN_MS);
  try {
    await once(child, 'exit');
  } finally {
    clearTimeout(killer);
    closeSync(printed);
  }
}

const textOf = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');

function verdictsIn(file: string): readonly Verdict[] | undefined {
  if (!existsSync(file)) return undefined;
  const outcomes = JSON.parse(readFileSync(file, 'utf8')) as readonly { verdicts: readonly Verdict[] }[];
  return outcomes.flatMap(({ verdicts }) => verdicts);
}

const lastWords = (output: string): string => `no verdict: ${textOf(output).slice(-LAST_WORDS)}`;
