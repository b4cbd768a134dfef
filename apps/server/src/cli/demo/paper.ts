import type { Colours } from '../show/printer.js';
import { shortened } from '../show/text.js';

/** What a picture is drawn on. */
export interface Paper {
  readonly columns: number;
  readonly rows: number;
  readonly colours: Colours;
}

/**
 * A text that fits.
 * @param text - without colours.
 */
export function cut(text: string, width: number): string {
  return width <= 0 ? '' : shortened(text, width);
}

/** Between words; an amount stays with its unit. */
const BREAK = /(?<!\d)\s+|(?<=\d)\s+(?!(?:%|ms|s|min|h|d)(?![\w%]))/;

/**
 * A text in lines, broken between words; words that are too long are broken anywhere.
 * @param text - without colours.
 */
export function wrapped(text: string, given: number): readonly string[] {
  const width = Math.max(1, given);
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(BREAK).filter((part) => part !== '')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = '';
    }
    let rest = line === '' ? word : `${line} ${word}`;
    for (; rest.length > width; rest = rest.slice(width)) lines.push(rest.slice(0, width));
    line = rest;
  }
  return line === '' ? lines : [...lines, line];
}
