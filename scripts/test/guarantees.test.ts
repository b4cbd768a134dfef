import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testNames } from '../check-requirements.mjs';
import { root } from '../command.mjs';
import { parseSource } from '../source-files.mjs';

// The rows of the tables of promises; others, such as what survives which crash, have another head.
const text = readFileSync(join(root, 'docs/guarantees.md'), 'utf8');
const rows = [...text.matchAll(/^\| promise \| proof \|\n\|---\|---\|\n((?:\|.*\n)+)/gm)]
  .flatMap(([, body = '']) => body.trim().split('\n'))
  .map((line) => {
    const [promise = line, proof = ''] = line.replace(/^\| | \|$/g, '').split(' | ');
    return { promise, proof };
  });

describe('docs/guarantees.md', () => {
  it('has promises', () => {
    expect(rows.length).toBeGreaterThan(5);
  });

  it.each(rows)('$promise', ({ proof }) => {
    const links = [...proof.matchAll(/\[[^\]]+\]\(\.\.\/([^)]+)\) "([^"]+)"/g)];
    expect(links.length, 'a proof is [file](../path) "name of the test"').toBeGreaterThan(0);
    for (const [, path = '', name = ''] of links) {
      expect(existsSync(join(root, path)), path).toBe(true);
      const names: string[] = testNames(parseSource(path, readFileSync(join(root, path), 'utf8')));
      expect(
        names.some((title) => title.includes(name)),
        `no test in ${path} is named "${name}"`,
      ).toBe(true);
    }
  });
});
