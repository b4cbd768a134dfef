import { ERRORS as FOUNDATION_ERRORS, printable } from '@millrace/foundation';
import { toJson } from '@millrace/postgres';
import { ERRORS } from './errors.js';

/** Maximum length of a business key and of a tenant, in characters. */
export const KEY_LENGTH_MAX = 500;

/** Maximum size of tenant and business key together, in UTF-8. They share an index with the DAG's name, and its rows have a limit. */
const KEY_BYTES_MAX = 2_000;

/**
 * Validates the length of a text.
 * @throws MillraceError `ID_INVALID`.
 */
export function checkedText(kind: string, value: unknown, min: number, max: number): string {
  if (typeof value === 'string' && value.length >= min && value.length <= max) return value;
  const expected = `a text of ${min} to ${max} characters`;
  throw FOUNDATION_ERRORS.create('ID_INVALID', { kind, expected, given: printable(value) });
}

/**
 * Refuses a tenant and a business key that are too long together.
 * @throws MillraceError `ID_INVALID`.
 */
export function requireKeyFits(tenant: string, bizKey: string): void {
  if (Buffer.byteLength(tenant) + Buffer.byteLength(bizKey) <= KEY_BYTES_MAX) return;
  const expected = `with its tenant at most ${KEY_BYTES_MAX} bytes of UTF-8`;
  throw FOUNDATION_ERRORS.create('ID_INVALID', { kind: 'bizKey', expected, given: printable(bizKey) });
}

/**
 * Converts the payload of a batch to JSON text.
 * @param max - `payloadBytesMax`.
 * @throws MillraceError `BATCH_TOO_LARGE`, `PARAMETER_INVALID`.
 */
export function encodePayload(dag: string, payload: unknown, max: number): string {
  const text = toJson(payload);
  const given = Buffer.byteLength(text);
  if (given > max)
    throw ERRORS.create('BATCH_TOO_LARGE', {
      what: 'The payload in bytes',
      dag,
      given,
      max,
      option: 'payloadBytesMax',
    });
  return text;
}
