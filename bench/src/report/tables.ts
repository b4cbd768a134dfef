import Table from 'cli-table3';
import type { GaugeResult } from '../gauges.js';
import type { RowResult } from '../rows.js';
import { GAUGE_HEAD, gaugeLines, ROW_HEAD, rowLines, SUMMARY_HEAD, summaryCells } from './lines.js';
import type { BenchReport } from './model.js';

function tableOf(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const table = new Table({ head: [...head], style: { head: [], border: [] } });
  for (const cells of lines) table.push([...cells]);
  return table.toString();
}

/** Rows as a table for the screen, a line for each peer. */
const rowTable = (results: readonly RowResult[], smoke: boolean): string =>
  tableOf(
    ROW_HEAD,
    results.flatMap((row) => rowLines(row, smoke).map(({ cells }) => cells)),
  );

/** Gauges as a table for the screen, a line for each reading. */
export const gaugeTable = (results: readonly GaugeResult[], smoke: boolean): string =>
  tableOf(
    GAUGE_HEAD,
    results.flatMap((gauge) => gaugeLines(gauge, smoke).map(({ cells }) => cells)),
  );

/** All benchmarks as a table for the screen. */
export const summaryTable = (reports: readonly BenchReport[]): string =>
  tableOf(SUMMARY_HEAD, summaryCells(reports));

/** What is printed of one benchmark. */
export function reportText({ bench, smoke, settings, results, gauges }: BenchReport): string {
  return [
    `\nbench ${bench}${smoke ? ' (smoke: one short iteration, bars not judged)' : ''}`,
    ...settings.map((line) => `  ${line}`),
    ...(results.length > 0 ? [rowTable(results, smoke)] : []),
    ...(gauges.length > 0 ? [gaugeTable(gauges, smoke)] : []),
  ].join('\n');
}
