import { printable } from '../error-registry.js';
import { toWorkError } from '../work-error.js';

/** Levels of a payload: whoever reads it back recurses, and must not depend on how much stack is left. */
const DEPTH_MAX = 1000;

/** What a value is as JSON, or why it is none. */
export type Encoded = { readonly json: string } | { readonly reason: string };

/**
 * Writes a value as JSON; `undefined` is null.
 * @returns the text, or why there is none.
 */
export function encodeJson(value: unknown): Encoded {
  // JSON would quietly write null.
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
 * The size of a text in UTF-8 when it is above a limit.
 * @param text - well-formed, as JSON is.
 * @param max - in bytes.
 * @returns the bytes, undefined when the text fits.
 */
export function bytesBeyond(text: string, max: number): number | undefined {
  // A UTF-16 unit is at most 3 bytes: most texts need no counting.
  if (text.length * 3 <= max) return undefined;
  const bytes = Buffer.byteLength(text);
  return bytes > max ? bytes : undefined;
}

function whyNot(error: unknown): string {
  if (error instanceof RangeError) return 'it is too deep or too long to be written as JSON';
  // The first line names the cause; the others of a circular one draw the whole path.
  return printable(toWorkError(error).message.split('\n')[0]);
}

function isTooDeep(json: string): boolean {
  // A level takes two characters.
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
