/** What can be known of a failed call without knowing the client library. */
export interface DatabaseFailure {
  /** The SQLSTATE when PostgreSQL answered, the platform's code (`ECONNREFUSED` …) when the connection failed with one. */
  readonly code?: string | undefined;
  /** PostgreSQL itself answered with an error. */
  readonly isReply: boolean;
}

/**
 * What a failure means for the caller.
 * - `connection`: the connection is gone, or about to go; nobody knows whether the statement ran.
 * - `unavailable`: PostgreSQL answered that it cannot now; the statement has changed nothing.
 * - `sql`: the statement failed on its own account; whoever wrote it has to look.
 */
export type FailureKind = 'connection' | 'unavailable' | 'sql';

/** SQLSTATEs after which the connection is of no use: shutdown, crash, terminated, idle for too long. */
const ENDS_CONNECTION = new Set(['57P01', '57P02', '57P03', '57P05', '25P03', '25P04']);

/**
 * SQLSTATEs that say "not now": cancelled by a time limit or an operator, read-only (a failover has left this
 * connection with the standby), input or output error.
 */
const NOT_NOW = new Set(['57014', '25006', '58030']);

/** Tells what a failed call means. */
export function classifyFailure({ code, isReply }: DatabaseFailure): FailureKind {
  if (!isReply) return 'connection';
  const sqlState = code ?? '';
  if (sqlState.startsWith('08') || ENDS_CONNECTION.has(sqlState)) return 'connection';
  // Class 53: disk full, out of memory, too many connections.
  if (sqlState.startsWith('53') || NOT_NOW.has(sqlState)) return 'unavailable';
  return 'sql';
}

/** Whether a transaction that failed so can succeed when it is simply run again: serialization failure, deadlock. */
export const isConflictState = (code: unknown): boolean => code === '40001' || code === '40P01';
