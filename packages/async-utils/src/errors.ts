import { describe } from './checks.js';

/** Thrown by `retry` when every attempt has failed. `cause` is the last error. */
export class RetryError extends Error {
  override readonly name = 'RetryError';
  readonly code = 'RETRY_EXHAUSTED';
  /** Number of attempts. */
  readonly attempts: number;
  /** The error of each attempt, in order. */
  readonly errors: readonly unknown[];

  constructor(errors: readonly unknown[]) {
    const last = errors.at(-1);
    const reason = last instanceof Error ? last.message : describe(last);
    super(`All ${errors.length} attempts failed; the last with: ${reason}`, { cause: last });
    this.attempts = errors.length;
    this.errors = errors;
  }
}

/** Thrown by `timeout` and `waitUntil` when the time is up. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
  readonly code = 'TIMEOUT';
  /** The time limit that has passed. */
  readonly ms: number;

  constructor(ms: number, options?: ErrorOptions) {
    super(`Timed out after ${ms} ms`, options);
    this.ms = ms;
  }
}

/** Thrown by every function here when its signal aborts. `cause` is the signal's reason. */
export class AbortError extends Error {
  override readonly name = 'AbortError';
  readonly code = 'ABORTED';
  /** Errors of the attempts that `retry` made before the abort, in order. Empty outside of `retry`. */
  readonly errors: readonly unknown[];

  constructor(message = 'Aborted', options: ErrorOptions & { errors?: readonly unknown[] | undefined } = {}) {
    super(message, options);
    this.errors = options.errors ?? [];
  }
}

// The guards check data, not identity: two installed copies of this package have two classes.
const has = (error: unknown, key: string, value: string): boolean =>
  (error as Record<string, unknown> | null | undefined)?.[key] === value;

/** Reports whether `error` is a RetryError of any installed copy of this package. */
export const isRetryError = (error: unknown): error is RetryError => has(error, 'code', 'RETRY_EXHAUSTED');

/** Reports whether `error` is a TimeoutError of any installed copy of this package. */
export const isTimeoutError = (error: unknown): error is TimeoutError => has(error, 'code', 'TIMEOUT');

/** Reports whether `error` is an AbortError of any installed copy of this package, or of the platform. */
export const isAbortError = (error: unknown): error is Error => has(error, 'name', 'AbortError');

/** The codes of this package, for the documentation, in the shape of every package's registry. */
export const ERRORS = {
  owner: 'async-utils',
  specs: {
    RETRY_EXHAUSTED: {
      message: 'All {attempts} attempts failed; the last with: {reason}',
      status: 500,
      retryable: false,
    },
    TIMEOUT: { message: 'Timed out after {ms} ms', status: 408, retryable: true },
    ABORTED: { message: 'The operation was aborted', status: 499, retryable: false },
  },
} as const;
