import { ERRORS } from './errors.js';

/** The work is done. */
export interface OkOutcome {
  readonly type: 'Ok';
  readonly message?: string;
  readonly data?: unknown;
}

/** The work is not done and will be retried. */
export interface RetryOutcome {
  readonly type: 'Retry';
  readonly reason: string;
  /** Number of attempts so far, at least 1. */
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

/** The result of an operation or of one attempt. */
export type Outcome = OkOutcome | RetryOutcome | FailOutcome;

/** A registered symbol, so that every installed copy of the package knows the outcomes of another one. */
const BRAND = Symbol.for('millrace.outcome');

const branded = <T extends Outcome>(outcome: T): T =>
  Object.freeze(Object.defineProperty(outcome, BRAND, { value: true }));

const invalid = (reason: string) => ERRORS.create('OUTCOME_INVALID', { reason });

/** Makes outcomes. A handler returns one of them, or any other value as the data of an `Ok`. */
export const Outcome = Object.freeze({
  /**
   * Makes the outcome of work that is done.
   * @param data - a JSON value.
   */
  ok(data?: unknown, message?: string): OkOutcome {
    return branded({
      type: 'Ok',
      ...(message !== undefined && { message: String(message) }),
      ...(data !== undefined && { data }),
    });
  },

  /**
   * Makes the outcome of work that is retried after `nextRetryAfterMs`, while attempts are left.
   * @throws MillraceError `OUTCOME_INVALID`.
   */
  retry({ reason, attemptCount, nextRetryAfterMs }: Omit<RetryOutcome, 'type'>): RetryOutcome {
    if (typeof reason !== 'string' || reason === '') throw invalid('a Retry requires a reason');
    if (!(Number.isSafeInteger(attemptCount) && attemptCount >= 1))
      throw invalid(`attemptCount must be an integer ≥ 1, got ${attemptCount}`);
    if (!(Number.isFinite(nextRetryAfterMs) && nextRetryAfterMs >= 0))
      throw invalid(`nextRetryAfterMs must be a number of milliseconds ≥ 0, got ${nextRetryAfterMs}`);
    return branded({ type: 'Retry', reason, attemptCount, nextRetryAfterMs });
  },

  /**
   * Makes the outcome of work that failed for good.
   * @param cause - stored as JSON if possible.
   * @throws MillraceError `OUTCOME_INVALID`.
   */
  fail(errorCode: string, message: string, cause?: unknown): FailOutcome {
    if (typeof errorCode !== 'string' || errorCode === '') throw invalid('a Fail requires an errorCode');
    return branded({
      type: 'Fail',
      errorCode,
      message: String(message),
      ...(cause !== undefined && { cause }),
    });
  },

  /** Reports whether a value was made here. Data that only has the same fields was not. */
  is(value: unknown): value is Outcome {
    try {
      return typeof value === 'object' && value !== null && BRAND in value;
    } catch {
      return false; // A hostile proxy.
    }
  },
});
