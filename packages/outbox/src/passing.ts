import { MillraceError } from '@millrace/foundation';
import { isConflict } from '@millrace/postgres';

/** Whether the same statement may succeed a little later. */
export const isPassing = (error: unknown): boolean =>
  isConflict(error) || (error instanceof MillraceError && error.retryable);
