import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { defineProcessor } from '@millrace/bulk-action';
import { InstanceList } from '@millrace/contract';
import { PgDatabase } from '@millrace/postgres';
import { freePort, latch, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examine, type SidedFinding } from '../../src/cli/doctor/examine.js';
import { defineApp } from '../../src/index.js';
import { serve, type TestServer } from '../serve.js';
import { runCaptured } from './captured.js';
import { type Diagnosis, diagnose } from './doctor.js';

const ADMIN = 'admin-secret-of-this-test-123';
const TENANT = 'ana-is-of-one-tenant-24-chars';
const GRACE_MS = 300;
const SHORT = ['--seconds', '0.2'];

let server: TestServer;
const gate = latch<void>('blocked jobs may end');

const application = defineApp({
  processors: [
    defineProcessor({
      type: 'block',
      process: async () => {
        await gate.promise;
        return null;
      },
    }),
    defineProcessor({
      type: 'pay',
      retry: { retries: 0 },
      process: () => {
        throw new Error("the card service's certificate has expired");
      },
    }),
  ],
});

beforeAll(async () => {
  server = await serve({
    application,
    apiKeys: `root:admin:${ADMIN},ana:read:acme:${TENANT}`,
    gracePeriodMs: GRACE_MS,
    bulk: { workerPool: { workerCount: 1, fetchBatchSize: 3 } },
  });
});
afterAll(async () => {
  gate.open();
  await server?.[Symbol.asyncDispose]();
});

const env = (key?: string) => ({
  MILLRACE_URL: server.url,
  ...(key !== undefined && { MILLRACE_API_KEY: key }),
});
const look = (key: string | undefined = ADMIN, args: readonly string[] = SHORT): Promise<Diagnosis> =>
  diagnose(args, { env: env(key), folder: tmpdir() });

const send = (path: string, body: object, method = 'POST') => server.send(path, { key: ADMIN, body, method });
const submit = (id: string, processorType: string, count: number) =>
  send('/api/bulk/groups', {
    group: { id },
    jobs: Array.from({ length: count }, () => ({ processorType, payload: 'x'.repeat(100) })),
  });
const queues = async () => (await server.send('/api/bulk/queues', { key: ADMIN })).body;
const cancel = (id: string) => server.send(`/api/bulk/groups/${id}`, { key: ADMIN, method: 'DELETE' });

/** Hands in jobs for as long as somebody looks. */
async function lookedAtWhile(work: (round: number) => Promise<unknown>): Promise<Diagnosis> {
  let isLooking = true;
  const looking = look().finally(() => {
    isLooking = false;
  });
  for (let round = 0; isLooking; round++) await work(round);
  return await looking;
}

describe('doctor, a server that is well', () => {
  it('says so, one line for each check, and exits with 0', async () => {
    const captured = runCaptured(['doctor', ...SHORT], { env: env(ADMIN), folder: tmpdir() });
    expect(await captured.exitCode).toBe(0);
    const out = captured.out();
    expect(out).toMatch(/^This machine\nok {7}Node /);
    expect(out).toContain(`\nThe server\nok       The server at ${server.url} is ready\n`);
    expect(out).toContain('ok       It knows this caller as root, with the role admin');
    expect(out).toMatch(/ok {7}1 worker, 0 jobs run, 0 wait, /);
    expect(out).toMatch(/\nNo failures, no warnings\.\n$/);
    expect(captured.err()).toBe('');
  });

  it('has colours at a terminal, and ends at once with Ctrl-C', async () => {
    const captured = runCaptured(['doctor', '--seconds', '60'], {
      env: env(ADMIN),
      folder: tmpdir(),
      isTerminal: true,
    });
    await until(() => captured.out().includes('role admin'), { what: 'the server is being looked at' });
    captured.events.emit('SIGINT');
    expect(await captured.exitCode).toBe(130);
    expect(captured.out()).toContain('\u001b[32mok     \u001b[39m');
  });

  it('waits for nothing when it is interrupted', async () => {
    const app = join(mkdtempSync(join(tmpdir(), 'millrace-doctor-')), 'app.mjs');
    writeFileSync(app, 'await new Promise(() => setInterval(() => {}, 1_000).unref());\n');
    const captured = runCaptured(['doctor'], { env: { ...env(ADMIN), MILLRACE_APP: app }, folder: tmpdir() });
    await until(() => captured.out().includes('The data directory'), { what: 'the application is loading' });
    captured.events.emit('SIGINT');
    let exitCode: number | undefined;
    void captured.exitCode.then((code) => {
      exitCode = code;
    });
    await until(() => exitCode !== undefined, { what: 'its end, before the application has had its time' });
    expect(exitCode).toBe(130);
    rmSync(dirname(app), { recursive: true });
  });

  it('refuses what cannot be', async () => {
    for (const seconds of ['0', 'x', '601'])
      expect(await runCaptured(['doctor', '--seconds', seconds], {}).exitCode).toBe(2);
  });
});

describe('doctor, who asks', () => {
  it('says that a key is needed, or that it is limited', async () => {
    const unknown = await diagnose(SHORT, { env: env(), folder: tmpdir() });
    expect(unknown).toMatchObject({ exitCode: 1, ok: false });
    expect(unknown.of('server.key')).toMatchObject([
      { level: 'failure', action: expect.stringContaining('MILLRACE_API_KEY') },
    ]);
    const limited = await look(TENANT);
    expect(limited).toMatchObject({ exitCode: 0, ok: true });
    expect(limited.of('server.key')).toMatchObject([
      { level: 'ok' },
      { level: 'note', seen: expect.stringContaining('acme') },
    ]);
    expect(limited.text + unknown.text).not.toContain(TENANT);
  });

  it('fails when nobody is where somebody said, and only tells it otherwise', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const named = await diagnose(['--url', url], { folder: tmpdir() });
    expect(named.of('server')).toMatchObject([
      { level: 'failure', seen: expect.stringContaining('ECONNREFUSED') },
    ]);
    const { signal } = new AbortController();
    const surroundings = { env: {}, folder: tmpdir() };
    const options = { configFile: undefined, isNamed: false, apiKey: undefined, watchMs: 1, url, signal };
    const found: SidedFinding[] = [];
    for await (const one of examine({ surroundings, ...options })) found.push(one);
    expect(found.filter(({ check }) => check === 'server')).toMatchObject([{ level: 'note' }]);
  });

  it('knows a stranger, and a clock that is off', async () => {
    const hour = 3_600_000;
    const proxy = createServer(async ({ url = '/', headers }, response) => {
      const answer = await fetch(server.url + url, {
        headers: { authorization: headers.authorization ?? '' },
      });
      const date = new Date(Date.now() - hour).toUTCString();
      response.writeHead(
        url === '/health/ready' && headers.authorization === undefined ? 404 : answer.status,
        { date },
      );
      response.end(headers.authorization === undefined ? 'hello' : await answer.text());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    try {
      const off = await diagnose(['--url', url, ...SHORT], { env: env(ADMIN), folder: tmpdir() });
      expect(off.of('server.clock')).toMatchObject([
        {
          level: 'warning',
          seen: expect.stringMatching(/the server is (59 min|1 h).*behind that of this machine/),
          action: expect.stringContaining('NTP'),
        },
      ]);
      const stranger = await diagnose(['--url', url, ...SHORT], { folder: tmpdir() });
      expect(stranger.of('server')).toMatchObject([
        { level: 'failure', title: expect.stringContaining('no Millrace') },
      ]);
    } finally {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    }
  });
});

describe('doctor, the six cases', () => {
  it('1: workers idle though jobs wait: what holds them, and the command that helps', async () => {
    await send('/api/bulk/groups', { group: { id: 'later' } });
    await send('/api/bulk/groups/later', { paused: true }, 'PATCH');
    await send('/api/bulk/groups/later/jobs', { jobs: [{ processorType: 'block' }] });
    expect((await look()).of('case.idle-workers')).toMatchObject([
      {
        level: 'note',
        seen: expect.stringContaining('Group later: PAUSED'),
        action: expect.stringContaining('millrace groups resume later'),
      },
    ]);
    await submit('typo', 'blok', 1);
    const held = await look();
    expect(held.of('case.idle-workers')).toMatchObject([
      {
        level: 'failure',
        seen: expect.stringContaining('NO_PROCESSOR'),
        action: expect.stringContaining('blok'),
      },
    ]);
    expect(held.exitCode).toBe(1);
    await Promise.all(['later', 'typo'].map(cancel));
  });

  it('2 and 6: all busy and more comes; a job that outlives a stop, by its name', async () => {
    await submit('long', 'block', 1);
    await until(async () => (await queues()).inFlight === 1, { what: 'the job runs' });
    const outlives = async () => (await look()).of('case.slow-shutdown').length > 0;
    await until(outlives, { what: 'it has run for longer than a stop waits' });
    const busy = await lookedAtWhile((round) => submit(`more-${round % 3}-${round}`, 'block', 2));
    expect(busy.of('case.busy-workers')).toMatchObject([
      {
        level: 'warning',
        seen: expect.stringContaining('1 worker;'),
        action: expect.stringMatching(/block long\/|workerCount/),
      },
    ]);
    expect(busy.of('case.slow-shutdown')).toMatchObject([
      { level: 'note', seen: expect.stringMatching(/block long\/.*gracePeriodMs is 300/) },
    ]);
    gate.open();
    await until(async () => (await queues()).inFlight === 0 && (await queues()).lane === 0, {
      what: 'all ended',
    });
  });

  it('4: dead letters surge: by cause, by processor, with the command that runs them again', async () => {
    const surge = await lookedAtWhile((round) => submit(`pay-${round}`, 'pay', 10));
    expect(surge.of('case.dead-letters')).toMatchObject([
      {
        level: expect.stringMatching(/warning|failure/),
        seen: expect.stringMatching(/certificate has expired.*the processors pay/s),
        action: expect.stringMatching(/millrace dlq redrive --signature '.*service'\\''s/),
      },
    ]);
    await until(async () => (await queues()).lane === 0 && (await queues()).inFlight === 0, {
      what: 'all ended',
    });
    const { deadLetters } = await queues();
    // How grave it is by then depends on what else has ended in the last minutes.
    const quiet = await look();
    expect(quiet.of('case.dead-letters')).toMatchObject([
      { seen: expect.stringContaining('certificate has expired') },
    ]);
    const purged = await send('/api/bulk/dead-letters/purge', { all: true, expectedCount: deadLetters });
    expect(purged.status).toBe(200);
  });

  it('3, 5 and 6 of another instance, which only its heartbeat tells', async () => {
    await using database = new PgDatabase({ url: server.databaseUrl });
    const own = InstanceList.parse((await server.send('/api/instances', { key: ADMIN })).body).items[0];
    expect(own).toMatchObject({
      stopping: false,
      stoppingSince: null,
      gracePeriodMs: GRACE_MS,
      pool: { fetchBatchSize: 3, jobTimeoutMs: 30_000 },
      memory: { overMs: 0, grownBytes: 0 },
    });
    const { stopping, processors, dags, routes, outboxConcurrency, busy } = own ?? {};
    const same = {
      stopping,
      processors,
      dags,
      routes,
      outboxConcurrency,
      busy,
      backends: [],
      gracePeriodMs: 1,
    };
    const add = (id: string, version: string, runs: object) =>
      database.query(
        `INSERT INTO millrace.server_instance (instance_id, role, version, host, pid, bulk_instance_id, worker_count, runs, started_at)
         VALUES ($1, 'all', $2, 'h', 1, $1, 4, $3::jsonb, clock_timestamp() - interval '1 min')`,
        [id, version, JSON.stringify({ ...same, ...runs })],
      );
    const heap = { rssBytes: 2e9, heapUsedBytes: 95e7, heapLimitBytes: 1e9, grownBytes: 0, overMs: 0 };
    const redis = { name: 'redis', ok: false, message: 'No answer within 1000 ms', since: null };
    await add('stuck', '0.0.9', {
      pool: { ...own?.pool, fetcherRunning: false },
      memory: heap,
      backends: [redis],
    });
    await add('leaving', '0.0.9', { stopping: true, stoppingSince: '2020-01-01T00:00:00.000Z' });
    await add('before', '0.0.9', { gracePeriodMs: undefined });
    const found = await look();
    expect(found.of('case.stopped-fetcher')).toMatchObject([
      { level: 'failure', seen: expect.stringContaining('stuck') },
    ]);
    expect(found.of('case.growing-memory')).toMatchObject([
      { level: 'warning', seen: expect.stringContaining('95.0 %') },
    ]);
    expect(found.of('case.slow-shutdown')).toMatchObject([
      {
        level: 'failure',
        seen: expect.stringContaining('leaving has been stopping for'),
        action: expect.stringContaining('kill -9 1'),
      },
    ]);
    expect(found.of('instances.versions')).toMatchObject([{ level: 'warning' }]);
    expect(found.of('instances.backends')).toMatchObject([
      { level: 'failure', seen: 'No answer within 1000 ms' },
    ]);
    await database.query("DELETE FROM millrace.server_instance WHERE version = '0.0.9'");
  });
});
