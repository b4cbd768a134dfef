import type { MillraceError } from '@millrace/foundation';
import { printable } from '@millrace/foundation';
import { ERRORS } from '../errors.js';

/** The fields of a payload; only those that the processor knows. */
export type PayloadFields = Readonly<Record<string, unknown>>;

/**
 * A payload as a set of fields. One that nobody reads is refused: a `cc` that were ignored would make "delivered" a lie.
 * @param type - of the job, for the message.
 * @param payload - as submitted.
 * @param known - the fields of this type.
 * @throws MillraceError `FIELD_INVALID`, `FIELD_UNKNOWN`.
 */
export function fieldsOf(type: string, payload: unknown, known: readonly string[]): PayloadFields {
  if (!isRecord(payload)) throw fieldInvalid('value', `an object with ${known.join(', ')}`, payload);
  const unknown = Object.keys(payload).find((key) => !known.includes(key));
  if (unknown === undefined) return payload;
  throw ERRORS.create('FIELD_UNKNOWN', { type, field: printable(unknown), known: known.join(', ') });
}

/**
 * A field that must be a text.
 * @param fields - of the payload.
 * @param field - its name.
 * @param charactersMax - its longest value.
 * @param path - how to call it in a message, where it lies deeper.
 * @throws MillraceError `FIELD_INVALID`.
 */
export function textField(
  fields: PayloadFields,
  field: string,
  charactersMax: number,
  path: string = field,
): string {
  const value = fields[field];
  if (typeof value === 'string' && value !== '' && value.length <= charactersMax) return value;
  const given = typeof value === 'string' ? `${value.length} characters` : value;
  throw fieldInvalid(path, `a text of 1 to ${charactersMax} characters`, given);
}

/**
 * Refuses a field.
 * @param field - its name.
 * @param expected - what would have been right.
 * @param given - what came; a short part of it stands in the message.
 */
export function fieldInvalid(field: string, expected: string, given: unknown): MillraceError {
  // Printable already here: the error keeps its details, and they must not keep a megabyte of a payload.
  return ERRORS.create('FIELD_INVALID', { field, expected, given: printable(given) });
}

/**
 * Whether a value is an object with fields: neither null nor a list.
 * @param value - anything.
 */
export const isRecord = (value: unknown): value is PayloadFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
