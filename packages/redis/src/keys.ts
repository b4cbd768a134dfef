import { ERRORS as FOUNDATION_ERRORS } from '@millrace/foundation';

const PLAIN = /^[A-Za-z0-9_.~-]+$/;
const PLAIN_BYTE = /[A-Za-z0-9_.~-]/;
// No encoded character is a lone %, so it is free to stand for the empty id: a key part is never empty.
const EMPTY = '%';

/**
 * Turns an id of any content into a part of a Redis key: letters, digits and `_ . ~ - %` only, so never a brace,
 * a colon or a slash. Two different ids never give the same part.
 * @returns the part; {@link decodeId} gives the id back.
 */
export function encodeId(id: string): string {
  if (PLAIN.test(id)) return id;
  if (id === '') return EMPTY;
  let part = '';
  // Iterating gives whole code points; what is left over as a single surrogate is a lone one.
  for (const character of id) {
    if (PLAIN_BYTE.test(character)) part += character;
    else if (character.length === 1 && /[\ud800-\udfff]/.test(character)) {
      // UTF-8 has no bytes for it, and every lone surrogate would become the same U+FFFD.
      part += `%u${character.charCodeAt(0).toString(16).toUpperCase()}`;
    } else
      for (const byte of Buffer.from(character))
        part += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return part;
}

/**
 * Gives back the id that {@link encodeId} encoded.
 * @returns the id.
 * @throws MillraceError `ID_INVALID` when no id is encoded like this.
 */
export function decodeId(part: string): string {
  if (part === EMPTY) return '';
  const id = part.replace(/%u([0-9A-F]{4})|((?:%[0-9A-F]{2})+)/g, (_, surrogate?: string, bytes?: string) =>
    surrogate
      ? String.fromCharCode(Number.parseInt(surrogate, 16))
      : Buffer.from((bytes ?? '').replaceAll('%', ''), 'hex').toString(),
  );
  // One spelling per id: anything else would let two keys mean the same.
  if (part === '' || encodeId(id) !== part) {
    const expected = 'a key part made by encodeId';
    throw FOUNDATION_ERRORS.create('ID_INVALID', { kind: 'key part', expected, given: `'${part}'` });
  }
  return id;
}

/** Builds the keys of one thing: `key('items')`, `key('client', clientId)`. All lie in one slot of a Redis Cluster. */
export interface KeySpace {
  (...parts: readonly string[]): string;
  /** What all keys begin with, braces included. */
  readonly tag: string;
}

/**
 * Makes the key builder of one engine, queue or store. All its keys share one hash tag, so that one script may touch
 * all of them in a Redis Cluster.
 * @param names - what the thing is called, from general to particular; encoded, so any text will do.
 * @returns the builder.
 */
export function keySpace(...names: readonly string[]): KeySpace {
  const tag = `{${names.map(encodeId).join(':')}}`;
  return Object.assign((...parts: readonly string[]) => [tag, ...parts.map(encodeId)].join(':'), { tag });
}
