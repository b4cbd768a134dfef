import { appendFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import v8 from '@vitest/coverage-v8';

/** A file that grows by a byte with every test file that is done, and how long it is when all are. */
const DONE = 'MILLRACE_COVERAGE_DONE';
const FILES = 'MILLRACE_COVERAGE_FILES';
const WORKERS = 'MILLRACE_COVERAGE_WORKERS';

/**
 * Tells the workers that are started from now on how many test files there are.
 * @param {number} files - all of them
 * @param {number} workers - how many files run at once
 */
export function expectFiles(files, workers) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-coverage-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  process.env[DONE] = join(folder, 'done');
  process.env[FILES] = String(files);
  process.env[WORKERS] = String(workers);
  writeFileSync(process.env[DONE], '');
}

/**
 * Vitest's own coverage, taken once from each worker instead of after each of its files: V8 goes on counting in between, and to take, send and
 * add up some four hundred times what it has counted took 20 s of CPU. Nobody knows which file is the last of a worker; but when it is done,
 * no more than one file for each other worker can be left.
 */
export default {
  ...v8,
  async takeCoverage(options) {
    const { [DONE]: done = '', [FILES]: files, [WORKERS]: workers } = process.env;
    appendFileSync(done, '.');
    const left = Number(files) - statSync(done).size;
    return left < Number(workers) ? v8.takeCoverage(options) : undefined;
  },
};
