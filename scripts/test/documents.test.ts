import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { guaranteeProblems, linkProblems } from '../check-documents.mjs';
import { root } from '../command.mjs';
import { ERROR_CODES, makeErrorCodes, readRegistries } from '../error-codes.mjs';
import { makeReference, REFERENCE } from '../reference.mjs';

const read = (path: string) => readFileSync(join(root, path), 'utf8');

it('reports links that lead nowhere', () => {
  expect(linkProblems('README.md', 'docs/operations.md')).toEqual([]);
  expect(linkProblems('README.md', 'docs/nowhere.md')).toEqual(['README.md: docs/nowhere.md does not exist']);
  expect(linkProblems('docs/cli.md', '#no-such-heading')).toEqual([
    expect.stringContaining('has no heading'),
  ]);
  expect(linkProblems('README.md', '../elsewhere.md')).toEqual([expect.stringContaining('leads out')]);
});

it('reports guarantees without a proof that exists', () => {
  const test = '[documents.test.ts](../scripts/test/documents.test.ts)';
  const chaos = '[chaos.slow.test.ts](../chaos/test/chaos.slow.test.ts) "every invariant holds"';
  const problems = (proof: string) => guaranteeProblems(`| It holds | ${proof} |\n`, new Set(['disk-full']));
  for (const proof of [`${test} "reports links"`, `${chaos}: \`disk-full\``, 'the same process'])
    expect(problems(proof)).toEqual([]);
  for (const proof of ['certainly', test, chaos, `${test} "reports luck"`, '`disk-empty`'])
    expect(problems(proof)).toHaveLength(1);
});

it('the README shows benchmarks as they were measured', () => {
  /** The rows below a head, with some of their cells. An empty first cell repeats the one above it. */
  const rowsBelow = (path: string, head: string, columns: readonly number[]) => {
    let work = '';
    return [...read(path).matchAll(new RegExp(`^\\| ${head}.*\\n((?:\\|.*\\n)+)`, 'gm'))]
      .flatMap(([, rows = '']) => rows.trimEnd().split('\n').slice(1))
      .map((row) => {
        const cells = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
        work = cells[1] || work;
        return [work, ...columns.map((column) => cells[column])].join(' | ');
      });
  };
  const shown = rowsBelow('README.md', 'work \\| beside', [2, 3, 4]);
  expect(shown.length).toBeGreaterThan(5);
  const measured = rowsBelow('docs/benchmarks.md', 'work \\| ours', [3, 5, 9]);
  expect(measured).toEqual(expect.arrayContaining(shown));
});

it('docs/errors.md and the contract have the codes of the registries', async () => {
  const registries = await readRegistries('src/errors.ts');
  const rows = registries.flatMap(({ owner, specs }) =>
    Object.entries(specs).map(([code, { status, retryable }]) =>
      [code, owner, status, retryable ? 'yes' : 'no'].join(' '),
    ),
  );
  const row = /^\| `(\w+)` \| ([\w-]+) \| (\d+) \| (yes|no) \| \S.*\|$/gm;
  const documented = [...read('docs/errors.md').matchAll(row)].map(([, ...cells]) => cells.join(' '));
  expect(documented.sort()).toEqual(rows.sort());
  // A code of two packages has one status.
  const meanings = new Set(rows.map((each) => each.replace(/ \S+/, '')));
  expect(meanings.size).toBe(new Set(rows.map((each) => each.split(' ')[0])).size);
  expect(makeErrorCodes(registries), '`npm run docs` writes it').toBe(readFileSync(ERROR_CODES, 'utf8'));
});

it('docs/reference.md has every option with its default and its comment', async () => {
  const text = await makeReference();
  expect(text, '`npm run docs` writes it').toBe(readFileSync(REFERENCE, 'utf8'));
  expect(text.match(/^\| `/gm)?.length).toBeGreaterThan(200);
});
