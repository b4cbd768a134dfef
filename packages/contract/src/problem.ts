import { z } from 'zod';

/** The content type of every error. */
export const PROBLEM_CONTENT_TYPE = 'application/problem+json';

/** One thing that is wrong with a request. */
export const FieldError = z.object({
  field: z.string().describe("Its name, '' for the whole."),
  message: z.string(),
});
/** One thing that is wrong with a request. */
export type FieldError = z.infer<typeof FieldError>;

/** The line of a body of lines that cannot be taken. */
export const LineError = z.object({
  number: z.int().min(1).describe('Of the body, from 1.'),
  reason: z.string().describe('Why it cannot be taken.'),
  stored: z.int().min(0).describe('Jobs of the body before it; they are stored.'),
});
/** The line of a body of lines that cannot be taken. */
export type LineError = z.infer<typeof LineError>;

/** An error over HTTP (RFC 9457). Look at `code`, never at texts. */
export const Problem = z.object({
  type: z.string().describe('A URN that ends in the code.'),
  title: z.string(),
  status: z.int().min(400).max(599),
  detail: z.string(),
  instance: z.string().optional().describe('The path that was asked for.'),
  code: z.string(),
  retryable: z.boolean().describe('Whether the same request may succeed later.'),
  errors: z.array(FieldError).optional().describe('Each field that is wrong.'),
  line: LineError.optional().describe('LINE_INVALID: which line, and why.'),
});
/** An error over HTTP (RFC 9457). */
export type Problem = z.infer<typeof Problem>;

/** What zod says of a value. */
interface Issue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
}

const FIELD_NAME_CHARACTERS_MAX = 200;

/** What is wrong with a request, field by field, from what zod says of it. */
export const fieldErrorsOf = (issues: readonly Issue[]): FieldError[] =>
  issues
    .flatMap(({ code, path, message, keys = [] }) => {
      const at = path.map(String);
      return code === 'unrecognized_keys'
        ? keys.map((key) => ({ field: [...at, key].join('.'), message: 'is not known here' }))
        : [{ field: at.join('.'), message }];
    })
    // Before they are compared with each other: a body may hold a million.
    .slice(0, FIELD_ERRORS_MAX)
    .map(({ field, message }) => ({ field: field.slice(0, FIELD_NAME_CHARACTERS_MAX), message }))
    // One of each field: what is empty is blank, too.
    .filter(({ field }, index, all) => all.findIndex((other) => other.field === field) === index);

/** What is wrong with a request, in one sentence. */
export const fieldErrorsText = (errors: readonly FieldError[]): string =>
  errors.map(({ field, message }) => (field === '' ? message : `${field}: ${message}`)).join('; ');

/** More of them help nobody, and a hostile body may hold a million. */
const FIELD_ERRORS_MAX = 50;

/** What our errors look like, whichever package or installed copy made them. */
interface CodedError {
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;
  readonly message: string;
  readonly details?: unknown;
}

const INTERNAL: CodedError = Object.freeze({
  code: 'INTERNAL',
  status: 500,
  retryable: false,
  message: 'Something went wrong here; it is in the log of the server',
});

/**
 * What an error is over HTTP. One of ours is told as it is; anything else is `INTERNAL`, without its message.
 * @param error - anything that was thrown.
 * @param options - `instance`: the path that was asked for.
 */
export function toProblem(error: unknown, options: { readonly instance?: string | undefined } = {}): Problem {
  const { code, status, retryable, message, details } = coded(error) ?? INTERNAL;
  const { instance } = options;
  const errors = fieldErrors(details);
  const line = lineError(details);
  return {
    type: `urn:millrace:error:${code}`,
    title: titleOf(code),
    status,
    detail: message,
    ...(instance !== undefined && { instance }),
    code,
    retryable,
    ...(errors.length > 0 && { errors }),
    ...(line && { line }),
  };
}

/** Reads an error that may be hostile: a proxy, a getter that throws. */
function coded(error: unknown): CodedError | undefined {
  try {
    const { code, status, retryable, message, details } = error as Partial<CodedError>;
    const isOurs =
      typeof code === 'string' &&
      /^[A-Z][A-Z0-9_]*$/.test(code) &&
      Number.isInteger(status) &&
      (status as number) >= 400 &&
      (status as number) <= 599 &&
      typeof retryable === 'boolean' &&
      typeof message === 'string';
    return isOurs ? { code, status: status as number, retryable, message, details } : undefined;
  } catch {
    return undefined;
  }
}

function fieldErrors(details: unknown): FieldError[] {
  try {
    const { errors } = (details ?? {}) as { errors?: unknown };
    if (!Array.isArray(errors)) return [];
    return errors.slice(0, FIELD_ERRORS_MAX).flatMap((error) => {
      const { field, message, expected, given } = error as Partial<Record<string, unknown>>;
      if (typeof field !== 'string') return [];
      if (typeof message === 'string') return [{ field, message }];
      return typeof expected === 'string'
        ? [{ field, message: `must be ${expected}, got ${String(given)}` }]
        : [];
    });
  } catch {
    return [];
  }
}

function lineError(details: unknown): LineError | undefined {
  try {
    const { line: number, reason, stored } = (details ?? {}) as Record<string, unknown>;
    return LineError.safeParse({ number, reason, stored }).data;
  } catch {
    return undefined;
  }
}

/** `COMMAND_INVALID` → `Command invalid`. */
const titleOf = (code: string): string => code.charAt(0) + code.slice(1).toLowerCase().replaceAll('_', ' ');
