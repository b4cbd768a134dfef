import { ERRORS } from '../errors.js';

/** PostgreSQL cuts longer names off, silently where they stand in SQL: two names would become one. */
const BYTES_MAX = 63;

/**
 * A name as it may stand in SQL, whatever is in it.
 * @returns the name in double quotes.
 * @throws MillraceError `IDENTIFIER_INVALID` for an empty name, one over 63 bytes, one with NUL or half surrogate pairs.
 */
export function quoteIdentifier(name: string): string {
  const isName =
    typeof name === 'string' &&
    name !== '' &&
    Buffer.byteLength(name) <= BYTES_MAX &&
    !/\0|\p{Surrogate}/u.test(name);
  if (!isName) {
    const given = typeof name === 'string' ? JSON.stringify(name.slice(0, 100)) : name;
    throw ERRORS.create('IDENTIFIER_INVALID', { expected: 'a text of 1 to 63 bytes', given });
  }
  return `"${name.replaceAll('"', '""')}"`;
}
