/**
 * A text cut where it would fill a table; `--json` has the whole.
 * @param most - characters, the one that stands for the rest among them.
 */
export const shortened = (text: string, most: number): string =>
  // Half of a character that is two would be shown as a question mark.
  text.length > most ? `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…` : text;

/**
 * A number of things in words: `1 job`, `1,200 jobs`.
 * @param many - what several are called, where that is not only an s more.
 */
export const things = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
