import { resolve } from 'node:path';
import { systemClock } from '@millrace/foundation';
import { Command, Option } from 'commander';
import { gracePlan } from '../../compose/grace-plan.js';
import { type LoadedConfig, loadConfig } from '../../config/load-config.js';
import type { ServerConfig } from '../../config/model.js';
import { secretsOf } from '../../config/secrets.js';
import { SETTINGS } from '../../config/settings.js';
import { ERRORS } from '../../errors.js';
import { createLog, type LogOptions, secretHider } from '../../log.js';
import type { RunningServer } from '../../start-server.js';
import { VERSION } from '../../version.js';
import { bannerOf, servesAgain } from '../banner.js';
import { failureOf } from '../failure.js';
import { serveUntilEnd } from '../serve-until-end.js';
import { logLine } from '../show/log-line.js';
import type { End, Screen, Surroundings } from '../surroundings.js';
import { awaitPort } from '../watch/await-port.js';
import { joinSupervisor, loadWatched, type ToSupervisor } from '../watch/join-supervisor.js';
import { supervise } from '../watch/supervise.js';
import { END_LIMIT_MS } from '../watch/supervision.js';

/** Of a log that nobody has asked for. */
const TERMINAL_LEVEL = 'warn';

/** The values of the flags that are settings, by the path of the setting; `config` names the file. */
type SettingFlags = Readonly<Record<string, string | undefined>>;

interface StartFlags {
  readonly watch?: true;
  readonly supervised?: true;
  readonly again?: true;
}

/** `millrace start`: serves until it is told to end. */
export function startCommand(surroundings: Surroundings, end: End): Command {
  const command = new Command('start').description('Serve the API, run the work.');
  for (const { flag, path, description } of SETTINGS)
    if (flag !== undefined) command.option(`${flag} <${path}>`, description);
  return command
    .option('--config <file>', 'The file of settings, instead of millrace.config.js or .json here.')
    .option('--watch', 'Start anew whenever a file of the application changes; for development.')
    .addOption(new Option('--supervised', 'What --watch starts.').hideHelp())
    .addOption(new Option('--again', 'Another served before it.').hideHelp())
    .action(async ({ watch, supervised, again, ...flags }: StartFlags & SettingFlags) =>
      end(
        watch
          ? await supervise(supervisedArguments(flags), surroundings, systemClock)
          : await start(
              surroundings,
              flags,
              supervised && { ...(await supervisor()), isAgain: again === true },
            ),
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

/** Whoever watches, as a server sees it. */
interface Supervised extends ToSupervisor {
  /** Whoever develops has seen the banner. */
  readonly isAgain: boolean;
}

/** What is loaded from then on is the user's. */
async function supervisor(): Promise<ToSupervisor> {
  await import('../../start-server.js');
  return joinSupervisor(systemClock);
}

async function start(
  surroundings: Surroundings,
  flags: SettingFlags,
  supervisor: Supervised | undefined,
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
  supervisor: Supervised | undefined,
): Promise<number> {
  const loaded = await loadConfig({ flags, env, folder });
  const { config, file } = loaded;
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
  const log = createLog({ ...logFor(stdout, loaded), secrets, destination: stdout });
  try {
    return await serveUntilEnd({
      start: async (signal) => {
        const server = await started(config, { log, signal, say, supervisor });
        const place = { url: server.url, version: VERSION, pid: process.pid, folder };
        const lines = supervisor?.isAgain
          ? [servesAgain(server.url, process.uptime() * 1_000)]
          : bannerOf(config, place);
        // At once: whoever waits for the first line may go on to read the others.
        say(lines.join('\n'));
        supervisor?.serves(config.redisUrl === undefined);
        return server;
      },
      exitMs: gracePlan(config.gracePeriodMs).exitMs,
      ...(supervisor && { replacedMs: gracePlan(END_LIMIT_MS).exitMs }),
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

/** A person at a terminal who has not asked for a log is told only what goes wrong, in words. */
const logFor = (stdout: Screen, { config, given }: LoadedConfig): Pick<LogOptions, 'level' | 'shown'> =>
  stdout.isTTY && !given.has('logLevel')
    ? { level: TERMINAL_LEVEL, shown: logLine }
    : { level: config.logLevel };

interface Starting {
  readonly log: ReturnType<typeof createLog>;
  readonly signal: AbortSignal;
  readonly supervisor: Supervised | undefined;
  say(line: string): void;
}

async function started(
  config: ServerConfig,
  { log, signal, say, supervisor }: Starting,
): Promise<RunningServer> {
  // Not with the others: whoever runs another command does not wait for all of it to load.
  const { startServer } = await import('../../start-server.js');
  if (!supervisor || config.app === undefined) return startServer(config, { log, signal });
  const app = await loadWatched(config.app, supervisor);
  const { port } = config;
  return awaitPort(() => startServer(config, { log, signal, app }), {
    port,
    clock: systemClock,
    signal,
    say,
  });
}
