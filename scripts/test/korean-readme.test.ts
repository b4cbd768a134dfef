import { expect, it } from 'vitest';
import { snippetsIn } from '../markdown-snippets.mjs';

/** The comments are in Korean. */
const linesOf = (code: string) => code.split('\n').map((line) => line.replace(/\s+# .*$/, ''));

it('README.ko.md has the commands of README.md, which the tests run', () => {
  const known = new Set(snippetsIn('README.md', 'sh').flatMap(({ code }) => linesOf(code)));
  const own = snippetsIn('README.ko.md', 'sh').flatMap(({ code }) => linesOf(code));
  expect(own.length).toBeGreaterThan(8);
  expect(own.filter((line) => !known.has(line))).toEqual([]);
});
