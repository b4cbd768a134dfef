import { ProblemError } from '@millrace/contract/server-client';

/** Shown if the server sent no answer at all. Each browser has other words for it. */
const UNREACHABLE = 'The server does not answer. The page retries automatically.';

/** Returns the message of a failed call for the user. */
export function problemText(error: unknown): string {
  if (error instanceof ProblemError) {
    const { detail, errors } = error.problem;
    const fields = errors?.map(({ field, message }) => (field === '' ? message : `${field} ${message}`));
    return fields && fields.length > 0 ? fields.join('; ') : detail;
  }
  if (error instanceof DOMException && error.name === 'TimeoutError') return UNREACHABLE;
  if (error instanceof TypeError) return UNREACHABLE;
  return error instanceof Error ? error.message : String(error);
}

/** Returns the error code that the server sent. */
export const problemCode = (error: unknown): string | undefined =>
  error instanceof ProblemError ? error.code : undefined;

/** Reports whether the server would give the same answer again, so that a retry is useless. */
export const isRefusal = (error: unknown): error is ProblemError =>
  error instanceof ProblemError && error.status >= 400 && error.status < 500 && error.status !== 429;

/** Reports whether the server rejects the key of the caller, so that another key may help. */
export const isLockedOut = (error: unknown): error is ProblemError =>
  error instanceof ProblemError && (error.status === 401 || error.status === 403);

/** Reports whether the server did not find the subject of the request. */
export const isNotFound = (error: unknown): error is ProblemError =>
  error instanceof ProblemError && error.status === 404;
