import { silentLogger } from '@millrace/foundation';
import { PgDatabase } from '@millrace/postgres';
import { RedisConnection } from '@millrace/redis';
import { migrateServer } from '../../src/compose/migrate.js';

/**
 * Brings the tables of a database up to date.
 * @returns the same URL.
 */
export async function migrated(url: string): Promise<string> {
  await using database = new PgDatabase({ url, logger: silentLogger });
  await migrateServer(database, { schema: 'millrace' });
  return url;
}

/** Sends one command to a Redis. */
export async function redisCommand(url: string, command: string, ...args: string[]): Promise<unknown> {
  await using redis = new RedisConnection({ url });
  return await redis.call(command, args);
}
