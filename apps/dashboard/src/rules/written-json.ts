/** More is more than anybody reads at once, and slow to lay out. */
export const JSON_SHOWN_MAX = 4_000;

/** Characters that turn the direction of a text, or are not seen: what is read must be what is there. */
const UNSEEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
const LAYOUT = '\n\t';

/** A value as text. */
export interface WrittenJson {
  readonly text: string;
  readonly isCut: boolean;
  /** Of the whole text. */
  readonly length: number;
}

/** A value as indented JSON, in which everything can be seen. */
export function writtenJson(value: unknown, max = JSON_SHOWN_MAX): WrittenJson {
  const whole = shownText(JSON.stringify(value, null, 2) ?? 'undefined');
  const isCut = whole.length > max;
  return { text: isCut ? `${whole.slice(0, max)}…` : whole, isCut, length: whole.length };
}

/** A text from outside in which everything can be seen. */
export const shownText = (text: string): string =>
  text.replaceAll(UNSEEN, (character) =>
    LAYOUT.includes(character) ? character : `\\u${character.codePointAt(0)?.toString(16).padStart(4, '0')}`,
  );
