import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  freePort,
  openLedger,
  type PostgresServer,
  type RedisServer,
  startPostgres,
  startRedis,
  startTcpProxy,
  type TcpProxy,
} from '@millrace/testkit';
import { EVERYSEC } from '../bulk/world.js';
import { Crew } from '../crew.js';
import { programFile } from '../programs.js';
import type { ScenarioContext } from '../registry.js';
import { migrate, through, lastWords as wordsOf } from '../server/processes.js';
import type { ServerBrief } from '../server/settings.js';
import type { ServerPlace } from '../server/world.js';
import { type SoakScale, soakConfig } from './settings.js';

/** Redis with its log on the disk, PostgreSQL, processes of each role, and the ledger. */
export interface SoakWorld extends AsyncDisposable {
  readonly redis: RedisServer;
  readonly postgres: PostgresServer;
  readonly places: readonly ServerPlace[];
  /** Where the API processes answer. */
  readonly doors: readonly string[];
  /** Between the processes and Redis, PostgreSQL. */
  readonly wires: { readonly redis: TcpProxy; readonly postgres: TcpProxy };
  readonly ledgerPath: string;
  /** What the processes printed last: their folder goes with the scenario. */
  lastWords(): string;
}

/**
 * Starts everything.
 * @param context - the scenario's.
 */
export async function openSoakWorld({ folder }: ScenarioContext, scale: SoakScale): Promise<SoakWorld> {
  const opened: AsyncDisposable[] = [];
  const close = async () => {
    for (const one of opened.reverse()) await one[Symbol.asyncDispose]();
  };
  const lastWords = () => wordsOf(folder);
  try {
    return { ...(await open(folder, scale, opened)), lastWords, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw new Error(`the server did not start: ${lastWords()}`, { cause: error });
  }
}

async function open(folder: string, scale: SoakScale, opened: AsyncDisposable[]) {
  const keep = <T extends AsyncDisposable>(one: T): T => {
    opened.push(one);
    return one;
  };
  const ledgerPath = join(folder, 'ledger');
  const ledger = openLedger(ledgerPath);
  keep({ [Symbol.asyncDispose]: async () => ledger.close() });
  const [redis, postgres] = await Promise.all([startRedis({ args: EVERYSEC }), startPostgres()]);
  keep({ [Symbol.asyncDispose]: async () => void (await Promise.all([redis.stop(), postgres.stop()])) });
  const wireTo = async ({ host, port }: { readonly host: string; readonly port: number }) =>
    keep(await startTcpProxy({ targetHost: host, targetPort: port }));
  const wires = { redis: await wireTo(redis), postgres: await wireTo(postgres) };
  const redisUrl = through(wires.redis, redis.url);
  const databaseUrl = through(wires.postgres, postgres.url);
  const places: ServerPlace[] = [];
  const doors: string[] = [];
  const app = programFile('soak/soak-app');
  for (const [n, role] of scale.roles.entries()) {
    const name = `${role}-${n}`;
    const port = await freePort();
    const config = join(folder, `${name}.json`);
    writeFileSync(config, JSON.stringify(soakConfig({ role, port, app, redisUrl, databaseUrl }, scale)));
    if (n === 0) await migrate(config);
    if (role === 'api') doors.push(`http://127.0.0.1:${port}`);
    const brief: ServerBrief = { program: programFile('millrace'), config, ledger: ledgerPath, port };
    const output = join(folder, `${name}.log`);
    places.push({ name, role, crew: keep(new Crew({ program: 'server-instance', brief, ledger, output })) });
  }
  await Promise.all(places.map(({ crew }) => crew.start(1)));
  return { redis, postgres, places, doors, wires, ledgerPath };
}
