import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../command.mjs';
import { ERROR_CODES, makeErrorCodes, readRegistries } from '../error-codes.mjs';
import { markdownFiles } from '../markdown-snippets.mjs';
import { makeReference, REFERENCE } from '../reference.mjs';

const read = (path: string) => readFileSync(join(root, path), 'utf8');

describe('links', () => {
  const documents = markdownFiles();
  const withoutBlocks = (path: string) => read(path).replace(/^```[\s\S]*?^```$/gm, '');
  const targetsIn = (path: string) => {
    const text = withoutBlocks(path).replace(/`[^`\n]*`/g, '');
    return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  };
  const isExternal = (target: string) => /^[a-z]+:/i.test(target);

  /** The anchors of a document, as GitHub makes them of headings. */
  const anchorsIn = (path: string) =>
    [...withoutBlocks(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .trim()
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replace(/\s/g, '-'),
    );

  function problemOf(path: string, target: string): string | undefined {
    if (isExternal(target)) return undefined;
    const [place = '', anchor] = target.split('#');
    const file = place === '' ? path : normalize(join(dirname(path), place));
    if (file.startsWith('..')) return `${target} leads out of the repository`;
    if (!existsSync(join(root, file))) return `${file} does not exist`;
    if (anchor === undefined || statSync(join(root, file)).isDirectory() || !file.endsWith('.md'))
      return undefined;
    return anchorsIn(file).includes(anchor) ? undefined : `${file} has no heading #${anchor}`;
  }

  it.each(documents)('of %s have a target', (path) => {
    expect(targetsIn(path).flatMap((target) => problemOf(path, target) ?? [])).toEqual([]);
  });

  it('lead from the README to every document', () => {
    const reached = new Set(['README.md']);
    for (const path of reached)
      for (const target of targetsIn(path).filter((link) => !isExternal(link))) {
        const file = normalize(join(dirname(path), target.replace(/#.*/, ''))).replace(/\/$/, '');
        for (const page of [file, `${file}/README.md`]) if (documents.includes(page)) reached.add(page);
      }
    const own = documents.filter((path) => !path.startsWith('docs/adr/'));
    expect(own.filter((path) => !reached.has(path))).toEqual([]);
  });

  it('without a target are reported', () => {
    expect(problemOf('README.md', 'docs/nowhere.md')).toBe('docs/nowhere.md does not exist');
    expect(problemOf('README.md', '#no-such-heading')).toContain('has no heading');
    expect(problemOf('README.md', '../elsewhere.md')).toContain('leads out');
  });
});

describe('the benchmarks in the README', () => {
  /** The rows of all tables whose heads begin with these names. An empty first cell repeats the one above it. */
  function rowsBelow(path: string, ...heads: string[]) {
    const found: Record<string, string>[] = [];
    let head: string[] | undefined;
    let before = '';
    for (const line of read(path).split('\n')) {
      const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
      const [first = '', ...rest] = cells.slice(1, -1);
      if (!line.startsWith('|')) head = undefined;
      else if (heads.every((name, at) => cells[at + 1] === name)) head = cells.slice(1, -1);
      else if (head && !line.startsWith('|---')) {
        before = first || before;
        found.push(Object.fromEntries(head.map((name, at) => [name, [before, ...rest][at] ?? ''])));
      }
    }
    return found;
  }

  it('are the measured ones', () => {
    const text = ({ work, peer, ratio, bar }: Record<string, string>) =>
      `${work}, beside ${peer}: ${ratio}, bar ${bar}`;
    const measured = rowsBelow('docs/benchmarks.md', 'work', 'ours').map(text);
    const shown = rowsBelow('README.md', 'work', 'beside', 'ratio', 'bar').map((row) =>
      text({ ...row, peer: row.beside ?? '' }),
    );
    expect(shown.length).toBeGreaterThan(5);
    expect(measured).toEqual(expect.arrayContaining(shown));
  });
});

describe('docs/errors.md', async () => {
  const registries = await readRegistries('src/errors.ts');
  const registered = registries.flatMap(({ owner, specs }) =>
    Object.entries(specs).map(([code, { status, retryable }]) => ({ code, owner, status, retryable })),
  );

  it('lists the codes of the registries with their status and whether to retry', () => {
    const row = /^\| `(\w+)` \| ([\w-]+) \| (\d+) \| (yes|no) \| \S.*\|$/gm;
    const documented = [...read('docs/errors.md').matchAll(row)].map(([, ...cells]) => cells.join(' '));
    const expected = registered.map(({ code, owner, status, retryable }) =>
      [code, owner, status, retryable ? 'yes' : 'no'].join(' '),
    );
    expect(expected.length).toBeGreaterThan(5);
    expect(documented.sort()).toEqual(expected.sort());
  });

  it('has one status for a code of two packages', () => {
    const answers = new Set(
      registered.map(({ code, status, retryable }) => `${code} ${status} ${retryable}`),
    );
    expect(answers.size).toBe(new Set(registered.map(({ code }) => code)).size);
  });

  it('agrees with the statuses and messages of the contract', () => {
    const generated = makeErrorCodes(registries);
    expect(generated, '`npm run docs` writes it').toBe(readFileSync(ERROR_CODES, 'utf8'));
  });
});

it('docs/reference.md has every option with its default and its comment', async () => {
  const text = await makeReference();
  expect(text, '`npm run docs` writes it').toBe(readFileSync(REFERENCE, 'utf8'));
  expect(text.match(/^\| `/gm)?.length).toBeGreaterThan(200);
});
