import { appendFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import v8 from '@vitest/coverage-v8';
import type { CoverageProviderModule } from 'vitest/node';

// Servers that tests start refuse unknown variables that begin with MILLRACE_.
const DONE = 'VITEST_COVERAGE_DONE';
const FILES = 'VITEST_COVERAGE_FILES';
const WORKERS = 'VITEST_COVERAGE_WORKERS';

/** Passes to later workers the number of test files, the number of workers, and the path of a file that grows by a byte with each finished test file. */
export function expectFiles(files: number, workers: number): void {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-coverage-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  Object.assign(process.env, {
    [DONE]: join(folder, 'done'),
    [FILES]: String(files),
    [WORKERS]: String(workers),
  });
}

/**
 * Vitest's V8 coverage, taken once from each worker instead of after each test file: 400 reports took 20 s of CPU. V8 keeps counting in between.
 * A worker does not know which file is its last, but after that file each other worker has at most one left.
 */
const provider: CoverageProviderModule = {
  ...v8,
  async takeCoverage(options) {
    const { [DONE]: done = '', [FILES]: files, [WORKERS]: workers } = process.env;
    appendFileSync(done, '.');
    const left = Number(files) - statSync(done).size;
    return left < Number(workers) ? v8.takeCoverage?.(options) : undefined;
  },
};

export default provider;
