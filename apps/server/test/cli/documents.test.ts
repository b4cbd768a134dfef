import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { programOf } from '../../src/cli/program.js';
import { capturedSurroundings } from './captured.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

const below = (folder: string, depth: number): string[] =>
  readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.name === 'node_modules' || entry.name.startsWith('.')) return [];
    if (entry.isDirectory()) return depth > 0 ? below(path, depth - 1) : [];
    return entry.name.endsWith('.md') ? [path] : [];
  });

/** Its history tells of commands as they were. */
const DOCUMENTS = below('.', 3).filter((path) => path !== 'CHANGELOG.md' && path !== 'docs/cli.md');

/** A call of the program, as a document writes it. */
interface Call {
  readonly at: string;
  readonly words: readonly string[];
}

/** In code only, so a sentence about Millrace is none. Up to where the shell would end the command. */
function callsIn(path: string): readonly Call[] {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const code = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$|`([^`\n]+)`/gm)];
  return code
    .filter(([, language = 'sh']) => SHELL.includes(language))
    .flatMap(({ 2: block, 3: inline, index }) =>
      [...(block ?? inline ?? '').replaceAll('\\\n', ' ').matchAll(CALL)].map(([, words = '']) => ({
        at: `${path}:${text.slice(0, index).split('\n').length}`,
        words: words.match(/'[^']*'|"[^"]*"|[^\s'"]+/g) ?? [],
      })),
    );
}

const SHELL = ['sh', 'bash', 'console', 'text', 'yaml', ''];
/** A user of Redis may have the name, too. */
const CALL = /(?<!SETUSER )(?<=^|[\s(;&|$])millrace((?: +(?:'[^']*'|"[^"]*"|[^\s|;&#>)'"`]+))+)/gm;

const calls = DOCUMENTS.flatMap(callsIn);
let program: Command;
beforeAll(async () => {
  program = await programOf(capturedSurroundings().surroundings, () => {});
});

/** A subcommand that need not be named. */
const LEFT_OUT: Readonly<Record<string, string>> = { submit: 'op' };

/** The command that the words name, and what is left of them. */
function meant(words: readonly string[], command = program): [Command, readonly string[]] {
  const [first = '', ...rest] = words;
  const next = command.commands.find((each) => each.name() === first);
  if (next) return meant(rest, next);
  const other = command.commands.find((each) => each.name() === LEFT_OUT[command.name()]);
  return other && !first.startsWith('-') ? [other, words] : [command, words];
}

describe('the documents', () => {
  it('call the program in many places', () => {
    expect(calls.length).toBeGreaterThan(20);
    expect(calls.some(({ at }) => at.startsWith('README.md'))).toBe(true);
  });

  it('name no command and no option that there is not', () => {
    const wrong = calls.flatMap(({ at, words }) => {
      // `batches list|show` names several at once.
      return alternatives(words).flatMap((each) => {
        const [command, rest] = meant(each);
        const [first] = rest;
        const isUnknown =
          command.commands.length > 0 &&
          first !== undefined &&
          /^[a-z-]+$/.test(first) &&
          !first.startsWith('-');
        const flags = rest
          .filter((word) => /^\[?--/.test(word))
          .map((word) => word.replace(/^\[|[=\]].*$/g, ''));
        const known = [...command.options.map(({ long }) => long), '--help', '--version'];
        return [
          ...(isUnknown ? [`${at}: millrace ${each.join(' ')}`] : []),
          ...flags.filter((flag) => !known.includes(flag)).map((flag) => `${at}: ${command.name()} ${flag}`),
        ];
      });
    });
    expect(wrong).toEqual([]);
  });
});

const alternatives = (words: readonly string[]): readonly (readonly string[])[] => {
  const at = words.findIndex((word) => /^[a-z]+(\|[a-z]+)+$/.test(word));
  return at < 0 ? [words] : (words[at] ?? '').split('|').map((word) => words.with(at, word));
};
