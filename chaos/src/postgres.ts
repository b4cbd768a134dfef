import { wait } from '@millrace/async-utils';
import type { Rng } from '@millrace/foundation';
import { type PostgresServer, startPostgres } from '@millrace/testkit';
import pg from 'pg';

/** After a crash PostgreSQL syncs its folder. As a whole this takes half a second, file by file several seconds. */
const QUICK_RECOVERY = ['-c', 'recovery_init_sync_method=syncfs'];

/** `fast` disconnects all clients. `immediate` is a crash. */
export type RestartKind = 'fast' | 'immediate';

/** Starts a PostgreSQL that syncs to disk and recovers fast after a crash. */
export const startCrashingPostgres = (): Promise<PostgresServer> =>
  startPostgres({ fsync: true, args: QUICK_RECOVERY });

/**
 * Restarts PostgreSQL. After a crash it stays down for a random time, in a full run often longer than a call waits.
 * @param awayMaxMs - maximum time that it stays down.
 */
export async function restartPostgres(
  postgres: PostgresServer,
  kind: RestartKind,
  awayMaxMs: number,
  rng: Rng,
): Promise<void> {
  if (kind === 'immediate') {
    await postgres.stopImmediate();
    await wait(rng.integer(0, awayMaxMs));
  }
  await postgres.restart();
}

/** Runs queries on a connection of its own, which bypasses the code under test. */
export async function asking<T>(url: string, ask: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 2000,
    query_timeout: 10_000,
  });
  // The call that fails reports the error.
  client.on('error', () => {});
  try {
    await client.connect();
    return await ask(client);
  } finally {
    await client.end().catch(() => {});
  }
}
