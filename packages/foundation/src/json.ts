import { printable, toWorkError } from './errors.js';

/** Maximum nesting of a payload. Readers recurse and must not overflow the stack. */
const DEPTH_MAX = 1000;

/** A value as JSON, or the reason why it has no JSON form. */
export type Encoded = { readonly json: string } | { readonly reason: string };

/** Encodes a value as JSON. `undefined` becomes null. Never throws. */
export function encodeJson(value: unknown): Encoded {
  // JSON.stringify would silently write null.
  if (typeof value === 'number' && !Number.isFinite(value)) return { reason: `${value} is no JSON number` };
  let json: string | undefined;
  try {
    json = JSON.stringify(value ?? null);
  } catch (error) {
    return { reason: whyNot(error) };
  }
  if (json === undefined) return { reason: `a ${typeof value} is no JSON value` };
  if (isTooDeep(json)) return { reason: `it is nested more than ${DEPTH_MAX} levels deep` };
  return { json };
}

/**
 * Returns the size of a text in UTF-8 bytes if it is above `max` bytes, else undefined.
 * @param text - well-formed, as JSON is.
 */
export function bytesBeyond(text: string, max: number): number | undefined {
  // A UTF-16 unit is at most 3 bytes, so most texts need no counting.
  if (text.length * 3 <= max) return undefined;
  const bytes = Buffer.byteLength(text);
  return bytes > max ? bytes : undefined;
}

function whyNot(error: unknown): string {
  if (error instanceof RangeError) return 'it is too deep or too long to be written as JSON';
  // The first line names the cause. The others of a circular value draw the whole path.
  return printable(toWorkError(error).message.split('\n')[0]);
}

function isTooDeep(json: string): boolean {
  // A level takes at least two characters.
  if (json.length <= 2 * DEPTH_MAX) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    switch (json[at]) {
      case '"':
        at = endOfText(json, at);
        break;
      case '[':
      case '{':
        if (++depth > DEPTH_MAX) return true;
        break;
      case ']':
      case '}':
        depth--;
        break;
      default:
    }
  }
  return false;
}

function endOfText(json: string, from: number): number {
  let at = from + 1;
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at;
}
