import { type Clock, sleep } from '@millrace/foundation';
import type { Queryable } from './database.js';
import { isSqlError } from './failure.js';

/** The status that PostgreSQL reports for a transaction number, null for one that it has forgotten. */
type Status = 'committed' | 'aborted' | 'in progress' | null;

/** The fate of a transaction. `unknown`: PostgreSQL has forgotten it, or may mean another transaction. */
export type TransactionOutcome = NonNullable<Status> | 'unknown';

/**
 * Identifies the life of the server. It stays the same over a clean restart and changes after a crash or on a standby: exactly then PostgreSQL
 * resets its statistics. An operator's reset only costs an answer.
 */
export const SERVER_LIFE =
  "(SELECT coalesce(extract(epoch FROM stats_reset)::text, '') FROM pg_stat_bgwriter)";

/**
 * Interprets the status that PostgreSQL reports for a transaction number.
 *
 * After a crash, or a failover that loses data, PostgreSQL gives numbers that left no trace on disk out again. "Committed" may then be said of
 * another transaction. "Aborted" and "in progress" may too, but then the number was given out again, which proves that the first transaction never
 * reached the disk.
 * @param isSameLife - true if the server has lived on, clean restarts included, since it gave the number out.
 */
export function judgeOutcome(status: Status, isSameLife: boolean): TransactionOutcome {
  if (status === null) return 'unknown';
  if (isSameLife) return status;
  return status === 'committed' ? 'unknown' : 'aborted';
}

/**
 * Asks PostgreSQL for the outcome of a transaction after `COMMIT_UNKNOWN`. PostgreSQL remembers it for days at least. After a crash of the server
 * a commit is `unknown`: look for what the transaction wrote.
 * @param xid - `details.xid` of the error, or `tx.xid`.
 * @throws the errors of `query`.
 */
export async function transactionOutcome(database: Queryable, xid: string): Promise<TransactionOutcome> {
  const [number, life] = xid.split('@');
  try {
    const sql = `SELECT pg_xact_status($1::xid8) AS status, ${SERVER_LIFE} AS life`;
    const { rows } = await database.query<{ status: Status; life: string }>(sql, [number]);
    return judgeOutcome(rows[0]?.status ?? null, rows[0]?.life === life);
  } catch (error) {
    // A number from the future: this server has never given it out.
    if (isSqlError(error, '22023')) return 'unknown';
    throw error;
  }
}

const ASK_EVERY_MS = 20;

/**
 * Finds the outcome of a transaction whose COMMIT was not answered. Terminates a backend that still holds the transaction open: it never got the
 * COMMIT, or cannot answer it, and its end settles the outcome.
 * @returns undefined if PostgreSQL could not be reached in time or has no record of it.
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
      const sql = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_xid = $1::xid8::xid';
      await database.query(sql, [number]);
    } catch {
      // PostgreSQL is away again. COMMIT_UNKNOWN carries the lost reply as its cause.
    }
    if (clock.monotonicMs() + ASK_EVERY_MS >= deadline) return undefined;
    await sleep(clock, ASK_EVERY_MS);
  }
}
