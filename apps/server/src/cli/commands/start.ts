import { resolve } from 'node:path';
import { systemClock } from '@millrace/foundation';
import { Command, Option } from 'commander';
import { gracePlan } from '../../compose/grace-plan.js';
import { loadConfig } from '../../config/load-config.js';
import { secretsOf } from '../../config/secrets.js';
import { SETTINGS } from '../../config/settings.js';
import { ERRORS } from '../../errors.js';
import { createLog, secretHider } from '../../log.js';
import { VERSION } from '../../version.js';
import { bannerOf } from '../banner.js';
import { failureOf } from '../failure.js';
import { serveUntilEnd } from '../serve-until-end.js';
import type { End, Surroundings } from '../surroundings.js';
import { joinSupervisor, type ToSupervisor } from '../watch/join-supervisor.js';
import { loadWatched } from '../watch/load-watched.js';
import { supervise } from '../watch/supervise.js';

/** The values of the flags that are settings, by the path of the setting; `config` names the file. */
type SettingFlags = Readonly<Record<string, string | undefined>>;

interface StartFlags {
  readonly watch?: true;
  readonly supervised?: true;
}

/**
 * `millrace start`: serves until it is told to end.
 * @param surroundings - see Surroundings.
 * @param end - takes the exit code.
 */
export function startCommand(surroundings: Surroundings, end: End): Command {
  const command = new Command('start').description('Serve the API, run the work.');
  for (const { flag, path, description } of SETTINGS)
    if (flag !== undefined) command.option(`${flag} <${path}>`, description);
  return command
    .option('--config <file>', 'The file of settings, instead of millrace.config.js or .json here.')
    .option('--watch', 'Start anew whenever a file of the application changes; for development.')
    .addOption(new Option('--supervised', 'What --watch starts.').hideHelp())
    .action(async ({ watch, supervised, ...flags }: StartFlags & SettingFlags) =>
      end(
        watch
          ? await supervise(supervisedArguments(flags), surroundings, systemClock)
          : await start(surroundings, flags, supervised && (await supervisor())),
      ),
    );
}

/** The command line of a server with the same settings. */
const supervisedArguments = (flags: SettingFlags): readonly string[] => [
  'start',
  '--supervised',
  ...[...SETTINGS, { flag: '--config', path: 'config' }].flatMap(({ flag, path }) =>
    flag === undefined || flags[path] === undefined ? [] : [`${flag}=${flags[path]}`],
  ),
];

/** What is loaded from then on is the user's. */
async function supervisor(): Promise<ToSupervisor> {
  await import('../../start-server.js');
  return joinSupervisor(systemClock);
}

async function start(
  surroundings: Surroundings,
  flags: SettingFlags,
  supervisor: ToSupervisor | undefined,
): Promise<number> {
  try {
    return await serve(surroundings, flags, supervisor);
  } finally {
    await supervisor?.flush();
  }
}

async function serve(
  { env, folder, stdout, stderr, events }: Surroundings,
  flags: SettingFlags,
  supervisor: ToSupervisor | undefined,
): Promise<number> {
  const { config, file } = await loadConfig({ flags, env, folder });
  if (supervisor) {
    if (config.app === undefined)
      throw ERRORS.create('CONFIG_INVALID', {
        problems:
          '--watch starts anew when a file of an application changes: name the application (--app ./app.js)',
      });
    supervisor.watch([resolve(config.app), ...(file === undefined ? [] : [file])]);
  }
  const secrets = secretsOf(config, env);
  const hide = secretHider(secrets);
  const say = (line: string) => void stderr.write(`${hide(line)}\n`);
  const log = createLog({ level: config.logLevel, secrets, destination: stdout });
  try {
    return await serveUntilEnd({
      start: async (signal) => {
        // Not with the others: whoever runs another command does not wait for all of it to load.
        const { startServer } = await import('../../start-server.js');
        const app = supervisor && config.app !== undefined && (await loadWatched(config.app, supervisor));
        const server = await startServer(config, { log, signal, ...(app && { app }) });
        for (const line of bannerOf(config, { url: server.url, version: VERSION, pid: process.pid, folder }))
          say(line);
        supervisor?.serves(config.redisUrl === undefined);
        return server;
      },
      exitMs: gracePlan(config.gracePeriodMs).exitMs,
      events,
      clock: systemClock,
      log,
      say,
    });
  } catch (error) {
    log.debug({ err: error }, 'The start has failed');
    const { exitCode, lines } = failureOf(error);
    for (const line of lines) say(line);
    return exitCode;
  }
}
