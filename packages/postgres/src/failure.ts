import { ERRORS as FOUNDATION_ERRORS, MillraceError } from '@millrace/foundation';
import { ERRORS } from './errors.js';

/** An error that PostgreSQL itself reported; both drivers throw this shape. */
export interface SqlError extends Error {
  /** The SQLSTATE: `23505` is a duplicate key. */
  readonly code: string;
  readonly severity: string;
  readonly detail?: string | undefined;
  readonly hint?: string | undefined;
  readonly schema?: string | undefined;
  readonly table?: string | undefined;
  readonly column?: string | undefined;
  readonly constraint?: string | undefined;
}

/**
 * Reports whether PostgreSQL itself reported this error.
 * @param sqlState - the SQLSTATE it must have; any unless given.
 */
export function isSqlError(error: unknown, sqlState?: string): error is SqlError {
  if (!(error instanceof Error) || error instanceof MillraceError) return false;
  const { code, severity } = error as Partial<SqlError>;
  const isReply = typeof severity === 'string' && typeof code === 'string' && code.length === 5;
  return isReply && (sqlState === undefined || sqlState === code);
}

/**
 * Reports whether the transaction collided with another one (serialization failure, deadlock) and may succeed when it runs again. A swallowed
 * conflict is the cause of `TX_ROLLED_BACK`.
 */
export function isConflict(error: unknown): boolean {
  const failed = ERRORS.is(error, 'TX_ROLLED_BACK') ? error.cause : error;
  return isSqlError(failed, '40001') || isSqlError(failed, '40P01');
}

/**
 * The meaning of a failed call.
 * - `connection`: the connection is gone, or about to go. The statement may have run.
 * - `unavailable`: PostgreSQL replied that it cannot run the statement now. Nothing has changed.
 * - `sql`: the statement itself is wrong.
 */
export type FailureKind = 'connection' | 'unavailable' | 'sql';

/** SQLSTATEs after which a connection is useless: shutdown, crash, terminated, idle for too long. */
const ENDS_CONNECTION = new Set(['57P01', '57P02', '57P03', '57P05', '25P03', '25P04']);

/**
 * SQLSTATEs that mean "not now": cancelled by a time limit or an operator, read-only (a failover has left this connection with the standby), input
 * or output error.
 */
const NOT_NOW = new Set(['57014', '25006', '58030']);

/** Classifies an error that a driver threw. */
export function kindOf(error: unknown): FailureKind {
  if (!isSqlError(error)) return 'connection';
  const { code } = error;
  if (code.startsWith('08') || ENDS_CONNECTION.has(code)) return 'connection';
  // Class 53: disk full, out of memory, too many connections.
  if (code.startsWith('53') || NOT_NOW.has(code)) return 'unavailable';
  return 'sql';
}

/**
 * Turns an error of a driver into the error for the caller: `BACKEND_UNAVAILABLE`, with the original as its cause, for every transient failure.
 * Errors of Millrace and of the statement stay as they are, and so does the reason of the caller's signal.
 */
export function toDatabaseError(error: unknown, operation: string, signal?: AbortSignal): unknown {
  if (signal?.aborted && error === signal.reason) return error;
  if (error instanceof MillraceError && !ERRORS.is(error, 'DATABASE_TIMEOUT')) return error;
  if (kindOf(error) === 'sql') return error;
  const { code = 'CONNECTION', message } = error as { code?: string; message?: string };
  const details = { operation, reason: message || code, code };
  return ERRORS.create('BACKEND_UNAVAILABLE', details, { cause: error });
}

/** Reports whether the connection is useless after this error: lost, silent, or about to be closed by PostgreSQL. */
export function endsConnection(error: unknown): boolean {
  if (error instanceof MillraceError) return ERRORS.is(error, 'DATABASE_TIMEOUT');
  // Read-only: a failover has left this connection with a standby; a new one may find the primary.
  return kindOf(error) === 'connection' || isSqlError(error, '25006');
}

/** Makes the error of a call that is refused inside a transaction. */
export const reentrant = (call: string, consequence: string, instead: string): MillraceError =>
  ERRORS.create('TX_REENTRANT', { call, consequence, instead });

/** Makes the error of every call after `stop`. */
export const stoppedError = (): MillraceError =>
  FOUNDATION_ERRORS.create('SERVICE_STOPPED', { service: 'The database' });
