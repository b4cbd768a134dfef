import { join } from 'node:path';
import type { Logger } from '@millrace/foundation';
import { type Database, PgDatabase, PgliteDatabase } from '@millrace/postgres';
import type { ServerConfig } from '../config/model.js';

/**
 * The database of a server, not yet opened: PostgreSQL by its address, else an embedded one in the data directory.
 * @param config - where.
 * @param logger - told what happens to it.
 */
export function databaseOf(
  { databaseUrl, dataDir }: Pick<ServerConfig, 'databaseUrl' | 'dataDir'>,
  logger: Logger,
): Database {
  return databaseUrl === undefined
    ? new PgliteDatabase({ dataDir: join(dataDir, 'database'), logger })
    : new PgDatabase({ url: databaseUrl, logger });
}
