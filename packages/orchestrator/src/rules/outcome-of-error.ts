import { toWorkError } from '@millrace/foundation';
import { type FailOutcome, Outcome, type RetryOutcome } from '../outcome.js';

const REASON_CHARACTERS_MAX = 500;

/**
 * What a throw means: another try, unless it says that none can help.
 * @param attempt - number of the try, from 1.
 * @param delayMs - until the next one, where the error names no time of its own.
 */
export function outcomeOfError(
  thrown: unknown,
  attempt: number,
  delayMs: (error: unknown) => number,
): RetryOutcome | FailOutcome {
  const { code, message, retryable, retryAfterMs } = toWorkError(thrown);
  if (!retryable) return Outcome.fail(code, message, causeOf(thrown));
  const reason = `${code}: ${message}`.slice(0, REASON_CHARACTERS_MAX);
  return Outcome.retry({ reason, attemptCount: attempt, nextRetryAfterMs: retryAfterMs ?? delayMs(thrown) });
}

/** What was behind an error, in a form that can be kept. */
function causeOf(thrown: unknown): unknown {
  try {
    const { cause } = thrown as { cause?: unknown };
    if (cause === undefined || cause === null) return undefined;
    const { code, message } = toWorkError(cause);
    return { code, message };
  } catch {
    return undefined; // A hostile object.
  }
}
