import { wait } from '@millrace/async-utils';
import type { Rng } from '@millrace/foundation';
import { type PostgresServer, startPostgres } from '@millrace/testkit';

/** After a crash PostgreSQL syncs its folder, as a whole in half a second, file by file in several. */
const QUICK_RECOVERY = ['-c', 'recovery_init_sync_method=syncfs'];

/** How PostgreSQL goes away: with a word to everybody, or as if its machine had lost its power. */
export type RestartKind = 'fast' | 'immediate';

/** Starts a PostgreSQL that waits for the disk, and is soon back after a crash. */
export const startCrashingPostgres = (): Promise<PostgresServer> =>
  startPostgres({ fsync: true, args: QUICK_RECOVERY });

/**
 * Restarts it; after a crash it stays away for a while, in a full run often longer than a call waits.
 * @param awayMaxMs - how long at most.
 * @param rng - draws how long.
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
