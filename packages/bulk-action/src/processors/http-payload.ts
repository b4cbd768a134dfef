import type { HttpCall } from './guarded-http.js';
import { fieldInvalid, fieldsOf, isRecord, type PayloadFields, textField } from './payload-fields.js';

/** The payload of an `HTTP_REQUEST`. */
export interface HttpRequestPayload {
  readonly url: string;
  /** `GET` unless given. */
  readonly method?: (typeof METHODS)[number] | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A text goes as it is, anything else as JSON. */
  readonly body?: unknown;
}

/** Neither CONNECT, which makes a tunnel, nor TRACE, which gives back what was sent. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
const WITHOUT_BODY = new Set(['GET', 'HEAD']);
const URL_CHARACTERS_MAX = 8000;
const HEADERS_MAX = 64;
const HEADER_CHARACTERS_MAX = 8000;
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
/** Visible ASCII with spaces between: no line break that would begin another header or another request. */
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;
/** They belong to the connection, or say who is called and how long the body is: only the client knows that. */
const OWN_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Reads the payload of an `HTTP_REQUEST`.
 * @param type - of the job, for messages.
 * @param payload - as submitted.
 * @returns the request, headers in lower case.
 * @throws MillraceError `FIELD_INVALID`, `FIELD_UNKNOWN`.
 */
export function readHttpRequest(type: string, payload: unknown): HttpCall {
  const fields = fieldsOf(type, payload, ['method', 'url', 'headers', 'body']);
  const method = readMethod(fields.method);
  const url = textField(fields, 'url', URL_CHARACTERS_MAX);
  if (!URL.canParse(url)) throw fieldInvalid('url', 'a whole address such as https://example.com/path', url);
  const headers = readHeaders(fields);
  const { body } = fields;
  if (body === undefined || body === null) return { method, url: new URL(url), headers };
  if (WITHOUT_BODY.has(method)) throw fieldInvalid('body', `left out of a ${method}`, body);
  if (typeof body === 'string') return { method, url: new URL(url), headers, body };
  const asJson = { 'content-type': 'application/json', ...headers };
  return { method, url: new URL(url), headers: asJson, body: JSON.stringify(body) };
}

function readMethod(given: unknown): string {
  if (given === undefined) return 'GET';
  const method = typeof given === 'string' ? given.toUpperCase() : '';
  if (METHODS.some((known) => known === method)) return method;
  throw fieldInvalid('method', `one of ${METHODS.join(', ')}`, given);
}

function readHeaders({ headers = {} }: PayloadFields): Record<string, string> {
  if (!isRecord(headers)) throw fieldInvalid('headers', 'an object of texts', headers);
  const given = Object.entries(headers);
  if (given.length > HEADERS_MAX) throw fieldInvalid('headers', `at most ${HEADERS_MAX}`, given.length);
  const read = new Map<string, string>();
  for (const [key, value] of given) {
    if (!HEADER_NAME.test(key)) throw fieldInvalid('headers', 'named as HTTP allows', key);
    const name = key.toLowerCase();
    const expected = headerExpected(name, value, read.has(name));
    // Not shown: it may be a secret, and the message is kept.
    if (expected !== undefined) throw fieldInvalid(`headers.${key}`, expected, '(not shown)');
    read.set(name, value as string);
  }
  return Object.fromEntries(read);
}

/** What a header must be that cannot be sent as it is. */
function headerExpected(name: string, value: unknown, known: boolean): string | undefined {
  if (OWN_HEADERS.has(name)) return 'left out: it is set by the client';
  if (known) return 'given once';
  const isValue =
    typeof value === 'string' && value.length <= HEADER_CHARACTERS_MAX && HEADER_VALUE.test(value);
  return isValue ? undefined : `a text of at most ${HEADER_CHARACTERS_MAX} printable ASCII characters`;
}
