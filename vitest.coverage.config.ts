import { appendFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import v8 from '@vitest/coverage-v8';
import type { CoverageProviderModule } from 'vitest/node';

/** In the environment of workers: a file that grows by a byte with every test file that is done; how many there are, and how many run at once. */
const DONE = 'MILLRACE_COVERAGE_DONE';
const FILES = 'MILLRACE_COVERAGE_FILES';
const WORKERS = 'MILLRACE_COVERAGE_WORKERS';

/** Tells the workers that are started from now on what to expect. */
export function expectFiles(files: number, workers: number): void {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-coverage-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const done = join(folder, 'done');
  writeFileSync(done, '');
  Object.assign(process.env, { [DONE]: done, [FILES]: String(files), [WORKERS]: String(workers) });
}

/**
 * Vitest's own coverage, taken once from each worker instead of after each of its files: V8 goes on counting in between, and to take, send and
 * add up some four hundred times what it had counted took 20 s of CPU. Nobody knows which file is the last of a worker; but when it is done,
 * no more than one file for each other worker can be left.
 */
const atEnd: CoverageProviderModule = {
  ...v8,
  async takeCoverage(options) {
    const { [DONE]: done = '', [FILES]: files, [WORKERS]: workers } = process.env;
    appendFileSync(done, '.');
    const left = Number(files) - statSync(done).size;
    return left < Number(workers) ? v8.takeCoverage?.(options) : undefined;
  },
};

export default atEnd;
