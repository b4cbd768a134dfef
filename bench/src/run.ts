import { parseArgs } from 'node:util';
import { benchNames, loadBench } from './benches.js';
import { commit, machine } from './environment.js';
import { olderThan, whyNotWritable } from './report/document.js';
import { BenchFiles } from './report/files.js';
import { durationText, HOW_TO_READ, linesOf, machineLines, tallyOf } from './report/lines.js';
import type { BenchReport } from './report/model.js';
import { reportText, summaryTable } from './report/tables.js';
import { runBench } from './run-bench.js';

const files = new BenchFiles();
const secondsSince = (startedMs: number) => (performance.now() - startedMs) / 1000;

/** Runs one benchmark, prints what it came to and leaves it as a file. */
async function measured(name: string, smoke: boolean): Promise<BenchReport> {
  files.dropReport(name, smoke);
  const startedAt = new Date().toISOString();
  const startedMs = performance.now();
  const bench = await loadBench(name);
  // A smoke run is over before anybody asks how far it is.
  const announce = (work: string) => smoke || console.error(`  ${name}: ${work}`);
  const before = { commit: commit(), machine: machine() };
  const { results, gauges } = await runBench(bench, { smoke, announce, files });
  const report: BenchReport = {
    ...{ bench: name, smoke, startedAt, seconds: secondsSince(startedMs), ...before },
    // Some settings are known only after the servers have run.
    ...{ settings: bench.settings, results, gauges },
  };
  files.saveReport(report);
  console.log(reportText(report));
  return report;
}

/** One after the other. One that breaks does not take along those that hours were spent on. */
async function runAll(names: readonly string[], smoke: boolean): Promise<BenchReport[]> {
  const last = files.findReports(names);
  const reports: BenchReport[] = [];
  for (const [index, name] of names.entries()) {
    const seconds = last.get(name)?.seconds;
    const hint = smoke || seconds === undefined ? '' : `, last time ${durationText(seconds)}`;
    console.error(`${index + 1} of ${names.length}: ${name}${hint}`);
    try {
      const report = await measured(name, smoke);
      reports.push(report);
      console.error(`  ${name}: took ${durationText(report.seconds)}`);
    } catch (error) {
      console.error(`  ${name}: broke`, error);
    }
  }
  return reports;
}

/** The document is written of all benchmarks or not at all. */
function document(since: string): boolean {
  const found = files.findReports(benchNames());
  const reasons = whyNotWritable(found);
  if (reasons.length > 0) {
    console.error(`docs/benchmarks.md is not written:\n  ${reasons.join('\n  ')}`);
    return false;
  }
  const reports = [...found.values()].flatMap((report) => report ?? []);
  for (const older of olderThan(reports, since)) console.error(`older than this run: ${older}`);
  for (const path of files.writeDocument(reports)) console.error(`written: ${path}`);
  return true;
}

/** Why this run could not be written, known before hours are spent on it. */
function obstacles(names: readonly string[], smoke: boolean): string[] {
  if (smoke) return ['--write and --smoke exclude each other: a smoke run measures nothing'];
  return whyNotWritable(files.findReports(benchNames().filter((name) => !names.includes(name))));
}

function summary(reports: readonly BenchReport[], asked: number, startedMs: number): number {
  console.log(`\n${summaryTable(reports)}`);
  const judged = reports.filter(({ smoke }) => !smoke);
  const { bars, met, aims, reached } = tallyOf(judged.flatMap(linesOf));
  if (judged.length > 0) console.log(`${met} of ${bars} bars met, ${reached} of ${aims} aims reached`);
  for (const report of judged)
    for (const says of tallyOf(linesOf(report)).missed) console.log(`MISSED ${report.bench}: ${says}`);
  console.log(`all of it took ${durationText(secondsSince(startedMs))}`);
  const broken = asked - reports.length;
  if (broken > 0) console.error(`${broken} of ${asked} benchmarks broke; what they said is above`);
  return met < bars || broken > 0 ? 1 : 0;
}

async function main(): Promise<number> {
  const flag = { type: 'boolean', default: false } as const;
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { smoke: flag, shards: flag, write: flag },
  });
  // Of the engine on Redis, not beside the peers but over one and several shards of a cluster.
  if (values.shards) positionals.splice(0, positionals.length, 'bulk-shards');
  const known = benchNames();
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    console.error(`There is no benchmark '${unknown}'. Known: ${known.join(', ')}`);
    return 2;
  }
  const { smoke, write } = values;
  const names = known.filter((name) => positionals.length === 0 || positionals.includes(name));
  const reasons = write ? obstacles(names, smoke) : [];
  if (reasons.length > 0) {
    console.error(`This run could not be written, so nothing was run:\n  ${reasons.join('\n  ')}`);
    return 2;
  }
  const since = new Date().toISOString();
  const startedMs = performance.now();
  console.log([...machineLines(machine()), `commit ${commit()}`, '', ...HOW_TO_READ].join('\n'));
  const reports = await runAll(names, smoke);
  const code = summary(reports, names.length, startedMs);
  return write && !document(since) ? 2 : code;
}

process.exitCode = await main();
