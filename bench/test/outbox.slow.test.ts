import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const program = fileURLToPath(new URL('../dist/run.js', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));
const bench = (...args: string[]) => run('node', ['--expose-gc', program, ...args], { cwd: root });
const reportOf = (name: string) =>
  JSON.parse(readFileSync(`${root}/.results/bench/smoke/${name}.json`, 'utf8'));

interface Report {
  readonly results: readonly {
    readonly work: string;
    readonly comparisons: readonly { readonly oursCost: number; readonly peerCost: number }[];
  }[];
  readonly gauges: readonly {
    readonly work: string;
    readonly readings: readonly { readonly median: number }[];
  }[];
}

function expectMeasured({ results, gauges }: Report): void {
  for (const { work, comparisons } of results)
    for (const { oursCost, peerCost } of comparisons) {
      expect(oursCost, work).toBeGreaterThan(0);
      expect(peerCost, work).toBeGreaterThan(0);
    }
  for (const { work, readings } of gauges)
    for (const { median } of readings) expect(median, work).toBeGreaterThan(0);
}

describe('npm run bench', () => {
  it('outbox: every row on PostgreSQL runs beside graphile-worker and pg-boss, and successors are timed over processes', async () => {
    const { stdout } = await bench('outbox', '--smoke');
    expect(stdout).toContain('graphile-worker 0.17.');
    expect(stdout).toContain('pg-boss 10.');
    expect(stdout).toContain('fsync and synchronous_commit on');
    const report: Report = reportOf('outbox');
    expect(report.results).toHaveLength(4);
    expect(report.gauges).toHaveLength(2);
    expectMeasured(report);
  });

  it('outbox-large: one large batch beside small ones of the same shape', async () => {
    await bench('outbox-large', '--smoke');
    const report: Report = reportOf('outbox-large');
    expect(report.results).toHaveLength(1);
    expect(report.gauges).toHaveLength(1);
    expectMeasured(report);
  });

  it('outbox-strain: a wide join beside flat tasks over poller processes, and the rate while a snapshot is held', async () => {
    await bench('outbox-strain', '--smoke');
    const report: Report = reportOf('outbox-strain');
    expect(report.results.map(({ work }) => work)).toEqual(['200 → 1 fan-in, 2 poller processes, per task']);
    expect(report.gauges).toHaveLength(1);
    expect(report.gauges[0]?.readings).toHaveLength(6);
    expectMeasured(report);
  });
});
