import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES, makeErrorCodes, readRegistries } from '../error-codes.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const registries = await readRegistries('src/errors.ts');

/** `code | package | HTTP | retryable` of every registry in the repository. */
const registered = (): string[] =>
  registries.flatMap(({ owner, specs }) =>
    Object.entries(specs).map(
      ([code, { status, retryable }]) => `${code} | ${owner} | ${status} | ${retryable ? 'yes' : 'no'}`,
    ),
  );

/** The same of every row of docs/errors.md. */
function documented(): string[] {
  const rows = readFileSync(`${root}docs/errors.md`, 'utf8').matchAll(
    /^\| `(\w+)` \| ([\w-]+) \| (\d+) \| (yes|no) \| \S.*\|$/gm,
  );
  return [...rows].map(([, ...cells]) => cells.join(' | '));
}

describe('docs/errors.md', () => {
  it('lists exactly the codes of the registries, with their status and whether to try again', () => {
    const codes = registered();
    expect(codes.length).toBeGreaterThan(5);
    expect(documented().sort()).toEqual(codes.sort());
  });

  it('a code that two packages use answers the same way in both', () => {
    const answers = registered().map((row) => row.split(' | ').filter((_, cell) => cell !== 1));
    const codes = new Set(answers.map(([code]) => code));
    expect(new Set(answers.map((answer) => answer.join(' | '))).size).toBe(codes.size);
  });
});

it('the contract has the status and message of every code', () => {
  expect(makeErrorCodes(registries), '`npm run docs` writes it').toBe(readFileSync(ERROR_CODES, 'utf8'));
});
