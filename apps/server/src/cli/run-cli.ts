import { Command, CommanderError } from 'commander';
import { secretsOf } from '../config/secrets.js';
import { secretHider } from '../log.js';
import { VERSION } from '../version.js';
import { configCommand } from './commands/config.js';
import { migrateCommand } from './commands/migrate.js';
import { startCommand } from './commands/start.js';
import { failureOf } from './failure.js';
import { EXIT, type Surroundings } from './surroundings.js';

/**
 * Runs a command of `millrace` to its end.
 * @param args - without the program's own name.
 * @param surroundings - see Surroundings.
 * @returns the exit code: 0, 1 (it failed), 2 (usage or configuration), 130 (interrupted).
 */
export async function runCli(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const { stdout, stderr } = surroundings;
  let exitCode: number = EXIT.DONE;
  const commands = [
    startCommand(surroundings, (code) => {
      exitCode = code;
    }),
    migrateCommand(surroundings),
    configCommand(surroundings),
  ];
  const program = new Command('millrace').description("Runs other people's work on Node.").version(VERSION);
  for (const command of [program, ...commands])
    command
      .exitOverride()
      .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) });
  for (const command of commands) program.addCommand(command);
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has said what is wrong, or shown the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.DONE : EXIT.USAGE;
    const { env } = surroundings;
    const { MILLRACE_API_KEYS: apiKeys, REDIS_URL: redisUrl, DATABASE_URL: databaseUrl } = env;
    const hide = secretHider(secretsOf({ apiKeys, redisUrl, databaseUrl }, env));
    const failure = failureOf(error);
    for (const line of failure.lines) stderr.write(`${hide(line)}\n`);
    return failure.exitCode;
  }
}

/**
 * Runs a command in this process, which it ends.
 * @param args - without the program's own name.
 */
export async function runProcess(args: readonly string[]): Promise<never> {
  // Whoever reads the output may go away; the work goes on.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const { env, stdout, stderr } = process;
  process.exit(await runCli(args, { env, folder: process.cwd(), stdout, stderr, events: process }));
}
