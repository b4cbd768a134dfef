import type { WorkError } from './vocabulary.js';

/** What a registry knows of one code. `{name}` in the message stands for a detail given when it is thrown. */
export interface ErrorSpec {
  readonly message: string;
  /** The HTTP status that answers it. */
  readonly status: number;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
}

/** The names between braces in a message: the details that an error of this code must be given. */
export type MessageDetails<M extends string> = M extends `${string}{${infer Name}}${infer Rest}`
  ? Name | MessageDetails<Rest>
  : never;

/** What an error may carry besides its message. */
export interface MillraceErrorOptions extends ErrorOptions {
  readonly retryAfterMs?: number | undefined;
}

/** The base of every error Millrace throws on purpose: a stable code, an HTTP status, and whether to try again. */
export class MillraceError extends Error implements WorkError {
  override readonly name: string = 'MillraceError';
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;
  /** The values behind the message, for programs. */
  readonly details: Readonly<Record<string, unknown>>;
  declare readonly retryAfterMs?: number;

  constructor(
    code: string,
    spec: Pick<ErrorSpec, 'status' | 'retryable'>,
    message: string,
    details: Readonly<Record<string, unknown>>,
    options?: MillraceErrorOptions,
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = spec.status;
    this.retryable = spec.retryable;
    this.details = details;
    if (options?.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
  }
}

/** The errors of one package: throws them, and lists them for the documentation. */
export interface ErrorRegistry<S extends Record<string, ErrorSpec>> {
  readonly owner: string;
  readonly specs: S;
  /**
   * Makes an error of this registry; the caller throws it.
   * @param code - one of the registry's codes.
   * @param details - a value for each `{name}` of the message.
   * @param options - `cause` and `retryAfterMs`.
   */
  create<C extends keyof S & string>(
    code: C,
    details: Readonly<Record<MessageDetails<S[C]['message']>, unknown>>,
    options?: MillraceErrorOptions,
  ): MillraceError;
  /** Whether `error` carries this code, whichever installed copy made it. */
  is(error: unknown, code: keyof S & string): error is MillraceError;
}

/**
 * Makes the error registry of a package.
 * @param owner - the package, without its scope.
 * @returns the registry, frozen.
 */
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
    is(error: unknown, code: keyof S & string): error is MillraceError {
      try {
        return (error as { code?: unknown } | null | undefined)?.code === code;
      } catch {
        return false; // Thrown by a handler, and hostile.
      }
    },
  });
}

const SHOWN_CHARACTERS_MAX = 200;

/**
 * A value as it may stand in a message: short, and never a failure of its own, however hostile the value is.
 */
export function printable(value: unknown): string {
  let text: string | undefined;
  try {
    text = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
  } catch {}
  // Circular, hostile, or an object whose toJSON gives nothing: even its type tag may throw.
  text ??= `an unprintable ${typeof value}`;
  return text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}…` : text;
}
