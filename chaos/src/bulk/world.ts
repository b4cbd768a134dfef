import { join } from 'node:path';
import type { BulkActionConfig } from '@millrace/bulk-action';
import {
  type Ledger,
  openLedger,
  type RedisServer,
  startRedis,
  startTcpProxy,
  type TcpProxy,
} from '@millrace/testkit';
import { Crew } from '../crew.js';
import type { ScenarioContext } from '../registry.js';
import { BulkClient } from './client.js';
import type { WorkerBrief } from './settings.js';

/** How the processes of a scenario are set up. */
export interface WorldParts {
  readonly workers: number;
  readonly config: BulkActionConfig;
  /** Further arguments of Redis; nothing is persisted unless asked for. */
  readonly redisArgs?: readonly string[];
  /** Starts Redis with these arguments; a private one unless given. */
  readonly startServer?: (args: readonly string[]) => Promise<RedisServer>;
  /** Whether workers reach Redis through the proxy. */
  readonly viaProxy?: boolean;
  /** What else workers are told. */
  readonly brief?: Pick<WorkerBrief, 'deaths' | 'twiceTold'>;
}

/** Redis, worker processes, a client and the ledger that all of them write. */
export interface World extends AsyncDisposable {
  readonly redis: RedisServer;
  readonly proxy: TcpProxy;
  readonly crew: Crew;
  readonly client: BulkClient;
  readonly ledger: Ledger;
  readonly ledgerPath: string;
}

/** AOF always: what Redis has acknowledged is on the disk. */
export const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** AOF everysec: what Redis has acknowledged is with the system, and within a second on the disk. */
export const EVERYSEC = ['--appendonly', 'yes', '--appendfsync', 'everysec'];

/**
 * Starts everything.
 * @param context - the scenario's.
 */
export async function openWorld({ folder }: ScenarioContext, parts: WorldParts): Promise<World> {
  const ledgerPath = join(folder, 'ledger');
  const ledger = openLedger(ledgerPath);
  const { redisArgs = [], startServer = (args) => startRedis({ args }) } = parts;
  const redis = await startServer(redisArgs);
  const proxy = await startTcpProxy({ targetHost: redis.host, targetPort: redis.port });
  const place = { url: parts.viaProxy ? proxy.url('redis') : redis.url };
  const brief: WorkerBrief = { redis: place, ledger: ledgerPath, config: parts.config, ...parts.brief };
  const crew = new Crew({ program: 'bulk-worker', brief, ledger });
  const client = new BulkClient(place, parts.config, ledger);
  const close = async () => {
    await crew[Symbol.asyncDispose]();
    await client[Symbol.asyncDispose]();
    await proxy.close();
    await redis.stop();
    ledger.close();
  };
  try {
    await Promise.all([client.start(), crew.start(parts.workers)]);
  } catch (error) {
    await close();
    throw error;
  }
  return { redis, proxy, crew, client, ledger, ledgerPath, [Symbol.asyncDispose]: close };
}
