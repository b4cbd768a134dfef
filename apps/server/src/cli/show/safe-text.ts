/** What a terminal would act upon instead of showing it: control characters, and those that turn the direction of writing. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * A text of somebody else, on one line, with nothing in it that a terminal obeys.
 * @param text - an id, a message, anything that came from a server.
 */
export const safeText = (text: string): string => text.replace(UNSAFE, escaped);

/**
 * A value as JSON, indented; what a terminal would obey is escaped in it, which no reader of JSON notices.
 * @param value - anything that JSON can say.
 */
export const safeJson = (value: unknown): string =>
  // Of the control characters only the line breaks of the indentation are left by JSON.
  (JSON.stringify(value, undefined, 2) ?? 'null').replace(UNSAFE, (character) =>
    character === '\n' ? character : escaped(character),
  );
