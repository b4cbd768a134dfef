import { printable } from '@millrace/foundation';
import { ERRORS } from './errors.js';

/**
 * A value for `$1`, `$2` …: text, number, bigint, boolean, Date, bytes, null (undefined is null), an array of these (a PostgreSQL array, for
 * `unnest`), or any other object, which goes as JSON.
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

/** Decodes the text of a value into what a row holds. */
export type ValueDecoder = (text: string) => unknown;

/** A PostgreSQL array before it is written as text. */
export type ArrayTexts = readonly (string | null | ArrayTexts)[];

/** With the flag `u` only half of a surrogate pair matches. */
const NOT_STORABLE = /\0|\p{Surrogate}/u;

/** PostgreSQL silently cuts longer names off, and two names would become one. */
const IDENTIFIER_BYTES_MAX = 63;

/**
 * Quotes a name for SQL.
 * @throws MillraceError `IDENTIFIER_INVALID` for an empty name, one over 63 bytes, or one with NUL or half of a surrogate pair.
 */
export function quoteIdentifier(name: string): string {
  const isName =
    typeof name === 'string' &&
    name !== '' &&
    Buffer.byteLength(name) <= IDENTIFIER_BYTES_MAX &&
    !NOT_STORABLE.test(name);
  if (!isName) {
    const given = typeof name === 'string' ? quoted(name) : name;
    throw ERRORS.create('IDENTIFIER_INVALID', { expected: 'a text of 1 to 63 bytes', given });
  }
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Encodes parameters as the texts that both drivers send.
 * @throws MillraceError `PARAMETER_INVALID` for values that PostgreSQL cannot store or would change: NUL characters, half surrogate pairs,
 * invalid dates, functions, symbols, circular objects.
 */
export function encodeParameters(parameters: readonly SqlParameter[]): (string | null)[] {
  return parameters.map((value, index) => {
    const encoded = encode(value, index + 1);
    return Array.isArray(encoded) ? formatArray(encoded) : (encoded as string | null);
  });
}

/**
 * Encodes a `json` or `jsonb` parameter whose value may be an array, a text or null. Without `toJson` an array goes as a PostgreSQL array and a
 * text as itself.
 * @throws MillraceError `PARAMETER_INVALID`.
 */
export function toJson(value: unknown): string {
  return jsonText(value, 'toJson');
}

function encode(value: SqlParameter, position: number): string | null | ArrayTexts {
  if (value === null || value === undefined) return null;
  switch (typeof value) {
    case 'string':
      // On the socket half of a pair becomes U+FFFD, and two ids would be stored as one.
      if (!NOT_STORABLE.test(value)) return value;
      throw invalid(position, 'a text without NUL characters and half surrogate pairs', quoted(value));
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

function encodeObject(value: object, position: number): string | ArrayTexts {
  if (Array.isArray(value)) return value.map((element) => encode(element, position));
  if (value instanceof Date) {
    const year = value.getUTCFullYear();
    if (year >= 1 && year <= 9999) return value.toISOString();
    throw invalid(position, 'a valid Date of the years 1 to 9999', String(value));
  }
  if (value instanceof Uint8Array)
    return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`;
  return jsonText(value, position);
}

function jsonText(value: unknown, position: number | string): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw invalid(position, 'a value that JSON can hold', (cause as Error).message);
  }
  if (text === undefined) throw invalid(position, 'a value that JSON can hold', `a ${typeof value}`);
  // jsonb stores neither NUL nor half surrogate pairs. JSON.stringify writes both as escapes.
  if (/(?<!\\)(?:\\\\)*\\u(?:0000|d[89ab][0-9a-f]{2}|d[c-f][0-9a-f]{2})/.test(text))
    throw invalid(position, 'JSON without NUL characters and half surrogate pairs', text);
  return text;
}

const quoted = (value: string) => JSON.stringify(value.slice(0, 100));

const invalid = (position: number | string, expected: string, given: string) =>
  ERRORS.create('PARAMETER_INVALID', { position, expected, given: printable(given) });

/** Writes an array as PostgreSQL reads it. */
export function formatArray(elements: ArrayTexts): string {
  const parts = elements.map((element) => {
    if (element === null) return 'NULL';
    if (typeof element !== 'string') return formatArray(element);
    // Without quotes the text NULL and the empty text would be read as something else.
    return `"${element.replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${parts.join(',')}}`;
}

/** Reads an array as PostgreSQL writes it, such as `{1,NULL,"a \"b\""}`, with or without bounds before it. */
export function parseArray(text: string, decode: ValueDecoder): unknown[] {
  let at = text.indexOf('{');
  const list = (): unknown[] => {
    const elements: unknown[] = [];
    for (at++; text[at] !== '}' && at < text.length; ) {
      if (text[at] === ',') at++;
      else if (text[at] === '{') elements.push(list());
      else if (text[at] === '"') elements.push(decode(inQuotes()));
      else elements.push(bare());
    }
    at++;
    return elements;
  };
  const inQuotes = (): string => {
    let element = '';
    for (at++; text[at] !== '"' && at < text.length; at++) {
      if (text[at] === '\\') at++;
      element += text[at];
    }
    at++;
    return element;
  };
  const bare = (): unknown => {
    const from = at;
    while (at < text.length && text[at] !== ',' && text[at] !== '}') at++;
    const element = text.slice(from, at);
    return element === 'NULL' ? null : decode(element);
  };
  return list();
}

const asText: ValueDecoder = (text) => text;
const asJson: ValueDecoder = (text) => JSON.parse(text);
const asBytes: ValueDecoder = (text) => Buffer.from(text.slice(2), 'hex');

/** The oid of each type, the oid of its array, and its decoder. A type that is not listed stays text. */
const TYPES: readonly (readonly [type: number, array: number, decode: ValueDecoder])[] = [
  [16, 1000, (text) => text === 't'], // bool
  [17, 1001, asBytes], // bytea
  [20, 1016, asText], // int8
  [21, 1005, Number], // int2
  [23, 1007, Number], // int4
  [25, 1009, asText], // text
  [26, 1028, Number], // oid
  [114, 199, asJson], // json
  [700, 1021, Number], // float4
  [701, 1022, Number], // float8
  [1043, 1015, asText], // varchar
  [1082, 1182, asText], // date
  [1114, 1115, asText], // timestamp
  [1184, 1185, asDate], // timestamptz
  [1700, 1231, asText], // numeric
  [2950, 2951, asText], // uuid
  [3802, 3807, asJson], // jsonb
];

const DECODERS: ReadonlyMap<number, ValueDecoder> = new Map(
  TYPES.flatMap(([type, array, decode]): [number, ValueDecoder][] => [
    [type, decode],
    [array, (text) => parseArray(text, decode)],
  ]),
);

/**
 * Returns the decoder of a type, the same for both drivers. bigint and numeric stay text: a number would round them, and JSON has no bigint.
 * date, timestamp and interval stay text too: without a zone they are no moment in time.
 * @param type - the oid.
 */
export const decoderOf = (type: number): ValueDecoder => DECODERS.get(type) ?? asText;

const TIMESTAMP =
  /^(\d{4,})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?( BC)?$/;

/** Returns a Date to the millisecond, or ±Infinity for `infinity`. */
function asDate(text: string): unknown {
  const parts = TIMESTAMP.exec(text);
  if (!parts) return text === 'infinity' ? Infinity : text === '-infinity' ? -Infinity : text;
  const part = (index: number) => Number(parts[index] ?? 0);
  const date = new Date(0);
  date.setUTCFullYear(parts[12] ? 1 - part(1) : part(1), part(2) - 1, part(3));
  date.setUTCHours(part(4), part(5), part(6), Number((parts[7] ?? '').padEnd(3, '0').slice(0, 3)));
  const offsetSeconds = part(9) * 3600 + part(10) * 60 + part(11);
  return new Date(date.getTime() - (parts[8] === '-' ? -1 : 1) * offsetSeconds * 1000);
}
