const PLAIN = /^[A-Za-z0-9_.~-]+$/;
const PLAIN_BYTE = /[A-Za-z0-9_.~-]/;
// No encoded character is a lone %, so it can stand for the empty id. A key part is never empty.
const EMPTY = '%';

/**
 * Turns an id of any content into a part of a Redis key. The part has only letters, digits and `_ . ~ - %`, so never a
 * brace, a colon or a slash. Different ids give different parts.
 */
export function encodeId(id: string): string {
  if (PLAIN.test(id)) return id;
  if (id === '') return EMPTY;
  let part = '';
  // The iteration yields whole code points, so a single surrogate is a lone one.
  for (const character of id) {
    if (PLAIN_BYTE.test(character)) part += character;
    else if (character.length === 1 && /[\ud800-\udfff]/.test(character)) {
      // UTF-8 has no bytes for a lone surrogate. All of them would become the same U+FFFD.
      part += `%u${character.charCodeAt(0).toString(16).toUpperCase()}`;
    } else
      for (const byte of Buffer.from(character))
        part += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return part;
}

/** Builds the keys of one engine, queue or store: `key('items')`, `key('client', clientId)`. All are in one slot. */
export interface KeySpace {
  (...parts: readonly string[]): string;
  /** The hash tag that all keys begin with, including its braces. */
  readonly tag: string;
}

/**
 * Makes the key builder of one engine, queue or store. All its keys share one hash tag, so that one script can use all of
 * them in a Redis Cluster.
 * @param names - from general to particular. They are encoded, so any text is allowed.
 */
export function keySpace(...names: readonly string[]): KeySpace {
  const tag = `{${names.map(encodeId).join(':')}}`;
  return Object.assign((...parts: readonly string[]) => [tag, ...parts.map(encodeId)].join(':'), { tag });
}
