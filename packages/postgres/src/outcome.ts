import { type Clock, sleep } from '@millrace/foundation';
import type { Queryable } from './database.js';
import { isSqlError } from './failure.js';
import { judgeOutcome, type TransactionOutcome } from './rules/judge-outcome.js';

/**
 * Which life of the server this is: kept over a clean restart, another one after a crash or on a standby. PostgreSQL
 * begins its statistics anew exactly then (or when somebody resets them, which only costs an answer).
 */
export const SERVER_LIFE =
  "(SELECT coalesce(extract(epoch FROM stats_reset)::text, '') FROM pg_stat_bgwriter)";

/**
 * Asks PostgreSQL what became of a transaction, for whoever got `COMMIT_UNKNOWN`. It remembers for days at least; behind
 * a crash of the server it can only deny, and a commit is `unknown`: look for what the transaction wrote.
 * @param xid - `details.xid` of the error, or `tx.xid`.
 * @throws those of `query`.
 */
export async function transactionOutcome(database: Queryable, xid: string): Promise<TransactionOutcome> {
  const [number, life] = xid.split('@');
  try {
    const { rows } = await database.query<{
      status: 'committed' | 'aborted' | 'in progress' | null;
      life: string;
    }>(`SELECT pg_xact_status($1::xid8) AS status, ${SERVER_LIFE} AS life`, [number]);
    return judgeOutcome(rows[0]?.status ?? null, rows[0]?.life === life);
  } catch (error) {
    // A number from the future: this server has never given it out.
    if (isSqlError(error, '22023')) return 'unknown';
    throw error;
  }
}

const LOOK_EVERY_MS = 20;

/**
 * Finds out what became of a transaction whose COMMIT was not answered. A backend that still holds it open never got
 * the COMMIT, or cannot answer it: it is ended, which settles the matter one way or the other.
 * @returns undefined when PostgreSQL could not be asked in time, or does not know.
 */
export async function settleOutcome(
  database: Queryable,
  xid: string,
  clock: Clock,
  timeoutMs: number,
): Promise<'committed' | 'aborted' | undefined> {
  const deadline = clock.monotonicMs() + timeoutMs;
  const [number] = xid.split('@');
  for (;;) {
    try {
      const outcome = await transactionOutcome(database, xid);
      if (outcome === 'unknown') return undefined;
      if (outcome !== 'in progress') return outcome;
      await database.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_xid = $1::xid8::xid',
        [number],
      );
    } catch {
      // Away again; whoever never gets an answer hears COMMIT_UNKNOWN, with the lost reply as its cause.
    }
    if (clock.monotonicMs() + LOOK_EVERY_MS >= deadline) return undefined;
    await sleep(clock, LOOK_EVERY_MS);
  }
}
