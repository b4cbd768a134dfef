/** Thrown by `retry` when every try has failed; `cause` is the last error, `errors` holds all of them in order. */
export class RetryError extends Error {
  override readonly name = 'RetryError';
  /** Stable code: `RETRY_EXHAUSTED`. */
  readonly code = 'RETRY_EXHAUSTED';
  /** How many tries were made. */
  readonly attempts: number;
  /** What each try failed with, first try first. */
  readonly errors: readonly unknown[];

  constructor(errors: readonly unknown[]) {
    const last = errors.at(-1);
    const reason = last instanceof Error ? last.message : describe(last);
    super(`All ${errors.length} tries failed; the last with: ${reason}`, { cause: last });
    this.attempts = errors.length;
    this.errors = errors;
  }
}

/** Thrown by `timeout` and `waitUntil` when the time is up. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
  /** Stable code: `TIMEOUT`. */
  readonly code = 'TIMEOUT';
  /** The time limit that has passed. */
  readonly ms: number;

  constructor(ms: number, options?: ErrorOptions) {
    super(`Timed out after ${ms} ms`, options);
    this.ms = ms;
  }
}

/** Thrown by every function here when its signal aborts; `cause` is the signal's reason. */
export class AbortError extends Error {
  override readonly name = 'AbortError';
  /** Stable code: `ABORTED`. */
  readonly code = 'ABORTED';
  /** Errors of the attempts that `retry` made before the abort, in order. Empty outside of `retry`. */
  readonly errors: readonly unknown[];

  constructor(message = 'Aborted', options: ErrorOptions & { errors?: readonly unknown[] | undefined } = {}) {
    super(message, options);
    this.errors = options.errors ?? [];
  }
}

// The guards look at data, not at identity: two installed copies of this package have two classes.
const has = (error: unknown, key: string, value: string): boolean =>
  (error as Record<string, unknown> | null | undefined)?.[key] === value;

/**
 * Tells whether `error` is a RetryError of any installed copy of this package.
 * @param error - anything that was thrown.
 */
export const isRetryError = (error: unknown): error is RetryError => has(error, 'code', 'RETRY_EXHAUSTED');

/**
 * Tells whether `error` is a TimeoutError of any installed copy of this package.
 * @param error - anything that was thrown.
 */
export const isTimeoutError = (error: unknown): error is TimeoutError => has(error, 'code', 'TIMEOUT');

/**
 * Tells whether `error` is an AbortError: of any installed copy of this package, or the platform's own.
 * @param error - anything that was thrown.
 */
export const isAbortError = (error: unknown): error is Error => has(error, 'name', 'AbortError');

/** A short text for a value of any kind; never throws, whatever the value's own `toString` does. */
export function describe(value: unknown): string {
  try {
    return typeof value === 'string' ? `'${value}'` : String(value);
  } catch {
    return typeof value;
  }
}

/** The codes of this package, for the documentation: the shape that every package's registry has. */
export const ERRORS = {
  owner: 'async-utils',
  specs: {
    RETRY_EXHAUSTED: {
      message: 'All {attempts} tries failed; the last with: {reason}',
      status: 500,
      retryable: false,
    },
    TIMEOUT: { message: 'Timed out after {ms} ms', status: 408, retryable: true },
    ABORTED: { message: 'The operation was aborted', status: 499, retryable: false },
  },
} as const;
