/** What became of a transaction; `unknown` when PostgreSQL has forgotten, or may mean another transaction. */
export type TransactionOutcome = 'committed' | 'aborted' | 'in progress' | 'unknown';

/**
 * What PostgreSQL's word on a transaction number means for the transaction that had it.
 *
 * A crash, or a failover that loses something, takes back numbers that left no trace on disk and gives them out again.
 * So behind a crash "committed" may be said of another transaction. "Aborted" and "in progress" may too, but then the
 * number was given out again, which proves that the first transaction never reached the disk.
 * @param status - what `pg_xact_status` says.
 * @param isSameLife - whether the server has lived on, clean restarts included, since the number was given out.
 */
export function judgeOutcome(
  status: 'committed' | 'aborted' | 'in progress' | null,
  isSameLife: boolean,
): TransactionOutcome {
  if (status === null) return 'unknown';
  if (isSameLife) return status;
  return status === 'committed' ? 'unknown' : 'aborted';
}
