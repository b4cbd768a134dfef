import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const program = fileURLToPath(new URL('../dist/run.js', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));
const bench = (...args: string[]) => run('node', ['--expose-gc', program, ...args], { cwd: root });

function temporaryFolder(): { readonly path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

describe('npm run bench', () => {
  it('async-utils SC-010: the benchmark beside the peers runs, and no task costs a millisecond', async () => {
    const { stdout } = await bench('async-utils', '--smoke');
    expect(stdout).toContain('p-limit 7.');
    const report = JSON.parse(readFileSync(`${root}/.results/bench/smoke/async-utils.json`, 'utf8'));
    expect(report.results).toHaveLength(8);
    for (const { work, comparisons } of report.results) {
      for (const { oursCost } of comparisons) expect(oursCost, work).toBeLessThan(1_000_000);
    }
  });

  it('bulk-memory: the engine in memory runs, with its growth over groups and the bytes of a job', async () => {
    const { stdout } = await bench('bulk-memory', '--smoke');
    expect(stdout).toContain('groups beside 10 groups');
    const report = JSON.parse(readFileSync(`${root}/.results/bench/smoke/bulk-memory.json`, 'utf8'));
    for (const { work, unit, comparisons } of report.results) {
      // What 200 jobs weigh is less than what the garbage collector leaves or takes by chance.
      const least = unit === 'bytes' ? Number.NEGATIVE_INFINITY : 0;
      for (const { oursCost } of comparisons) expect(oursCost, work).toBeGreaterThan(least);
    }
  });

  it('bulk: every row on Redis runs beside BullMQ and bee-queue, and fair order, rate and waits are read', async () => {
    const { stdout } = await bench('bulk', '--smoke');
    expect(stdout).toContain('bullmq 6.');
    expect(stdout).toContain('bee-queue 2.');
    const { results, gauges } = JSON.parse(readFileSync(`${root}/.results/bench/smoke/bulk.json`, 'utf8'));
    expect(results).toHaveLength(5);
    for (const { work, comparisons } of results) {
      for (const { oursCost, peerCost } of comparisons) {
        expect(oursCost, work).toBeGreaterThan(0);
        expect(peerCost, work).toBeGreaterThan(0);
      }
    }
    const readings = gauges.flatMap(
      (gauge: { readings: { name: string; median: number }[] }) => gauge.readings,
    );
    // Three of them are the points of a curve.
    expect(readings).toHaveLength(11);
    for (const { name, median } of readings) expect(median, name).toBeTypeOf('number');
  });

  it('bulk --shards: one and three shards on a Redis Cluster', async () => {
    const { stdout } = await bench('bulk', '--shards', '--smoke');
    expect(stdout).toContain('1 shard');
    const { results } = JSON.parse(readFileSync(`${root}/.results/bench/smoke/bulk-shards.json`, 'utf8'));
    expect(results).toHaveLength(2);
    for (const { work, comparisons } of results)
      for (const { oursCost } of comparisons) expect(oursCost, work).toBeGreaterThan(0);
  });

  it('congestion: the engine on Redis against hidden services beside the comparators, with a plot of each', async () => {
    const { stdout } = await bench('congestion', '--smoke');
    for (const name of ['Millrace', 'AIMD alone', 'Vegas alone']) expect(stdout).toContain(name);
    const { gauges } = JSON.parse(readFileSync(`${root}/.results/bench/smoke/congestion.json`, 'utf8'));
    expect(gauges).toHaveLength(3);
    for (const { work, readings } of gauges)
      for (const { median } of readings) expect(median, work).toBeGreaterThanOrEqual(0);
    const plot = readFileSync(`${root}/.results/bench/smoke/congestion-refusing.svg`, 'utf8');
    expect(plot).toContain('AIMD alone');
  });

  it('runtime: queues, threads and lanes run beside the peers', async () => {
    await bench('runtime', '--smoke');
    const { results } = JSON.parse(readFileSync(`${root}/.results/bench/smoke/runtime.json`, 'utf8'));
    expect(results).toHaveLength(5);
    for (const { work, comparisons } of results)
      for (const { oursCost } of comparisons) expect(oursCost, work).toBeGreaterThan(0);
  });

  it('says before it runs anything that a part of the results or a smoke run is not written', async () => {
    using folder = temporaryFolder();
    const refused = (...args: string[]) =>
      run('node', [program, ...args], { cwd: folder.path }).catch(
        (error: { code: number; stderr: string }) => error,
      );
    const partial = await refused('async-utils', '--write');
    expect(partial).toMatchObject({ code: 2 });
    expect(partial.stderr).toContain("There is no result of 'bulk'");
    expect(partial.stderr).not.toContain("'async-utils'");
    const smoke = await refused('--smoke', '--write');
    expect(smoke).toMatchObject({ code: 2 });
    expect(smoke.stderr).toContain('exclude each other');
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it('names the benchmarks it knows when asked for another', async () => {
    const failure = await bench('teapot').catch((error: { code: number; stderr: string }) => error);
    expect(failure).toMatchObject({ code: 2 });
    expect(failure.stderr).toContain("There is no benchmark 'teapot'. Known: async-utils");
  });

  it('server: jobs are uploaded as lines into an API process, and its memory is read', async () => {
    await bench('server', '--smoke');
    const { gauges } = JSON.parse(readFileSync(`${root}/.results/bench/smoke/server.json`, 'utf8'));
    const [rate, memory] = gauges[0].readings;
    expect(rate.median).toBeGreaterThan(100);
    expect(memory).toMatchObject({ unit: 'MB', most: 300 });
    expect(memory.median).toBeLessThan(300);
  });
});
