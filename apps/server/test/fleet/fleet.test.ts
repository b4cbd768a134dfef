import { defineProcessor } from '@millrace/bulk-action';
import { ROUTES, StatPoint } from '@millrace/contract';
import { silentLogger } from '@millrace/foundation';
import { PgDatabase } from '@millrace/postgres';
import { latch, type PostgresSandbox, type RedisSandbox, redisSandbox, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ServerConfig } from '../../src/config/model.js';
import { type AppServices, defineApp } from '../../src/define-app.js';
import { InstanceStore } from '../../src/fleet/instance-store.js';
import { ServerTables } from '../../src/fleet/server-tables.js';
import { migratedSandbox, serve, type TestServer } from '../serve.js';

const ADMIN = 'admin-secret-of-24-characters';
const ANA = 'ana-is-admin-of-tenant-a-24-ch';
const KEYS = `root:admin:${ADMIN},ana:admin:a:${ANA}`;
const WORKERS = 2;

describe('two servers on one PostgreSQL and one Redis', () => {
  let sandbox: PostgresSandbox;
  let redis: RedisSandbox;
  let a: TestServer;
  let b: TestServer;
  let database: PgDatabase;
  let services: AppServices;
  /** Runs until as many jobs run as both servers together have workers. */
  let running = 0;
  const all = latch<void>('both servers run jobs');

  const start = () =>
    serve({
      databaseUrl: sandbox.url,
      redisUrl: redis.url,
      keyPrefix: `${redis.namespace}:`,
      apiKeys: KEYS,
      bulk: { workerPool: { workerCount: WORKERS } },
      application: defineApp((given) => {
        services = given;
        const process = async () => {
          running++;
          if (running === 2 * WORKERS) all.open();
          await all.promise;
          return null;
        };
        return { processors: [defineProcessor({ type: 'together', process })] };
      }),
    });

  beforeAll(async () => {
    [sandbox, redis] = await Promise.all([migratedSandbox(), redisSandbox()]);
    database = new PgDatabase({ url: sandbox.url, logger: silentLogger });
    a = await start();
    b = await start();
  });
  afterAll(async () => {
    await Promise.allSettled([a?.close(), b?.close()]);
    await database.stop();
    await Promise.all([sandbox.drop(), redis[Symbol.asyncDispose]()]);
  });

  const get = async (server: TestServer, path: string) => (await server.send(path, { key: ADMIN })).body;
  const scale = (server: TestServer, body: object) =>
    server.send('/api/bulk/pool', { method: 'PATCH', key: ADMIN, body });
  const workersOf = async (server: TestServer): Promise<number> =>
    (await get(server, '/api/bulk/pool')).pool.workerCount;
  const scaled = (server: TestServer, workers: number) =>
    until(async () => (await workersOf(server)) === workers, { what: `${workers} workers` });
  const insertGone = (id: string, silentFor: string) =>
    database.query(
      `INSERT INTO millrace.server_instance (instance_id, role, version, host, pid, bulk_instance_id, worker_count, runs, seen_at)
       VALUES ($1, 'all', '1', 'h', 1, 'bulk', 4, '{}', clock_timestamp() - $2::interval)`,
      [id, silentFor],
    );

  it('know each other', async () => {
    for (const server of [a, b]) {
      const items = await until(
        async () => {
          const list = (await get(server, '/api/instances')).items;
          return list.length === 2 && list;
        },
        { what: 'both instances to be listed' },
      );
      expect(items.map((item: { instanceId: string }) => item.instanceId)).toEqual([
        a.instanceId,
        b.instanceId,
      ]);
      expect(items[0]).toMatchObject({
        role: 'all',
        pid: process.pid,
        alive: true,
        stopping: false,
        workerCount: WORKERS,
        wantedWorkers: null,
        busy: { jobs: 0, tasks: 0 },
      });
      expect(items[0].processors).toContain('together');
      expect(items[0].backends).toContainEqual(expect.objectContaining({ name: 'database', ok: true }));
      expect(items[0].bulkInstanceId).toMatch(/^[0-9a-f]{16}$/);
    }
  });

  it('show the workers of all, and scale one or all of them', async () => {
    const pool = await get(a, '/api/bulk/pool');
    expect(pool).toMatchObject({
      instanceId: a.instanceId,
      workerCount: 2 * WORKERS,
      pool: { workerCount: WORKERS },
    });
    expect(pool.pool.workers).toHaveLength(WORKERS);

    expect(await scale(a, { workerCount: 3, instance: b.instanceId })).toMatchObject({
      status: 200,
      body: { workerCount: 3, instances: [b.instanceId] },
    });
    await scaled(b, 3);
    expect(await workersOf(a)).toBe(WORKERS);

    const { bulkInstanceId } = pool.instances.find(
      (one: { instanceId: string }) => one.instanceId === b.instanceId,
    );
    await scale(a, { workerCount: 4, instance: bulkInstanceId });
    await scaled(b, 4);

    expect((await scale(b, { workerCount: WORKERS })).body.instances).toHaveLength(2);
    await Promise.all([scaled(a, WORKERS), scaled(b, WORKERS)]);
    await until(async () => (await get(a, '/api/bulk/pool')).workerCount === 2 * WORKERS, {
      what: 'both to have said so',
    });
  });

  it('scale nobody who is not there', async () => {
    const { status, body } = await scale(a, { workerCount: 1, instance: 'nobody' });
    expect(status).toBe(404);
    expect(body).toMatchObject({ code: 'INSTANCE_NOT_FOUND' });
    expect(body.detail).toContain(b.instanceId);
    for (const wrong of [{ workerCount: -1 }, { workerCount: 1.5 }, { workerCount: 1, other: 1 }, {}])
      expect((await scale(a, wrong)).status).toBe(400);
  });

  it('show one that was killed as gone, and forget it after a day', async () => {
    await insertGone('killed', '16 seconds');
    await insertGone('long gone', '25 hours');
    const { items } = await get(a, '/api/instances');
    const shown = items.map(({ instanceId, alive }: { instanceId: string; alive: boolean }) => [
      instanceId,
      alive,
    ]);
    expect(shown).toContainEqual(['killed', false]);
    expect(shown.flat()).not.toContain('long gone');
    const { instances, workerCount } = await get(a, '/api/bulk/pool');
    expect(instances).toHaveLength(2);
    expect(workerCount).toBe(2 * WORKERS);
    expect((await scale(a, { workerCount: 1, instance: 'killed' })).status).toBe(404);
    const tables = new ServerTables({ database, config: ServerConfig.parse({}) });
    expect(await new InstanceStore(tables).prune(10)).toBe(1);
    const { rows } = await database.query('SELECT instance_id FROM millrace.server_instance');
    expect(rows).toHaveLength(3);
  });

  it('answer as the contract says', async () => {
    const { listInstances, getPool, getStats, listAudit } = ROUTES;
    for (const { path, ok } of [listInstances, getPool, getStats, listAudit]) {
      const body = await get(a, path);
      expect(ok.parse(body)).toEqual(body);
    }
  });

  it('refuse a key that belongs to a tenant', async () => {
    for (const path of ['/api/instances', '/api/bulk/pool', '/api/stats'])
      expect(await a.send(path, { key: ANA })).toMatchObject({
        status: 403,
        body: { code: 'TENANT_REFUSED' },
      });
  });

  it('answer with points of the last 15 minutes, null where there is none', async () => {
    const { body } = await a.send('/api/stats', { key: ADMIN });
    expect(body).toMatchObject({ step: 10 });
    expect(body.points).toHaveLength(90);
    expect(Date.parse(body.to) - Date.parse(body.from)).toBe(900_000);
    expect(body.points[0]).toBeNull();
    const day = await get(a, '/api/stats?step=60&from=0');
    expect(day.points).toHaveLength(1_440);
    for (const wrong of ['step=7', 'from=yesterday', 'from=2000&to=1000', 'other=1'])
      expect((await a.send(`/api/stats?${wrong}`, { key: ADMIN })).status).toBe(400);
  });

  it('add up what both did; one that has stopped is no longer listed, and what it did stays', async () => {
    const jobs = Array.from({ length: 2 * WORKERS }, (_, n) => ({
      id: `job-${n}`,
      processorType: 'together',
      payload: null,
    }));
    await services.bulk.submitBulk({ id: 'together' }, jobs);
    await until(async () => (await services.bulk.getGroup('together')).status === 'COMPLETED', {
      what: 'the jobs to be done',
      deadlineMs: 10_000,
    });
    await b.close();
    const { items } = await get(a, '/api/instances');
    expect(items.map(({ instanceId }: { instanceId: string }) => instanceId)).not.toContain(b.instanceId);
    const { instanceId } = b;
    await a.close();
    b = await start();
    expect(b.instanceId).not.toBe(instanceId);
    const { points } = await get(b, `/api/stats?to=${Date.now() + 20_000}`);
    const seen = points.filter(Boolean);
    for (const point of seen) expect(StatPoint.parse(point)).toEqual(point);
    const done = seen.reduce(
      (sum: number, { jobs }: { jobs: { donePerSecond: number } }) => sum + jobs.donePerSecond * 10,
      0,
    );
    expect(done).toBeCloseTo(2 * WORKERS);
    expect(seen.some(({ runMs }: { runMs: object | null }) => runMs !== null)).toBe(true);
  });
});
