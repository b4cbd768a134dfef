import { mkdirSync, writeFileSync } from 'node:fs';
import Table from 'cli-table3';
import { replayCommand } from './command-line.js';
import { type Cell, COLUMNS, type Matrix, matrixOf, summaryOf } from './matrix.js';
import type { Outcome } from './registry.js';

const RESULTS = '.results/chaos';
const PLAIN = { style: { head: [], border: [] } };
/** Rows of one line each: the matrix and the list are read by the column. */
const TIGHT = {
  style: { head: [], border: [], 'padding-left': 0, 'padding-right': 1 },
  chars: Object.fromEntries(
    ['top', 'bottom', 'left', 'right', 'mid', 'middle'].flatMap((side) =>
      ['', '-left', '-right', '-mid'].map((corner) => [`${side}${corner}`, '']),
    ),
  ),
};
const MARKS: Readonly<Record<NonNullable<Cell>, string>> = { held: '✓', broken: '✗' };

/** Prints what every scenario was judged by, then scenario × invariant, then what it comes to. */
export function print(outcomes: readonly Outcome[], leftOut: readonly string[]): void {
  const table = new Table({ head: ['scenario', 'invariant', 'held', 'evidence'], ...PLAIN });
  for (const { scenario, verdicts } of outcomes) {
    for (const { invariant, held, evidence } of verdicts) {
      table.push([scenario, invariant, held ? 'yes' : 'NO', evidence]);
    }
  }
  console.log(table.toString());
  for (const { scenario, seed, scale, durationMs, verdicts } of outcomes) {
    const broken = verdicts.some(({ held }) => !held);
    const took = `${(durationMs / 1000).toFixed(1)} s, seed ${seed}, scale ${scale}`;
    const replay = broken ? `; replay: ${replayCommand({ scenario, seed, scale })}` : '';
    console.log(`${scenario}: ${took}${replay}`);
  }
  if (leftOut.length > 0)
    console.log(`Not played with --short, since npm test runs their tests: ${leftOut.join(', ')}`);
  const matrix = matrixOf(outcomes);
  console.log(`\n${matrixTable(matrix)}\n✓ held  ✗ broken  · not judged there\n${summaryOf(matrix)}`);
}

function matrixTable({ rows }: Matrix): string {
  const table = new Table({ head: ['scenario', 'mode', 's', ...COLUMNS], ...TIGHT });
  for (const { scenario, mode = '-', seconds, cells } of rows) {
    const marks = COLUMNS.map((column) => mark(cells[column]));
    table.push([scenario, mode, seconds.toFixed(1), ...marks]);
  }
  return table.toString();
}

const mark = (cell: Cell): string => (cell === undefined ? '·' : MARKS[cell]);

/**
 * Writes a file for each scenario, and one of all: after each scenario, so that a run that is broken off has told what it knew.
 */
export function writeResults(outcomes: readonly Outcome[]): void {
  mkdirSync(RESULTS, { recursive: true });
  const write = (name: string, content: unknown) =>
    writeFileSync(`${RESULTS}/${name}.json`, `${JSON.stringify(content, null, 2)}\n`);
  const last = outcomes.at(-1)?.scenario;
  if (last !== undefined)
    write(
      last,
      outcomes.filter(({ scenario }) => scenario === last),
    );
  write('all', outcomes);
}
