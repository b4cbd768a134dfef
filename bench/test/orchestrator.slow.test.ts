import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const program = fileURLToPath(new URL('../dist/run.js', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));

interface Report {
  readonly results: readonly {
    readonly comparisons: readonly {
      readonly peer: string;
      readonly oursCost: number;
      readonly peerCost: number;
    }[];
  }[];
  readonly gauges: readonly {
    readonly readings: readonly { readonly name: string; readonly median: number; readonly most?: number }[];
  }[];
}

describe('npm run bench', () => {
  it('orchestrator NFR-1, orchestrator AC-5: the benchmark runs, every request is answered right on PostgreSQL, and each bar is read', async () => {
    const args = ['--expose-gc', program, 'orchestrator', '--smoke'];
    const { stdout } = await run('node', args, { cwd: root });
    expect(stdout).toContain('fsync and synchronous_commit on');
    const { results, gauges }: Report = JSON.parse(
      readFileSync(`${root}/.results/bench/smoke/orchestrator.json`, 'utf8'),
    );
    const comparisons = results.flatMap((result) => result.comparisons);
    expect(comparisons.map(({ peer }) => peer)).toEqual([
      'Fastify, a route that does nothing',
      'NestJS on it, a route that does nothing',
    ]);
    for (const { oursCost, peerCost } of comparisons) {
      expect(oursCost).toBeGreaterThan(0);
      expect(peerCost).toBeGreaterThan(0);
    }
    const readings = gauges.flatMap((gauge) => gauge.readings);
    const value = Object.fromEntries(readings.map(({ name, median }) => [name, median]));
    const bars = Object.fromEntries(readings.map(({ name, most }) => [name, most]));
    expect(bars).toMatchObject({
      p50: 150,
      p95: 250,
      'p95 of slow work alone': 220,
      p99: 500,
      errors: 0.1,
      'CPU of the server process': 70,
      'its memory at most': 512,
    });
    // What a loaded machine answers late is counted as an error; nothing else may be one.
    expect(value.errors).toBe(value['of these: fast work answered 202']);
    expect(value['202s that did not end COMPLETED']).toBe(0);
    // A fast answer takes at least as long as its work, a converted one at least its budget.
    expect(value.p50).toBeGreaterThanOrEqual(19);
    expect(value['p99 of slow work']).toBeGreaterThanOrEqual(199);
  });
});
