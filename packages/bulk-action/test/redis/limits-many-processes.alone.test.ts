import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RedisConnection } from '@millrace/redis';
import { type RedisServer, readLedger, startRedis, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  BulkActionEngine,
  type GroupInput,
  type JobInput,
  type JobView,
  resolveBulkActionConfig,
} from '../../src/index.js';
import { RedisStore } from '../../src/redis/store.js';
import { busiestSecond, groupOf, mostAtOnce, tenantOf } from '../fairness/measures.js';
import type { Start } from '../fairness/recorded-store.js';
import { listed, numbers } from '../store-contract/tools.js';

const PROGRAM = fileURLToPath(new URL('./fixtures/limited-worker.mjs', import.meta.url));
const PROCESSES = 4;
const RUN_MS = 3500;
const WINDOWS_SECONDS = [0.1, 0.5, 1, 2];
/** What a limit must have been used, or it has not been tested. */
const USED = 0.7;

const CONFIG = {
  backpressure: {
    globalRps: 200,
    burst: 20,
    dispatchIntervalMs: 20,
    defaultBackoffMs: 50,
    maxBackoffMs: 100,
  },
  workerPool: { workerCount: 10, fetchIntervalMs: 50, shutdownGracePeriodMs: 2000 },
};
const TENANT_RATE = { id: 'a', rps: 60, burst: 6 };
const GROUP_RATE = { id: 'b/slow', rps: 40, burst: 4 };
const GROUP_CAP = { id: 'c/capped', concurrency: 3 };
const TENANT_CAP = { id: 'd', concurrency: 4 };

const GROUPS: readonly (GroupInput & { readonly ms: number })[] = [
  { id: 'a/one', ms: 20 },
  { id: 'a/two', ms: 20 },
  { ...GROUP_RATE, ms: 20 },
  { id: 'b/free', ms: 20 },
  { ...GROUP_CAP, ms: 300 },
  { id: 'd/one', ms: 300 },
  { id: 'd/two', ms: 300 },
];
const JOBS = 600;

/** Every fifth fails at its first try: retries count against the limits too. */
const jobsOf = (ms: number): JobInput[] =>
  numbers(JOBS).map((n) => ({
    id: `j${n}`,
    processorType: 'work',
    cost: 1 + (n % 3),
    payload: { ms, failsFirst: n % 5 === 0 },
  }));

let server: RedisServer;
let connection: RedisConnection;
let engine: BulkActionEngine;
let folder: string;
let starts: readonly Start[] = [];

beforeAll(async () => {
  server = await startRedis();
  connection = new RedisConnection({ url: server.url });
  folder = mkdtempSync(join(tmpdir(), 'millrace-limits-'));
  const config = { ...CONFIG, workerPool: { enabled: false } };
  engine = new BulkActionEngine({
    config,
    store: new RedisStore(resolveBulkActionConfig(config), { connection }),
  });
  await engine.start();
  const { service } = engine;
  for (const { id, ...limits } of [TENANT_RATE, TENANT_CAP]) await service.updateTenant(id, limits);
  for (const { ms, ...group } of GROUPS) await service.submitBulk(group, jobsOf(ms));
  const ledger = join(folder, 'starts.jsonl');
  await workFor(RUN_MS, { url: server.url, ledger, config: CONFIG });
  starts = await recordedStarts(ledger);
}, 60_000);
afterAll(async () => {
  await engine.stop();
  await connection.stop();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Lets the processes work for a while, and ends them. */
async function workFor(ms: number, brief: object): Promise<void> {
  const hire = () =>
    spawn(process.execPath, [PROGRAM, JSON.stringify(brief)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
  const children: ChildProcess[] = numbers(PROCESSES).map(hire);
  try {
    await Promise.all(
      children.map((child) =>
        Promise.race([once(child, 'message'), once(child, 'exit').then(() => expect.fail('a worker died'))]),
      ),
    );
    const endsAt = performance.now() + ms;
    await until(() => performance.now() >= endsAt, { what: 'the end', deadlineMs: 2 * ms, intervalMs: 50 });
    for (const child of children) child.kill('SIGTERM');
    const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0]));
    expect(codes, 'how the workers ended').toEqual(children.map(() => 0));
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

/** The starts by the ledger, with their ends by the store. */
async function recordedStarts(ledger: string): Promise<readonly Start[]> {
  const views = new Map<string, JobView>();
  for (const { id } of GROUPS) {
    const jobs = await listed((cursor) => engine.store.views.jobs(id, {}, JOBS, cursor));
    for (const job of jobs) views.set(`${id}/${job.id}`, job);
  }
  const endOf = ({ key, jobId, attempt }: Start['job']) => {
    const view = views.get(`${key}/${jobId}`);
    return view?.failedTries[attempt - 1]?.at ?? view?.endedAt;
  };
  return readLedger(ledger)
    .map(({ start }) => start as Start)
    .map((start) => ({ ...start, endedAt: endOf(start.job) }))
    .sort((one, other) => one.at - other.at);
}

/** The highest cost that started in any sliding window of this length. */
const busiest = (own: readonly Start[], seconds: number): number =>
  busiestSecond(own.map((start) => ({ ...start, at: start.at / seconds })));

describe('bulk-action BA-18: limits over four processes', () => {
  it('bulk-action BA-18: all of them worked, and retried', () => {
    expect(new Set(starts.map(({ instanceId }) => instanceId)).size, 'instances').toBe(PROCESSES);
    expect(starts.filter(({ job }) => job.attempt > 1).length, 'retries').toBeGreaterThan(10);
    expect(new Set(starts.map(({ job }) => job.token)).size, 'every start its own lease').toBe(starts.length);
  });

  it.each([
    ['the engine', CONFIG.backpressure.globalRps, CONFIG.backpressure.burst, () => true],
    ['a tenant', TENANT_RATE.rps, TENANT_RATE.burst, (start: Start) => tenantOf(start) === TENANT_RATE.id],
    ['a group', GROUP_RATE.rps, GROUP_RATE.burst, (start: Start) => groupOf(start) === GROUP_RATE.id],
  ])('bulk-action BA-2: I7: the rate of %s in every sliding window', (_, rps, burst, isOwn) => {
    const own = starts.filter(isOwn);
    const costMax = Math.max(...own.map(({ job }) => job.cost));
    for (const seconds of WINDOWS_SECONDS) {
      expect(busiest(own, seconds), `in ${seconds} s`).toBeLessThanOrEqual(
        rps * seconds + Math.max(burst, costMax),
      );
    }
    const lasted = ((own.at(-1)?.at ?? 0) - (own[0]?.at ?? 0)) / 1000;
    const perSecond = own.reduce((sum, { job }) => sum + job.cost, 0) / lasted;
    expect(perSecond, `used ${perSecond} of ${rps} a second`).toBeGreaterThan(USED * rps);
  });

  it.each([
    ['a group', GROUP_CAP.concurrency, (start: Start) => groupOf(start) === GROUP_CAP.id],
    ['a tenant', TENANT_CAP.concurrency, (start: Start) => tenantOf(start) === TENANT_CAP.id],
  ])('bulk-action BA-2: I5: the cap of %s at every instant', (_, cap, isOwn) => {
    expect(mostAtOnce(starts.filter(isOwn))).toBe(cap);
  });
});
