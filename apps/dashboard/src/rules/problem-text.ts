import { ProblemError } from '@millrace/contract/server-client';

/** What a browser says when there was no answer at all; each has other words for it. */
const UNREACHABLE = 'The server does not answer. It is asked again by itself.';

/** What went wrong, in words for people. */
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

/** The code of a problem, for whoever looks it up; undefined: the server did not say one. */
export const problemCode = (error: unknown): string | undefined =>
  error instanceof ProblemError ? error.code : undefined;
