import { ProblemError } from '@millrace/contract/server-client';

/**
 * Whether the server would answer the same question in the same way: to ask it again by itself is in vain.
 * @param error - of a call; null: there was none.
 */
export const isRefusal = (error: unknown): error is ProblemError =>
  error instanceof ProblemError && error.status >= 400 && error.status < 500 && error.status !== 429;

/**
 * Whether the server does not let this caller in, or not any more: another key may help.
 * @param error - of a call; null: there was none.
 */
export const isLockedOut = (error: unknown): error is ProblemError =>
  error instanceof ProblemError && (error.status === 401 || error.status === 403);

/**
 * Whether the server knows nothing of what it was asked about.
 * @param error - of a call; null: there was none.
 */
export const isNotFound = (error: unknown): error is ProblemError =>
  error instanceof ProblemError && error.status === 404;
