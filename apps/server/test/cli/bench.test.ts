import { readFileSync } from 'node:fs';
import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allAtOnce } from '../../src/cli/bench/all-at-once.js';
import { percentilesOf } from '../../src/cli/bench/measure-operations.js';
import { serve, type TestServer } from '../serve.js';
import { runCaptured } from './captured.js';

let server: TestServer;
beforeAll(async () => {
  server = await serve({
    apiKeys: 'bench:operate:shop:0123456789abcdef01234567,all:admin:76543210fedcba9876543210',
  });
});
afterAll(() => server?.[Symbol.asyncDispose]());

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const TENANT = '0123456789abcdef01234567';
const ADMIN = '76543210fedcba9876543210';
const bench = (args: readonly string[], key = ADMIN, isTerminal = false) =>
  runCaptured(['bench', '--url', server.url, ...args], { env: { MILLRACE_API_KEY: key }, isTerminal });

describe('millrace bench', () => {
  it('measures jobs and operations', async () => {
    const { exitCode, out, err } = bench([
      '--jobs',
      '1500',
      '--operations',
      '20',
      '--clients',
      '3',
      '--json',
    ]);
    expect(await exitCode).toBe(0);
    const { on, clients, jobs, operations } = JSON.parse(out());
    expect(on).toMatchObject({
      url: server.url,
      ownServer: false,
      embedded: false,
      instances: 1,
      workers: 10,
    });
    expect(clients).toBe(3);
    expect(jobs.count).toBe(1_500);
    expect(jobs.acceptedPerSecond).toBeCloseTo(1_500 / (jobs.acceptedMs / 1000));
    expect(jobs.donePerSecond).toBeCloseTo(1_500 / (jobs.doneMs / 1000));
    expect(operations).toMatchObject({ count: 20, converted: 0, refused: 0 });
    const { p50, p95, p99 } = operations.latencyMs;
    expect([p50, p95, p99]).toEqual([p50, p95, p99].sort((a, b) => a - b));
    expect(err()).toBe(
      'A quick look at this server as it is now; the benchmark is `npm run bench` in the repository.\n',
    );
  });

  it('shows bars and a table; a key of a tenant does not see who works', async () => {
    const { exitCode, out, err } = bench(['--jobs', '20', '--operations', '3'], TENANT, true);
    expect(await exitCode).toBe(0);
    expect(err()).toMatch(/jobs done .*20 of 20/);
    expect(out()).toMatch(/jobs accepted +[\d,]+\/s {2}20 in /);
    expect(out()).toMatch(/operation latency p99 +[\d.,]+ ms\n/);
    expect(out()).toContain(`Measured on ${server.url}, not embedded, version ${version}.\n`);
  });

  it('leaves out what is 0', async () => {
    const { exitCode, out } = bench(['--jobs', '0', '--operations', '0', '--json']);
    expect(await exitCode).toBe(0);
    expect(JSON.parse(out())).toMatchObject({ jobs: null, operations: null });
  });

  it('cancels its group when it is interrupted', async () => {
    const { exitCode, events } = bench(['--jobs', '200000', '--operations', '0']);
    const groups = async () => {
      const { body } = await server.send('/api/bulk/groups?limit=1', { key: ADMIN });
      return body.items as readonly { id: string; sealed: boolean; status: string }[];
    };
    await until(async () => (await groups())[0]?.sealed === false, {
      what: 'the group that is being filled',
      deadlineMs: 10_000,
    });
    events.emit('SIGINT');
    expect(await exitCode).toBe(130);
    expect((await groups())[0]).toMatchObject({ status: 'CANCELLED' });
  });

  it.each([
    ['--clients', '0'],
    ['--clients', '201'],
    ['--jobs', '1000001'],
  ])('refuses %s %s', async (flag, value) => {
    const { exitCode, err } = bench([flag, value]);
    expect(await exitCode).toBe(2);
    expect(err()).toMatch(/It must be from \d+ to \d+\./);
  });
});

describe('what it measures with', () => {
  it('takes percentiles of what was measured', () => {
    const values = Array.from({ length: 100 }, (_, n) => 100 - n);
    expect(percentilesOf(values)).toEqual({ p50: 50, p95: 95, p99: 99 });
    expect(percentilesOf([7])).toEqual({ p50: 7, p95: 7, p99: 7 });
    expect(percentilesOf([])).toBeNull();
  });

  it('does so many at once, and ends with the first failure', async () => {
    const begun: number[] = [];
    let now = 0;
    let most = 0;
    await allAtOnce(7, 3, async (n) => {
      begun.push(n);
      most = Math.max(most, ++now);
      await Promise.resolve();
      now--;
    });
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(most).toBe(3);
    const failing = allAtOnce(100, 2, async (n) => {
      if (n === 3) throw new Error('enough');
    });
    await expect(failing).rejects.toThrow('enough');
  });
});
