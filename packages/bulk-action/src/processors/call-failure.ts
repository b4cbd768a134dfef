import { type MillraceError, RateLimitedError } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import type { HttpAnswer } from './guarded-http.js';
import { retryAfterMs } from './retry-after.js';

const EXCERPT_CHARACTERS_MAX = 200;

/**
 * What an answer that is no success means for the job.
 *
 * | status | is |
 * |---|---|
 * | 429, 503 | congestion: it spends no retry and slows the calls of this resource |
 * | 408, 425, other 5xx | tried again |
 * | all others | final |
 * @param host - who answered.
 * @param answer - what came.
 * @param nowMs - milliseconds since 1970.
 */
export function callFailure(host: string, answer: HttpAnswer, nowMs: number): MillraceError {
  const { status, headers } = answer;
  const reason = reasonOf(answer);
  const waitMs = retryAfterMs(headers['retry-after'], nowMs);
  if (status === 429 || status === 503)
    return new RateLimitedError({ retryAfterMs: waitMs, message: `${host} asks for patience: ${reason}` });
  if (status === 408 || status === 425 || status >= 500)
    return ERRORS.create('CALL_FAILED', { host, reason }, { retryAfterMs: waitMs });
  return ERRORS.create('CALL_REFUSED', { host, reason });
}

function reasonOf({ status, body }: HttpAnswer): string {
  const excerpt = body
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, EXCERPT_CHARACTERS_MAX);
  return excerpt === '' ? `it answered ${status}` : `it answered ${status}: ${excerpt}`;
}
