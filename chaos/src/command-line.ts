import { parseArgs } from 'node:util';

/** What `npm run chaos` was asked for. */
export interface ChaosRequest {
  /** None: all of them. */
  readonly scenarios: readonly string[];
  /** Of the first round; drawn when none was given. */
  readonly seed: number;
  /** How long the scenarios go round. */
  readonly minutes: number;
  /** 1 for the full run. */
  readonly scale: number;
  /** Whether to say which faults there are instead of playing them. */
  readonly list: boolean;
}

/** What `npm test` runs: a twentieth of the counts and durations. */
const SHORT_SCALE = 0.05;

/** How the program is called, for whoever called it otherwise. */
export const USAGE = 'npm run chaos -- [SCENARIO …] [--seed N] [--minutes M] [--short] | --list';

/**
 * Reads the command line.
 * @param args - what follows the program's name.
 * @param drawSeed - gives a seed when none is asked for.
 * @returns undefined when a number is none.
 * @throws TypeError for an option that does not exist.
 */
export function readCommandLine(
  args: readonly string[],
  drawSeed: () => number = () => Math.floor(Math.random() * 1e9),
): ChaosRequest | undefined {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seed: { type: 'string' },
      minutes: { type: 'string', default: '0' },
      short: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  });
  const seed = values.seed === undefined ? drawSeed() : Number(values.seed);
  const minutes = Number(values.minutes);
  if (!Number.isSafeInteger(seed) || !(minutes >= 0)) return undefined;
  const { short, list } = values;
  return { scenarios: positionals, seed, minutes, scale: short ? SHORT_SCALE : 1, list };
}

/** The command that plays one scenario again: plans differ by scale, so a short run is replayed as one. */
export const replayCommand = (played: { scenario: string; seed: number; scale: number }): string =>
  `npm run chaos -- ${played.scenario} --seed ${played.seed}${played.scale < 1 ? ' --short' : ''}`;
