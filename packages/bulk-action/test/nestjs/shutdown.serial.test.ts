import { fileURLToPath } from 'node:url';
import { RedisConnection } from '@millrace/redis';
import { type RedisServer, runApplication, startRedis, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import {
  type BulkActionConfig,
  BulkActionEngine,
  defineProcessor,
  hasEnded,
  type JobView,
  resolveBulkActionConfig,
} from '../../src/index.js';
import { RedisStore } from '../../src/redis/store.js';

const PROGRAM = fileURLToPath(new URL('./fixtures/application.mjs', import.meta.url));
const GRACE_MS = 2500;
const MACHINE_MS = 500;
const CONFIG = {
  workerPool: { workerCount: 4, fetchIntervalMs: 50, shutdownGracePeriodMs: GRACE_MS },
  reliableQueue: { ackTimeoutMs: 1500, orphanRecoveryIntervalMs: 100 },
};

/** A Redis of its own, and an engine on it that only hands in. */
async function newWorld() {
  // Every acknowledged write is on the disk: what is lost with a server that is killed would be our fault.
  const server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  const connection = new RedisConnection({ url: server.url, reconnectMaxMs: 50 });
  const engineOf = async (
    config: BulkActionConfig,
    processors: ReturnType<typeof defineProcessor>[] = [],
  ) => {
    const store = new RedisStore(resolveBulkActionConfig(config), { connection });
    const engine = new BulkActionEngine({ config, store, processors });
    await engine.start();
    return engine;
  };
  const producer = await engineOf({ ...CONFIG, workerPool: { enabled: false } });
  const { service } = producer;
  return {
    server,
    service,
    engineOf,
    submit: (id: string, processorType: string, count: number, payload: unknown = null) =>
      service.submitBulk(
        { id },
        Array.from({ length: count }, (_, n) => ({ id: `j${n}`, processorType, payload })),
      ),
    jobsOf: async (...ids: string[]): Promise<readonly JobView[]> =>
      (await Promise.all(ids.map((id) => service.listJobs(id, { limit: 1000 })))).flatMap(
        ({ items }) => items,
      ),
    async [Symbol.asyncDispose]() {
      await producer.stop();
      await connection.stop();
      await server.stop();
    },
  };
}

const application = (url: string, redis: object = {}) =>
  runApplication(PROGRAM, {
    options: { ...CONFIG, redis: { url, ...redis }, shippedProcessors: false },
  });

describe('bulk-action BA-10: SIGTERM to an application with processors from three feature modules', () => {
  it('bulk-action BA-10: idle: exits 0 at once', async () => {
    await using world = await newWorld();
    using app = await application(world.server.url);
    const { code, signal, ms } = await app.terminate();
    expect({ code, signal }).toEqual({ code: 0, signal: null });
    expect(ms).toBeLessThan(MACHINE_MS);
  });

  it('bulk-action BA-10: busy: what ends within the grace period is counted, and nothing new starts', async () => {
    await using world = await newWorld();
    const { service, submit, server } = world;
    using app = await application(server.url);
    await submit('quick', 'QUICK', 20, 500);
    await app.running(4);
    const { code, ms } = await app.terminate();
    expect(code, app.said()).toBe(0);
    expect(ms).toBeLessThan(GRACE_MS + MACHINE_MS);
    expect(app.started).toHaveLength(4);
    expect(await service.getProgress('quick')).toMatchObject({
      success: 4,
      failed: 0,
      pending: 16,
      inFlight: 0,
    });
  });

  it('bulk-action BA-10: busy: unfinished jobs of all modules go back with their retry counts, and it exits 0', async () => {
    await using world = await newWorld();
    const { service, submit, jobsOf, server } = world;
    using app = await application(server.url);
    await submit('patient', 'PATIENT', 2);
    await submit('stubborn', 'STUBBORN', 2);
    await app.running(4);
    await submit('waiting', 'QUICK', 3);
    const { code, ms } = await app.terminate(2);
    expect(code, app.said()).toBe(0);
    expect(ms).toBeGreaterThanOrEqual(0.8 * GRACE_MS - 10);
    expect(ms).toBeLessThan(GRACE_MS + MACHINE_MS);
    for (const job of await jobsOf('patient', 'stubborn'))
      expect(job).toMatchObject({ status: 'PENDING', retryCount: 0, orphanCount: 0, attempts: 1 });
    expect(await service.getQueues()).toMatchObject({ inFlight: 0, liveSlots: 0 });
    expect(await service.getProgress('waiting')).toMatchObject({ pending: 3 });
  });

  it.concurrent.each([
    ['killed', (server: RedisServer) => server.kill()],
    ['frozen', (server: RedisServer) => server.pause()],
  ])('bulk-action BA-10: busy while Redis is %s: exits 0 in time, and no job is lost', async (_, fault) => {
    await using world = await newWorld();
    const { service, submit, jobsOf, server } = world;
    using app = await application(server.url);
    await submit('patient', 'PATIENT', 2);
    await submit('quick', 'QUICK', 4, 300);
    await app.running(4);
    await fault(server);
    const { code, ms } = await app.terminate();
    expect(code, app.said()).toBe(0);
    expect(ms).toBeLessThan(GRACE_MS + MACHINE_MS);
    await server.restart();
    const types = ['PATIENT', 'QUICK'];
    const successor = await world.engineOf(
      CONFIG,
      types.map((type) => defineProcessor({ type, process: () => 'done' })),
    );
    const done = async (id: string) => hasEnded((await service.getProgress(id)).status);
    await until(async () => (await done('patient')) && (await done('quick')), {
      what: 'the successor to do it all',
      deadlineMs: 20_000,
      intervalMs: 50,
    });
    await successor.stop();
    expect(await service.getResult('patient')).toMatchObject({ success: 2, failed: 0 });
    expect(await service.getResult('quick')).toMatchObject({ success: 4, failed: 0 });
    const retries = (await jobsOf('patient', 'quick')).map((job) => job.retryCount);
    expect(new Set(retries)).toEqual(new Set([0]));
  });

  it('bulk-action BA-17: without Redis the start fails, and leaves nothing that keeps the process alive', async () => {
    using app = await application('redis://127.0.0.1:1', { callTimeoutMs: 300 });
    const { exited, said } = app;
    expect(await exited, said()).toEqual({ code: 2, signal: null });
    expect(said()).toContain('BACKEND_UNAVAILABLE');
  });
});
