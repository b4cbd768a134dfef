import { ERRORS as FOUNDATION_ERRORS, MillraceError } from '@millrace/foundation';
import { ERRORS } from './errors.js';
import { classifyFailure, type FailureKind, isConflictState } from './rules/classify-failure.js';

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
 * Whether PostgreSQL itself reported this error.
 * @param error - anything thrown.
 * @param sqlState - a SQLSTATE it must have; any unless given.
 */
export function isSqlError(error: unknown, sqlState?: string): error is SqlError {
  if (!(error instanceof Error) || error instanceof MillraceError) return false;
  const { code, severity } = error as Partial<SqlError>;
  const isReply = typeof severity === 'string' && typeof code === 'string' && code.length === 5;
  return isReply && (sqlState === undefined || sqlState === code);
}

/**
 * Whether others were in the way of a transaction (serialization failure, deadlock). A swallowed one comes as the cause of TX_ROLLED_BACK.
 */
export function isConflict(error: unknown): boolean {
  const failed = ERRORS.is(error, 'TX_ROLLED_BACK') ? error.cause : error;
  return isSqlError(failed) && isConflictState(failed.code);
}

/** Tells what a failed call means, from the error the driver threw. */
export function kindOf(error: unknown): FailureKind {
  const code = (error as { code?: unknown } | null)?.code;
  return classifyFailure({
    isReply: isSqlError(error),
    code: typeof code === 'string' ? code : undefined,
  });
}

/**
 * Turns what a driver threw into what a caller gets: `BACKEND_UNAVAILABLE` for everything that may pass, the original
 * as its cause; an error of ours or of the statement as it is.
 * @param error - what was thrown.
 */
export function toDatabaseError(error: unknown, operation: string): unknown {
  if (error instanceof MillraceError && !ERRORS.is(error, 'DATABASE_TIMEOUT')) return error;
  const isOurs = error instanceof MillraceError;
  if (!isOurs && kindOf(error) === 'sql') return error;
  const { code = 'CONNECTION', message } = error as { code?: string; message?: string };
  const details = { operation, reason: message || code, code };
  return ERRORS.create('BACKEND_UNAVAILABLE', details, { cause: error });
}

/** Whether the connection is of no use after this error: lost, silent, or about to be closed by PostgreSQL. */
export function endsConnection(error: unknown): boolean {
  if (error instanceof MillraceError) return ERRORS.is(error, 'DATABASE_TIMEOUT');
  // Read-only: a failover has left this connection with a standby; a new one may find the primary.
  return kindOf(error) === 'connection' || isSqlError(error, '25006');
}

/** The error of every call after `stop`. */
export const stoppedError = (): MillraceError =>
  FOUNDATION_ERRORS.create('SERVICE_STOPPED', { service: 'The database' });
