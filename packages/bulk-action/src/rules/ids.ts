import { ERRORS, formatScopedId, printable } from '@millrace/foundation';
import type { GroupKey } from '../model.js';

/** A group as a caller names it, read. */
export interface GroupRef {
  /** As it is stored: `tenant/id`. */
  readonly key: GroupKey;
  /** Whose namespace ('' = none). */
  readonly tenant: string;
  readonly id: string;
}

const ID_LENGTH_MAX = 128;
const REQUEST_ID_LENGTH_MAX = 100;
const SEPARATOR = '/';
const CHARACTERS = /^[A-Za-z0-9._:-]*$/;

const isId = (value: unknown, min: number, max: number): value is string =>
  typeof value === 'string' && value.length >= min && value.length <= max && CHARACTERS.test(value);

/**
 * Refuses an id.
 * @param kind - what was to be named.
 * @param expected - what would have been right.
 * @param given - what came.
 */
export function idInvalid(kind: string, expected: string, given: unknown): Error {
  const shown = printable(given);
  // Printable already here: the error keeps its details, and they must not keep a megabyte of a caller's text.
  return ERRORS.create('ID_INVALID', {
    kind,
    expected,
    given: typeof given === 'string' ? `'${shown}'` : shown,
  });
}

const expected = (max: number) => `1 to ${max} characters of A-Z, a-z, 0-9, '.', '_', ':', '-'`;

/**
 * Checks an id that a caller chose.
 * @param kind - what it names, for the message.
 * @param value - what the caller gave.
 * @returns the id.
 * @throws MillraceError `ID_INVALID`.
 */
export function checkId(kind: string, value: unknown): string {
  if (isId(value, 1, ID_LENGTH_MAX)) return value;
  throw idInvalid(kind, expected(ID_LENGTH_MAX), value);
}

/**
 * Checks the name of a namespace; '' is the one of nobody in particular.
 * @param value - what the caller gave.
 * @returns the name.
 * @throws MillraceError `ID_INVALID`.
 */
export function checkTenant(value: unknown): string {
  if (isId(value, 0, ID_LENGTH_MAX)) return value;
  throw idInvalid('tenant', `'' or ${expected(ID_LENGTH_MAX)}`, value);
}

/**
 * Checks the id of a call.
 * @param value - what the caller gave.
 * @returns the id.
 * @throws MillraceError `ID_INVALID`.
 */
export function checkRequestId(value: unknown): string {
  if (isId(value, 1, REQUEST_ID_LENGTH_MAX)) return value;
  throw idInvalid('requestId', expected(REQUEST_ID_LENGTH_MAX), value);
}

/**
 * The id of a job that was given none: the same call made again gives the same ids.
 * @param requestId - of the call.
 * @param position - of the job in it.
 */
export const derivedJobId = (requestId: string, position: number): string => `${requestId}:${position}`;

/**
 * An id nobody else has: the millisecond in its first 6 characters (the same again after 25 days), then 51 random bits.
 * @param nowMs - milliseconds since 1970.
 * @param random - a number of [0, 1).
 */
export function generatedJobId(nowMs: number, random: number): string {
  const time = Math.abs(Math.floor(nowMs)).toString(36).slice(-6).padStart(6, '0');
  return (
    time +
    Math.floor(random * 36 ** 10)
      .toString(36)
      .padStart(10, '0')
  );
}

/**
 * Reads a group as a caller names it: plain for the caller's own namespace, `tenant/id` for another one.
 * @param text - what the caller gave.
 * @param ownTenant - the caller's namespace.
 * @returns the stored key, the namespace and the id in it.
 * @throws MillraceError `ID_INVALID`.
 */
export function parseGroupRef(text: unknown, ownTenant = ''): GroupRef {
  if (typeof text !== 'string') throw idInvalid('groupId', `a text of ${expected(ID_LENGTH_MAX)}`, text);
  const at = text.indexOf(SEPARATOR);
  const tenant = checkTenant(at < 0 ? ownTenant : text.slice(0, at));
  const id = checkId('groupId', text.slice(at + 1));
  return { key: formatScopedId({ tenant, id }), tenant, id };
}

/**
 * A stored key as callers write it: plain where the namespace is '', else `tenant/id`.
 * @param key - the stored key.
 */
export const groupIdOf = (key: GroupKey): string => (key.startsWith(SEPARATOR) ? key.slice(1) : key);
