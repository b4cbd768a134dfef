import { printable } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import { type ArrayTexts, formatArray } from './array-text.js';

/**
 * What may stand for `$1`, `$2` …: a text, number, bigint, boolean, Date, bytes, null (undefined is null), an array of
 * these (a PostgreSQL array, for `unnest`), or any other object, which goes as JSON.
 */
export type SqlParameter =
  | string
  | number
  | bigint
  | boolean
  | Date
  | Uint8Array
  | null
  | undefined
  | readonly SqlParameter[]
  | object;

/**
 * Writes parameters as the texts that PostgreSQL reads; both drivers send exactly these.
 * @param parameters - in the order of `$1`, `$2` …
 * @throws MillraceError `PARAMETER_INVALID` for what PostgreSQL cannot keep or would change: NUL characters, halves
 * of surrogate pairs, invalid dates, functions, symbols, circular objects.
 */
export function encodeParameters(parameters: readonly SqlParameter[]): (string | null)[] {
  return parameters.map((value, index) => {
    const encoded = encode(value, index + 1);
    return Array.isArray(encoded) ? formatArray(encoded) : (encoded as string | null);
  });
}

/**
 * JSON text for a `json` or `jsonb` parameter whose value may be an array, a text or null: without it an array goes as
 * a PostgreSQL array, a text as it is.
 * @param value - anything JSON can carry.
 * @throws MillraceError `PARAMETER_INVALID`.
 */
export function toJson(value: unknown): string {
  return jsonText(value, 'toJson');
}

function encode(value: SqlParameter, position: number | string): string | null | ArrayTexts {
  if (value === null || value === undefined) return null;
  switch (typeof value) {
    case 'string':
      return checkedText(value, position);
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'object':
      return encodeObject(value, position);
    default:
      throw invalid(position, 'a text, number, boolean, Date, bytes, array or object', `a ${typeof value}`);
  }
}

function encodeObject(value: object, position: number | string): string | ArrayTexts {
  if (Array.isArray(value)) return value.map((element) => encode(element, position));
  if (value instanceof Date) return dateText(value, position);
  if (value instanceof Uint8Array)
    return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`;
  return jsonText(value, position);
}

/** Always UTC with its offset, whatever the zones of this process and of the session are. */
function dateText(value: Date, position: number | string): string {
  const year = value.getUTCFullYear();
  if (!(year >= 1 && year <= 9999))
    throw invalid(position, 'a valid Date of the years 1 to 9999', String(value));
  return value.toISOString();
}

function jsonText(value: unknown, position: number | string): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw invalid(position, 'something JSON can carry', (cause as Error).message);
  }
  if (text === undefined) throw invalid(position, 'something JSON can carry', `a ${typeof value}`);
  // jsonb has no NUL and no half surrogates; JSON.stringify writes both as escapes.
  if (/(?<!\\)(?:\\\\)*\\u(?:0000|d[89ab][0-9a-f]{2}|d[c-f][0-9a-f]{2})/.test(text))
    throw invalid(position, 'JSON without NUL characters and half surrogate pairs', text);
  return text;
}

function checkedText(value: string, position: number | string): string {
  // Written to the socket, a half pair becomes U+FFFD: two different ids would be stored as one.
  if (UNKEEPABLE.test(value))
    throw invalid(position, 'a text without NUL characters and half surrogate pairs', toVisible(value));
  return value;
}

// With the flag `u` a surrogate is one only where it stands alone.
const UNKEEPABLE = /\0|\p{Surrogate}/u;

const toVisible = (value: string) => JSON.stringify(value.slice(0, 100));

const invalid = (position: number | string, expected: string, given: string) =>
  ERRORS.create('PARAMETER_INVALID', { position, expected, given: printable(given) });
