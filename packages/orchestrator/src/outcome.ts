import { ERRORS } from './errors.js';

/** The work is done. */
export interface OkOutcome {
  readonly type: 'Ok';
  readonly message?: string;
  readonly data?: unknown;
}

/** The work is not done, and may be later. */
export interface RetryOutcome {
  readonly type: 'Retry';
  readonly reason: string;
  /** Tries so far, at least 1. */
  readonly attemptCount: number;
  readonly nextRetryAfterMs: number;
}

/** The work will not be done. */
export interface FailOutcome {
  readonly type: 'Fail';
  readonly errorCode: string;
  readonly message: string;
  readonly cause?: unknown;
}

/** What came of an operation, or of one try of it. */
export type Outcome = OkOutcome | RetryOutcome | FailOutcome;

/** Known to every installed copy, so that a handler of one is understood by another. */
const BRAND = Symbol.for('millrace.outcome');

const branded = <T extends Outcome>(outcome: T): T =>
  Object.freeze(Object.defineProperty(outcome, BRAND, { value: true }));

const invalid = (reason: string) => ERRORS.create('OUTCOME_INVALID', { reason });

/** Makes outcomes; a handler returns one of these, or anything else, which is the data of an Ok. */
export const Outcome = Object.freeze({
  /**
   * The work is done.
   * @param data - anything JSON can carry.
   */
  ok(data?: unknown, message?: string): OkOutcome {
    return branded({
      type: 'Ok',
      ...(message !== undefined && { message: String(message) }),
      ...(data !== undefined && { data }),
    });
  },

  /**
   * The work is not done; it is tried again after a while, as long as retries are left.
   * @param retry - why, after how many tries, and when again.
   * @throws MillraceError `OUTCOME_INVALID`.
   */
  retry({ reason, attemptCount, nextRetryAfterMs }: Omit<RetryOutcome, 'type'>): RetryOutcome {
    if (typeof reason !== 'string' || reason === '') throw invalid('a Retry has a reason');
    if (!(Number.isSafeInteger(attemptCount) && attemptCount >= 1))
      throw invalid(`attemptCount must be an integer ≥ 1, got ${attemptCount}`);
    if (!(Number.isFinite(nextRetryAfterMs) && nextRetryAfterMs >= 0))
      throw invalid(`nextRetryAfterMs must be a number of milliseconds ≥ 0, got ${nextRetryAfterMs}`);
    return branded({ type: 'Retry', reason, attemptCount, nextRetryAfterMs });
  },

  /**
   * The work will not be done.
   * @param cause - what was behind it; kept as JSON where it can be.
   * @throws MillraceError `OUTCOME_INVALID`.
   */
  fail(errorCode: string, message: string, cause?: unknown): FailOutcome {
    if (typeof errorCode !== 'string' || errorCode === '') throw invalid('a Fail has an errorCode');
    return branded({
      type: 'Fail',
      errorCode,
      message: String(message),
      ...(cause !== undefined && { cause }),
    });
  },

  /** Whether a value was made here; data that merely looks like an outcome was not. */
  is(value: unknown): value is Outcome {
    try {
      return typeof value === 'object' && value !== null && BRAND in value;
    } catch {
      return false; // A hostile proxy.
    }
  },
});
