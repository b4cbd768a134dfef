import { z } from 'zod';

/** The content type of every error. */
export const PROBLEM_CONTENT_TYPE = 'application/problem+json';

/** An invalid field of a request. */
export const FieldError = z.object({
  field: z.string().describe("Path of the field; '' for the whole request."),
  message: z.string(),
});
export type FieldError = z.infer<typeof FieldError>;

/** The first line that was refused in a body of lines. */
export const LineError = z.object({
  number: z.int().min(1).describe('Number of the line, from 1.'),
  reason: z.string(),
  stored: z.int().min(0).describe('Jobs before the line; they are stored.'),
});

/** An error over HTTP (RFC 9457). Programs read `code`, never the texts. */
export const Problem = z.object({
  type: z.string().describe('A URN that ends in the code.'),
  title: z.string(),
  status: z.int().min(400).max(599),
  detail: z.string(),
  instance: z.string().optional().describe('The path of the request.'),
  code: z.string(),
  retryable: z.boolean().describe('True if the same request may succeed later.'),
  errors: z.array(FieldError).optional().describe('The invalid fields.'),
  line: LineError.optional().describe('LINE_INVALID: the refused line.'),
});
export type Problem = z.infer<typeof Problem>;

/** An issue of zod. */
interface Issue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
}

/** A hostile body may hold a million invalid fields. */
const FIELD_ERRORS_MAX = 50;
const FIELD_NAME_CHARACTERS_MAX = 200;

/** Converts the issues of zod to field errors, one for each field and 50 at most. */
export const fieldErrorsOf = (issues: readonly Issue[]): FieldError[] =>
  issues
    .flatMap(({ code, path, message, keys = [] }) => {
      const at = path.map(String);
      return code === 'unrecognized_keys'
        ? keys.map((key) => ({ field: [...at, key].join('.'), message: 'is not known here' }))
        : [{ field: at.join('.'), message }];
    })
    // Before the comparison below, which is quadratic.
    .slice(0, FIELD_ERRORS_MAX)
    .map(({ field, message }) => ({ field: field.slice(0, FIELD_NAME_CHARACTERS_MAX), message }))
    // An empty text is also blank: one message is enough.
    .filter(({ field }, index, all) => all.findIndex((other) => other.field === field) === index);

/** Joins field errors into one sentence. */
export const fieldErrorsText = (errors: readonly FieldError[]): string =>
  errors.map(({ field, message }) => (field === '' ? message : `${field}: ${message}`)).join('; ');

/** The shape of Millrace's errors, whichever package or installed copy made them. */
const CodedError = Problem.pick({ status: true, retryable: true }).extend({
  code: z.string().regex(/^[A-Z][A-Z0-9_]*$/),
  message: z.string(),
  details: z.unknown().optional(),
});

/** The error of every value that is not an error of Millrace. */
export const INTERNAL = {
  code: 'INTERNAL',
  status: 500,
  retryable: false,
  message: 'Unexpected error; the server log has the details',
} as const;

/**
 * Converts a thrown value to a problem. The message of an error that is not Millrace's is not shown: the problem is `INTERNAL`. Never throws,
 * even for a hostile value. `instance` is the path of the request.
 */
export function toProblem(error: unknown, options: { readonly instance?: string | undefined } = {}): Problem {
  const known: z.infer<typeof CodedError> = safely(() => CodedError.safeParse(error).data) ?? INTERNAL;
  const { code, status, retryable, message, details } = known;
  const { instance } = options;
  const errors = safely(() => fieldErrors(details)) ?? [];
  const line = safely(() => lineError(details));
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

/** Reads a value that may be hostile: a proxy, or a getter that throws. */
function safely<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function fieldErrors(details: unknown): FieldError[] {
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
}

function lineError(details: unknown): z.infer<typeof LineError> | undefined {
  const { line: number, reason, stored } = (details ?? {}) as Record<string, unknown>;
  return LineError.safeParse({ number, reason, stored }).data;
}

/** `COMMAND_INVALID` → `Command invalid`. */
const titleOf = (code: string): string => code.charAt(0) + code.slice(1).toLowerCase().replaceAll('_', ' ');
