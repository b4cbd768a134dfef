import { join } from 'node:path';
import type { Logger } from '@millrace/foundation';
import { poolSizeFor } from '@millrace/outbox';
import { type Database, PgDatabase, PgliteDatabase } from '@millrace/postgres';
import type { ServerConfig } from '../config/model.js';

/**
 * The database of a server, not yet opened: PostgreSQL by its address, else an embedded one in the data directory.
 */
export function databaseOf(
  config: PoolConfig & Pick<ServerConfig, 'databaseUrl' | 'dataDir'>,
  logger: Logger,
): Database {
  const { databaseUrl, dataDir } = config;
  return databaseUrl === undefined
    ? new PgliteDatabase({ dataDir: join(dataDir, 'database'), logger })
    : new PgDatabase({ url: databaseUrl, poolSize: poolSizeOf(config), logger });
}

/** What the number of connections depends on. */
export type PoolConfig = Pick<ServerConfig, 'databasePoolSize' | 'outbox'>;

/**
 * The most connections of one server to its PostgreSQL at once, beside the one that listens.
 * @param config - the settings; a `concurrency` that is none is refused elsewhere.
 */
export function poolSizeOf({ databasePoolSize, outbox: { concurrency } }: PoolConfig): number {
  return databasePoolSize ?? poolSizeFor(Number.isInteger(concurrency) ? (concurrency as number) : undefined);
}
