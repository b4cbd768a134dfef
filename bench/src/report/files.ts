import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { documentFiles, type FoundReports } from './document.js';
import type { BenchReport } from './model.js';

/** The files of the benchmarks below a folder, which is that of the repository. */
export class BenchFiles {
  readonly #root: string;

  constructor(root = '.') {
    this.#root = root;
  }

  /** Leaves a report. */
  saveReport(report: BenchReport): void {
    write(this.#reportPath(report.bench, report.smoke), `${JSON.stringify(report, null, 2)}\n`);
  }

  /** Leaves a picture beside the reports. */
  savePicture(file: string, drawing: string, smoke: boolean): void {
    write(join(this.#results(smoke), file), drawing);
  }

  /** Takes a report away: its benchmark has begun anew. */
  dropReport(name: string, smoke: boolean): void {
    rmSync(this.#reportPath(name, smoke), { force: true });
  }

  /** What was left of each benchmark by its last run that was not a smoke run. */
  findReports(names: readonly string[]): FoundReports {
    return new Map(names.map((name) => [name, readReport(this.#reportPath(name, false))]));
  }

  /**
   * Writes the document and its pictures.
   * @returns the paths written.
   */
  writeDocument(reports: readonly BenchReport[]): string[] {
    const documents = join(this.#root, 'docs');
    const pictures = join(documents, 'benchmarks');
    mkdirSync(pictures, { recursive: true });
    // Of rows that are no more.
    for (const name of readdirSync(pictures)) if (name.endsWith('.svg')) rmSync(join(pictures, name));
    const drawn = [...documentFiles(reports)].map(([path, content]) => {
      write(join(documents, path), content);
      return join(documents, path);
    });
    const left = reports.flatMap(({ gauges }) => gauges.flatMap(({ plot }) => plot ?? []));
    for (const file of left) copyFileSync(join(this.#results(false), file), join(pictures, file));
    return [...drawn, ...left.map((file) => join(pictures, file))];
  }

  /** Those of smoke runs are apart, so that they replace no measurement. */
  #results(smoke: boolean): string {
    return join(this.#root, smoke ? '.results/bench/smoke' : '.results/bench');
  }

  #reportPath(name: string, smoke: boolean): string {
    return join(this.#results(smoke), `${name}.json`);
  }
}

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** Undefined where there is none, and where the file is one of an older layout, which does not say when it was made. */
function readReport(path: string): BenchReport | undefined {
  if (!existsSync(path)) return undefined;
  const report = JSON.parse(readFileSync(path, 'utf8')) as Partial<BenchReport>;
  return report.startedAt === undefined ? undefined : (report as BenchReport);
}
