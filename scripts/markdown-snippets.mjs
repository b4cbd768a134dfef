import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './command.mjs';
import { filesBelow } from './source-files.mjs';

/**
 * The fenced code blocks of a markdown file in one of the given languages, with their first lines.
 * @param {string[]} languages
 * @returns {{ path: string, language: string, code: string, line: number }[]}
 */
export function snippetsIn(path, ...languages) {
  const text = readFileSync(join(root, path), 'utf8');
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .filter(([, language]) => languages.includes(language))
    .map(({ 1: language = '', 2: code = '', index }) => ({
      path,
      language,
      code,
      line: text.slice(0, index).split('\n').length,
    }));
}

/** The documents of the repository, without the licences of libraries. */
export const markdownFiles = () =>
  ['docs', 'packages', 'apps', 'examples']
    .flatMap(filesBelow)
    .concat(readdirSync(root))
    .filter((path) => path.endsWith('.md') && !path.startsWith('apps/server/page/'))
    .sort();
