import { curvesOf, growthPlot } from './growth-plot.js';
import { benchmarksDocument } from './markdown.js';
import type { BenchReport } from './model.js';
import { ratioPlot } from './ratio-plot.js';

const FOLDER = 'benchmarks';

/** What there is of one benchmark; undefined where there is nothing. */
export type FoundReports = ReadonlyMap<string, BenchReport | undefined>;

/**
 * Why no document can be made of these reports.
 * @returns a sentence for each reason; none if it can.
 */
export function whyNotWritable(found: FoundReports): string[] {
  const reasons = [...found].flatMap(([name, report]) => {
    if (!report) return [`There is no result of '${name}': run it, or all of them`];
    return report.smoke ? [`The result of '${name}' is that of a smoke run, which measures nothing`] : [];
  });
  const machines = new Set([...found.values()].flatMap((one) => (one ? [JSON.stringify(one.machine)] : [])));
  if (machines.size > 1)
    reasons.push(
      `The results are of ${machines.size} machines or versions, which are not comparable: ${[...machines].join(' and ')}`,
    );
  return reasons;
}

/**
 * The names of those that are older than this run, with when and of which commit.
 * @param since - ISO 8601, when this run began.
 */
export const olderThan = (reports: readonly BenchReport[], since: string): string[] =>
  reports
    .filter(({ startedAt }) => startedAt < since)
    .map(({ bench, startedAt, commit }) => `${bench} (${startedAt}, commit ${commit})`);

/**
 * All files of the document: the text, and the pictures made of the reports.
 * @param reports - in the order in which they are to be read.
 * @returns contents by path, relative to the folder of the documents.
 */
export function documentFiles(reports: readonly BenchReport[]): Map<string, string> {
  const curves = curvesOf(reports);
  const files = new Map<string, string>();
  const ratios = `${FOLDER}/ratios.svg`;
  const growth = `${FOLDER}/growth.svg`;
  const hasRatios = reports.some(({ results }) => results.length > 0);
  if (hasRatios) files.set(ratios, ratioPlot(reports));
  if (curves.length > 0) files.set(growth, growthPlot(curves, 'Cost of a job as groups grow', 'groups'));
  const pictures = { ...(hasRatios && { ratios }), ...(curves.length > 0 && { growth }) };
  files.set('benchmarks.md', benchmarksDocument(reports, pictures, FOLDER));
  return files;
}
