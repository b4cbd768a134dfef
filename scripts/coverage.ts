import { appendFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import v8 from '@vitest/coverage-v8';
import type { CoverageProviderModule } from 'vitest/node';

// Servers that tests start refuse unknown variables that begin with MILLRACE_.
const DONE = 'VITEST_COVERAGE_DONE';
const FILES = 'VITEST_COVERAGE_FILES';
const WORKERS = 'VITEST_COVERAGE_WORKERS';

/** Tells workers that start later how many test files there are, how many run at once, and the file that grows by a byte with each that is done. */
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
 * Vitest's V8 coverage, taken once from each worker instead of after each of its files. V8 counts on in between; taking and adding up 400 times what it
 * counted took 20 s of CPU. A worker does not know its last file, but when that is done at most one file of each other worker is left.
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
