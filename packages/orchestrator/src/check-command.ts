import { hash } from 'node:crypto';
import { bytesBeyond, encodeJson, printable } from '@millrace/foundation';
import { ERRORS } from './errors.js';
import type { Command, CommandInput } from './model.js';
import { fromStoredJson } from './stored-json.js';

/** An invalid field of a command. */
interface FieldProblem {
  readonly field: string;
  readonly expected: string;
  readonly given: string;
}

/** A valid command, ready to be stored. */
export interface CheckedCommand {
  readonly command: Command;
  /** SHA-256 of the canonical payload, in hexadecimal. */
  readonly bodyHash: string;
}

const NAME = /^[A-Z0-9_]{1,50}$/;
const NAME_EXPECTED = '1 to 50 characters of A–Z, 0–9 and _';
const BIZ_KEY_LENGTH_MAX = 100;
const IDEM_KEY_LENGTH_MAX = 255;
const FIELDS: readonly string[] = ['domain', 'eventType', 'bizKey', 'idemKey', 'payload'];
// Databases cannot store a NUL or half of a surrogate pair.
const UNSTORABLE = /\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

const isName = (value: unknown): boolean => typeof value === 'string' && NAME.test(value);
const isKey = (value: unknown, max: number): boolean =>
  typeof value === 'string' && value.trim() !== '' && value.length <= max && !UNSTORABLE.test(value);

/**
 * Validates a command and returns a frozen copy of it.
 * @param idemKey - makes the key if the caller gave none.
 * @param payloadBytesMax - maximum size of the payload, as JSON.
 * @throws MillraceError `COMMAND_INVALID` with all problems in `details.errors`.
 */
export function checkCommand(
  input: CommandInput,
  idemKey: () => string,
  payloadBytesMax: number,
): CheckedCommand {
  const problems: FieldProblem[] = [];
  const complain = (field: string, expected: string, given: unknown) =>
    problems.push({ field, expected, given: printable(given) });
  if (typeof input !== 'object' || input === null) {
    complain('command', 'an object', input);
    throw refusal(problems);
  }
  const { domain, eventType, bizKey, payload = null } = input;
  const key = input.idemKey ?? idemKey();
  for (const field of Object.keys(input))
    if (!FIELDS.includes(field)) complain(field, `one of ${FIELDS.join(', ')}`, 'an unknown field');
  if (!isName(domain)) complain('domain', NAME_EXPECTED, domain);
  if (!isName(eventType)) complain('eventType', NAME_EXPECTED, eventType);
  if (!isKey(bizKey, BIZ_KEY_LENGTH_MAX))
    complain('bizKey', `1 to ${BIZ_KEY_LENGTH_MAX} characters, not blank`, bizKey);
  if (!isKey(key, IDEM_KEY_LENGTH_MAX))
    complain('idemKey', `1 to ${IDEM_KEY_LENGTH_MAX} characters, not blank`, key);
  const encoded = encodeJson(payload);
  if ('reason' in encoded) complain('payload', 'a JSON value', encoded.reason);
  else if (bytesBeyond(encoded.json, payloadBytesMax) !== undefined)
    complain(
      'payload',
      `at most ${payloadBytesMax} bytes as JSON`,
      `${Buffer.byteLength(encoded.json)} bytes`,
    );
  if (problems.length > 0 || 'reason' in encoded) throw refusal(problems);
  // A handler must get the same payload in the first attempt as in one after a restart.
  const copy = fromStoredJson(encoded.json);
  const bodyHash = hash('sha256', canonicalJson(copy), 'hex');
  return { command: Object.freeze({ domain, eventType, bizKey, idemKey: key, payload: copy }), bodyHash };
}

/** Writes a JSON value with its keys in order, so that equal bodies have equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`);
  return `{${entries.join(',')}}`;
}

function refusal(errors: readonly FieldProblem[]) {
  const problems = errors
    .map(({ field, expected, given }) => `${field} must be ${expected}, got ${given}`)
    .join('; ');
  const details = { problems, errors };
  return ERRORS.create('COMMAND_INVALID', details);
}

/** Returns the name of the route of a command. */
export const routeOf = ({ domain, eventType }: Pick<Command, 'domain' | 'eventType'>): string =>
  `${domain}.${eventType}`;
