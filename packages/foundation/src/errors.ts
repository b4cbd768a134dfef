/** A failure as Millrace records it, whatever was thrown. */
export interface WorkError {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** The definition of one error code. `{name}` in the message is replaced by the detail of that name. */
export interface ErrorSpec {
  readonly message: string;
  /** HTTP status of a response with this error. */
  readonly status: number;
  /** True if the same call may succeed later. */
  readonly retryable: boolean;
}

/** The names in braces in a message, which are the details that an error of this code requires. */
export type MessageDetails<M extends string> = M extends `${string}{${infer Name}}${infer Rest}`
  ? Name | MessageDetails<Rest>
  : never;

/** Optional values of an error. */
export interface MillraceErrorOptions extends ErrorOptions {
  readonly retryAfterMs?: number | undefined;
}

/** The base of every error that Millrace throws on purpose: a stable code, an HTTP status, and whether to retry. */
export class MillraceError extends Error implements WorkError {
  override readonly name: string = 'MillraceError';
  readonly status: number;
  readonly retryable: boolean;
  declare readonly retryAfterMs?: number;

  /** @param details - the values in the message, for programs. */
  constructor(
    readonly code: string,
    { status, retryable }: Pick<ErrorSpec, 'status' | 'retryable'>,
    message: string,
    readonly details: Readonly<Record<string, unknown>>,
    options?: MillraceErrorOptions,
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.status = status;
    this.retryable = retryable;
    if (options?.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
  }
}

/** The error codes of one package. Creates its errors and lists them for the documentation. */
export interface ErrorRegistry<S extends Record<string, ErrorSpec>> {
  readonly owner: string;
  readonly specs: S;
  /** Creates an error, which the caller throws. `details` has a value for each `{name}` of the message. */
  create<C extends keyof S & string>(
    code: C,
    details: Readonly<Record<MessageDetails<S[C]['message']>, unknown>>,
    options?: MillraceErrorOptions,
  ): MillraceError;
  /** Reports whether `error` has this code, even if another installed copy of the package made it. */
  is(error: unknown, code: keyof S & string): error is MillraceError;
}

/** Makes the error registry of the package `owner` (its name without the scope). */
export function defineErrors<const S extends Record<string, ErrorSpec>>(
  owner: string,
  specs: S,
): ErrorRegistry<S> {
  return Object.freeze({
    owner,
    specs,
    create(
      code: keyof S & string,
      details: Readonly<Record<string, unknown>>,
      options?: MillraceErrorOptions,
    ) {
      const spec = specs[code] as ErrorSpec;
      const message = spec.message.replace(/\{(\w+)\}/g, (_, name: string) => printable(details[name]));
      return new MillraceError(code, spec, message, details, options);
    },
    is: (error: unknown, code: keyof S & string): error is MillraceError => read(error, 'code') === code,
  });
}

const SHOWN_CHARACTERS_MAX = 200;

/** Formats a value for a message in at most 200 characters. Never throws, even for a hostile value. */
export function printable(value: unknown): string {
  let text: string | undefined;
  try {
    text = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
  } catch {}
  // Circular, hostile, or an object whose toJSON returns nothing: even its type tag may throw.
  text ??= `an unprintable ${typeof value}`;
  return text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}…` : text;
}

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

/** The errors that all packages share. */
export const ERRORS = defineErrors('foundation', SPECS);

/** Creates an `OPTION_INVALID` error. `given` is the bad value itself. */
export const optionInvalid = (
  owner: string,
  option: string,
  expected: string,
  given: unknown,
): MillraceError => {
  const shown = printable(given);
  const quoted = typeof given === 'string' ? `'${shown}'` : shown;
  return ERRORS.create('OPTION_INVALID', { owner, option, expected, given: quoted });
};

/** Thrown by a handler when a retry cannot help. The work fails at once with `reason`. */
export class NonRetryableError extends MillraceError {
  constructor(reason: string, options?: ErrorOptions) {
    super('NON_RETRYABLE', SPECS.NON_RETRYABLE, reason, {}, options);
  }
}

/** Thrown by a handler when the service it calls asks it to wait. The work is retried after `retryAfterMs`. */
export class RateLimitedError extends MillraceError {
  /** @param options - without `retryAfterMs` the normal backoff applies. */
  constructor(
    options: { retryAfterMs?: number | undefined; message?: string | undefined; cause?: unknown } = {},
  ) {
    const { retryAfterMs, message = 'The called service asks for fewer requests' } = options;
    if (retryAfterMs !== undefined && !isDelay(retryAfterMs))
      throw optionInvalid('RateLimitedError', 'retryAfterMs', 'a number of milliseconds ≥ 0', retryAfterMs);
    super('RATE_LIMITED', SPECS.RATE_LIMITED, message, {}, { cause: options.cause, retryAfterMs });
  }
}

const MESSAGE_CHARACTERS_MAX = 2000;

/**
 * Turns a thrown value into a WorkError with the value as its cause. Never throws, even for a hostile value. Only
 * an error with `retryable: false` is final.
 */
export function toWorkError(thrown: unknown): WorkError {
  const code = read(thrown, 'code');
  const message = read(thrown, 'message');
  const retryAfterMs = read(thrown, 'retryAfterMs');
  const text = typeof message === 'string' ? message : `The handler threw ${printable(thrown)}`;
  return {
    code: typeof code === 'string' && code !== '' ? code : 'HANDLER_FAILED',
    message: text.slice(0, MESSAGE_CHARACTERS_MAX),
    retryable: read(thrown, 'retryable') !== false,
    ...(isDelay(retryAfterMs) && { retryAfterMs }),
    cause: thrown,
  };
}

const isDelay = (value: unknown): value is number => Number.isFinite(value) && (value as number) >= 0;

function read(value: unknown, key: string): unknown {
  try {
    return (value as Record<string, unknown> | null | undefined)?.[key];
  } catch {
    return undefined; // Thrown by a handler, and hostile.
  }
}
