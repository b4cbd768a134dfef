import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './command.mjs';

/**
 * The fenced code blocks of a markdown file in one of the given languages, with the line each starts at.
 * @param {string} path relative to the root of the repository
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
