import { shellWord } from '../show/shell-word.js';
import type { Asking } from './asking.js';

/**
 * A command to copy, with the same server as this one was given.
 * @param words - of the command, without `millrace`; ids of a server may be among them.
 */
export function nextCommand({ command, url }: Asking, ...words: readonly string[]): string {
  const isNamed = command.opts().url !== undefined;
  return ['millrace', ...words, ...(isNamed ? ['--url', url] : [])].map(shellWord).join(' ');
}
