import { CommanderError } from 'commander';
import type { Environment } from '../config/settings.js';
import { failureOf } from './failure.js';
import { programOf } from './program.js';
import { safeText } from './show/text.js';
import { EXIT, type Surroundings } from './surroundings.js';

/**
 * Runs a command of `millrace` to its end.
 * @param args - without the program's own name.
 * @returns the exit code: 0, 1 (it failed), 2 (usage or configuration), 130 (interrupted).
 */
export async function runCli(args: readonly string[], surroundings: Surroundings): Promise<number> {
  let exitCode: number = EXIT.DONE;
  const setExitCode = (code: number) => {
    exitCode = code;
  };
  const program = await programOf(surroundings, setExitCode, args[0]);
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has said what is wrong, or shown the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.DONE : EXIT.USAGE;
    const hide = await hiderOf(surroundings.env);
    const failure = failureOf(error);
    for (const line of failure.lines) surroundings.stderr.write(`${safeText(hide(line))}\n`);
    return failure.exitCode;
  }
}

/** Takes the secrets of the environment out of what is told. Loaded here: a command that works does not need it. */
async function hiderOf(env: Environment): Promise<(text: string) => string> {
  const [{ secretsOf }, { secretHider }] = await Promise.all([
    import('../config/secrets.js'),
    import('../log.js'),
  ]);
  const { MILLRACE_API_KEYS: apiKeys, REDIS_URL: redisUrl, DATABASE_URL: databaseUrl } = env;
  return secretHider([
    ...secretsOf({ apiKeys, redisUrl, databaseUrl }, env),
    ...(env.MILLRACE_API_KEY ? [env.MILLRACE_API_KEY] : []),
  ]);
}

/**
 * Runs a command in this process, which it ends.
 * @param args - without the program's own name.
 */
export async function runProcess(args: readonly string[]): Promise<never> {
  // Whoever reads the output may go away; the work goes on.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const { env, stdin, stdout, stderr } = process;
  process.exit(await runCli(args, { env, folder: process.cwd(), stdin, stdout, stderr, events: process }));
}
