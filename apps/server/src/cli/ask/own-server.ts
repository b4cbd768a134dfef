import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Surroundings } from '../surroundings.js';

/** A server that a command has started for itself. */
export interface OwnServer extends AsyncDisposable {
  readonly url: string;
}

/** Its work is worth nothing once the command has ended. */
const GRACE_PERIOD_MS = 2_000;

/**
 * Starts a server in this process on a free port of this machine, with everything it stores in a temporary folder. It takes no settings
 * from anywhere and connects to nothing. When it is disposed of, or the process ends, nothing is left of it.
 * @throws MillraceError what `startServer` throws.
 */
export async function startOwnServer({ events }: Surroundings, signal: AbortSignal): Promise<OwnServer> {
  // Not with the others: whoever asks a server that runs does not wait for all of it to load.
  const [{ startServer }, { ServerConfig }, { createLog }, { defineApp }, { DemoChatRuntime }] =
    await Promise.all([
      import('../../start-server.js'),
      import('../../config/model.js'),
      import('../../log.js'),
      import('../../define-app.js'),
      import('@millrace/runtime/chat'),
    ]);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-own-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  events.on('exit', remove);
  const forget = () => {
    events.off('exit', remove);
    remove();
  };
  try {
    signal.throwIfAborted();
    const config = ServerConfig.parse({
      port: 0,
      dataDir: join(folder, 'data'),
      gracePeriodMs: GRACE_PERIOD_MS,
      logLevel: 'silent',
      // Whoever measures is not one of many callers.
      limits: { requestsPerSecond: 0 },
    });
    const log = createLog({ level: config.logLevel, secrets: [], destination: { write: () => true } });
    // What the environment names may cost somebody money.
    const app = defineApp({ chat: new DemoChatRuntime() });
    const server = await startServer(config, { log, app, signal });
    return { url: server.url, [Symbol.asyncDispose]: () => server.close().finally(forget) };
  } catch (error) {
    forget();
    throw error;
  }
}
