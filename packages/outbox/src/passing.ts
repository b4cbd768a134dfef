import { MillraceError } from '@millrace/foundation';
import { ERRORS, isSqlError } from '@millrace/postgres';

/**
 * Whether others were in the way of a transaction (serialization failure, deadlock). A swallowed one comes as the cause of TX_ROLLED_BACK.
 * @param error - what the database threw.
 */
export function isConflict(error: unknown): boolean {
  const failed = ERRORS.is(error, 'TX_ROLLED_BACK') ? error.cause : error;
  return isSqlError(failed, '40001') || isSqlError(failed, '40P01');
}

/**
 * Whether the same statement may succeed a little later.
 * @param error - what the database threw.
 */
export const isPassing = (error: unknown): boolean =>
  isConflict(error) || (error instanceof MillraceError && error.retryable);
