import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

interface Registry {
  readonly owner: string;
  readonly specs: Record<string, { status: number; retryable: boolean }>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

/** `code | package | HTTP | retryable` of every registry in the repository. */
async function registered(): Promise<string[]> {
  const paths = ['packages', 'apps'].flatMap((place) =>
    readdirSync(`${root}${place}`).map((name) => `${root}${place}/${name}/src/errors.ts`),
  );
  const modules = await Promise.all(
    paths.filter((path) => existsSync(path)).map((path) => import(path) as Promise<{ ERRORS: Registry }>),
  );
  return modules.flatMap(({ ERRORS: { owner, specs } }) =>
    Object.entries(specs).map(
      ([code, { status, retryable }]) => `${code} | ${owner} | ${status} | ${retryable ? 'yes' : 'no'}`,
    ),
  );
}

/** The same of every row of docs/errors.md. */
function documented(): string[] {
  const rows = readFileSync(`${root}docs/errors.md`, 'utf8').matchAll(
    /^\| `(\w+)` \| ([\w-]+) \| (\d+) \| (yes|no) \| \S.*\|$/gm,
  );
  return [...rows].map(([, ...cells]) => cells.join(' | '));
}

describe('docs/errors.md', () => {
  it('lists exactly the codes of the registries, with their status and whether to try again', async () => {
    const codes = await registered();
    expect(codes.length).toBeGreaterThan(5);
    expect(documented().sort()).toEqual(codes.sort());
  });

  it('a code that two packages use answers the same way in both', async () => {
    const answers = (await registered()).map((row) => row.split(' | ').filter((_, cell) => cell !== 1));
    const codes = new Set(answers.map(([code]) => code));
    expect(new Set(answers.map((answer) => answer.join(' | '))).size).toBe(codes.size);
  });
});
