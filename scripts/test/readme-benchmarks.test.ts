import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../command.mjs';

const cellsOf = (line: string) => line.split(/(?<!\\)\|/).map((cell) => cell.trim());

/** The lines of all tables with these first heads: their cells by head; an empty first cell stands for the one above it. */
function linesBelow(path: string, ...heads: string[]): Record<string, string>[] {
  const found: Record<string, string>[] = [];
  let head: string[] | undefined;
  let before = '';
  for (const line of readFileSync(join(root, path), 'utf8').split('\n')) {
    const cells = cellsOf(line).slice(1, -1);
    if (!line.startsWith('|')) head = undefined;
    else if (heads.every((name, at) => cells[at] === name)) head = cells;
    else if (head && !line.startsWith('|---')) {
      before = cells[0] || before;
      found.push(Object.fromEntries(head.map((name, at) => [name, (at === 0 ? before : cells[at]) ?? ''])));
    }
  }
  return found;
}

describe('the benchmarks in the README', () => {
  it('are those that the command has written', () => {
    const written = linesBelow('docs/benchmarks.md', 'work', 'ours').map(
      ({ work, peer, ratio, bar }) => `${work}, beside ${peer}: ${ratio}, bar ${bar}`,
    );
    const shown = linesBelow('README.md', 'work', 'beside', 'ratio', 'bar').map(
      ({ work, beside, ratio, bar }) => `${work}, beside ${beside}: ${ratio}, bar ${bar}`,
    );
    expect(shown.length).toBeGreaterThan(5);
    expect(written).toEqual(expect.arrayContaining(shown));
  });
});
