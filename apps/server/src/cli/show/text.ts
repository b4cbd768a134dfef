/** Characters that a terminal obeys instead of showing: control characters and changes of the text direction. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern exists to find control characters.
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Escapes control characters in a text from a server, so that it stays on one line and cannot control the terminal. */
export const safeText = (text: string): string => text.replace(UNSAFE, escaped);

/** Formats a value as indented JSON. Escapes control characters, which JSON parsers read back unchanged. */
export const safeJson = (value: unknown): string =>
  // JSON.stringify escapes the other control characters. The line breaks left are those of the indentation.
  (JSON.stringify(value, undefined, 2) ?? 'null').replace(UNSAFE, (character) =>
    character === '\n' ? character : escaped(character),
  );

/** Quotes a text for a shell. An id from a server must not become a command when a user copies it. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

/**
 * Cuts a text for a table. `--json` prints it in full.
 * @param most - the maximum length, with the ellipsis.
 */
export const shortened = (text: string, most: number): string =>
  // A terminal shows half of a surrogate pair as a question mark.
  text.length > most ? `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…` : text;
