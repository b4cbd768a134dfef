import type { Asking } from './asking.js';

/** What a shell leaves as it is. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/**
 * A command to copy, with the same server as this one was given.
 * @param asking - see Asking.
 * @param words - of the command, without `millrace`; ids of a server may be among them.
 */
export function nextCommand({ command, url }: Asking, ...words: readonly string[]): string {
  const isNamed = command.opts().url !== undefined;
  return ['millrace', ...words, ...(isNamed ? ['--url', url] : [])].map(quoted).join(' ');
}

const quoted = (word: string): string => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
