import { defineErrors, type ErrorSpec, MillraceError } from './error-registry.js';

const SPECS = {
  OPTION_INVALID: {
    message: '{owner}: {option} must be {expected}, got {given}',
    status: 500,
    retryable: false,
  },
  OPTION_UNKNOWN: {
    message: "{owner}: there is no option '{option}'{hint}",
    status: 500,
    retryable: false,
  },
  SERVICE_STOPPED: {
    message: '{service} has been stopped and cannot be started again; make a new one',
    status: 503,
    retryable: false,
  },
  ID_INVALID: {
    message: '{kind} must be {expected}, got {given}',
    status: 400,
    retryable: false,
  },
  NON_RETRYABLE: { message: '{reason}', status: 422, retryable: false },
  RATE_LIMITED: { message: '{reason}', status: 429, retryable: true },
  DEADLINE_EXCEEDED: {
    message: 'The deadline {deadline} has passed',
    status: 504,
    retryable: false,
  },
  HANDLER_FAILED: { message: '{reason}', status: 500, retryable: true },
} as const satisfies Record<string, ErrorSpec>;

/** The errors that belong to no single part. */
export const ERRORS = defineErrors('foundation', SPECS);

/** Thrown by a handler to say that another try cannot help: the work fails at once. */
export class NonRetryableError extends MillraceError {
  /** @param reason - what is wrong, for the person who reads the failure. */
  constructor(reason: string, options?: ErrorOptions) {
    super('NON_RETRYABLE', SPECS.NON_RETRYABLE, reason, {}, options);
  }
}

/** Thrown by a handler when the service it calls asks for patience: tried again after `retryAfterMs`. */
export class RateLimitedError extends MillraceError {
  /** @param options - `retryAfterMs`: how long the service asked to wait; without it the part's own back-off counts. */
  constructor(
    options: { retryAfterMs?: number | undefined; message?: string | undefined; cause?: unknown } = {},
  ) {
    const { retryAfterMs, message = 'The called service asks for fewer requests' } = options;
    if (retryAfterMs !== undefined && !(Number.isFinite(retryAfterMs) && retryAfterMs >= 0)) {
      throw ERRORS.create('OPTION_INVALID', {
        owner: 'RateLimitedError',
        option: 'retryAfterMs',
        expected: 'a number of milliseconds ≥ 0',
        given: retryAfterMs,
      });
    }
    super('RATE_LIMITED', SPECS.RATE_LIMITED, message, {}, { cause: options.cause, retryAfterMs });
  }
}
