import { systemClock } from '@millrace/foundation';
import { Command } from 'commander';
import { gracePlan } from '../../compose/grace-plan.js';
import { loadConfig } from '../../config/load-config.js';
import { secretsOf } from '../../config/secrets.js';
import { SETTINGS } from '../../config/settings.js';
import { createLog, secretHider } from '../../log.js';
import { VERSION } from '../../version.js';
import { bannerOf } from '../banner.js';
import { failureOf } from '../failure.js';
import { serveUntilEnd } from '../serve-until-end.js';
import type { Surroundings } from '../surroundings.js';

/**
 * `millrace start`: serves until it is told to end.
 * @param surroundings - see Surroundings.
 * @param end - takes the exit code.
 */
export function startCommand(surroundings: Surroundings, end: (exitCode: number) => void): Command {
  const command = new Command('start').description('Serve the API, run the work.');
  for (const { flag, path, description } of SETTINGS)
    if (flag !== undefined) command.option(`${flag} <${path}>`, description);
  return command
    .option('--config <file>', 'The file of settings, instead of millrace.config.js or .json here.')
    .action(async (flags: Record<string, string>) => end(await start(surroundings, flags)));
}

async function start(
  { env, folder, stdout, stderr, events }: Surroundings,
  flags: Readonly<Record<string, string>>,
): Promise<number> {
  const { config } = await loadConfig({ flags, env, folder });
  const secrets = secretsOf(config, env);
  const hide = secretHider(secrets);
  const say = (line: string) => void stderr.write(`${hide(line)}\n`);
  const log = createLog({ level: config.logLevel, secrets, destination: stdout });
  try {
    return await serveUntilEnd({
      start: async (signal) => {
        // Not with the others: whoever runs another command does not wait for all of it to load.
        const { startServer } = await import('../../start-server.js');
        const server = await startServer(config, { log, signal });
        for (const line of bannerOf(config, { url: server.url, version: VERSION, pid: process.pid, folder }))
          say(line);
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
