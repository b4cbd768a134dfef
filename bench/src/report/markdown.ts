import {
  GAUGE_HEAD,
  gaugeLines,
  HOW_TO_READ,
  linesOf,
  machineLines,
  ROW_HEAD,
  rowLines,
  SUMMARY_HEAD,
  summaryCells,
  tallyOf,
} from './lines.js';
import type { BenchReport } from './model.js';

/** The pictures of the document that are made of several reports; the others belong to one gauge. */
export interface SharedPictures {
  readonly ratios?: string;
  readonly growth?: string;
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const lineOf = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;

/** Work is named once: a table of a document is read from its left edge. */
function tableOf(head: readonly string[], lines: readonly (readonly string[])[], isGrouped = true): string {
  let before = '';
  const grouped = lines.map(([first = '', ...others]) => {
    const shown = isGrouped && first === before ? '' : first;
    before = first;
    return lineOf([shown, ...others]);
  });
  return [lineOf(head), `|${head.map(() => '---|').join('')}`, ...grouped].join('\n');
}

/** A verdict that nobody overlooks. */
const emphasised = (cells: readonly string[]): string[] =>
  cells.map((text) => (text === 'MISSED' ? '**MISSED**' : text));

const picture = (alt: string, file: string) => `![${alt.replace(/[[\]]/g, '')}](${file})`;

function summary(reports: readonly BenchReport[], { ratios, growth }: SharedPictures): string[] {
  const all = tallyOf(reports.flatMap(linesOf));
  const missed = reports.flatMap((report) =>
    tallyOf(linesOf(report)).missed.map((says) => `- ${report.bench}: ${says}`),
  );
  return [
    '## Summary',
    `**${all.met} of ${all.bars} bars met, ${all.reached} of ${all.aims} aims reached.** ${missed.length === 0 ? 'No bar was missed.' : `${missed.length === 1 ? 'One bar was' : `${missed.length} bars were`} missed:`}`,
    ...(missed.length === 0 ? [] : [missed.join('\n')]),
    tableOf(SUMMARY_HEAD, summaryCells(reports), false),
    ...(ratios ? [picture('Ratios to the peers, with bars and aims', ratios)] : []),
    ...(growth ? [picture('Cost of a job as groups grow', growth)] : []),
  ];
}

function section(report: BenchReport, folder: string): string[] {
  const { bench, smoke, settings, results, gauges } = report;
  const rows = results.flatMap((row) => rowLines(row, smoke).map(({ cells }) => emphasised(cells)));
  const readings = gauges.flatMap((gauge) => gaugeLines(gauge, smoke).map(({ cells }) => emphasised(cells)));
  return [
    `## ${bench}`,
    settings.map((line) => `- ${line}`).join('\n'),
    ...(rows.length > 0 ? [tableOf(ROW_HEAD, rows)] : []),
    ...(readings.length > 0 ? [tableOf(GAUGE_HEAD, readings)] : []),
    ...gauges.flatMap(({ work, plot }) => (plot ? [picture(work, `${folder}/${plot}`)] : [])),
  ];
}

/**
 * The document of all benchmarks: what the command printed, and nothing else.
 * @param reports - in the order in which they are to be read; all of one machine.
 * @param folder - where the pictures of single gauges are, relative to the document.
 * @returns Markdown.
 */
export function benchmarksDocument(
  reports: readonly BenchReport[],
  pictures: SharedPictures,
  folder: string,
): string {
  const [first] = reports;
  if (!first) throw new Error('expected at least one report, got none');
  const parts = [
    '# Benchmarks',
    'Written by `npm run bench -- --write`. Not to be edited: the next run writes it anew.',
    machineLines(first.machine)
      .map((line) => `- ${line}`)
      .join('\n'),
    ...summary(reports, pictures),
    '## How to read the tables',
    HOW_TO_READ.map((line) => `- ${line}`).join('\n'),
    ...reports.flatMap((report) => section(report, folder)),
  ];
  return `${parts.join('\n\n')}\n`;
}
