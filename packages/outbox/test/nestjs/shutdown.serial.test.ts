import { fileURLToPath } from 'node:url';
import { PgDatabase } from '@millrace/postgres';
import { postgresSandbox, runApplication, startTcpProxy } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { migrateOutbox, Outbox } from '../../src/index.js';

const PROGRAM = fileURLToPath(new URL('./fixtures/postgres-application.mjs', import.meta.url));
const GRACE_MS = 1_500;
/** What `stop` may take beyond it, and what the machine does. */
const MORE_MS = 500 + 700;

/** Tables on a PostgreSQL, an outbox that only starts and watches batches, and a network for the application. */
async function newWorld() {
  const sandbox = await postgresSandbox();
  const { hostname, port } = new URL(sandbox.url);
  const proxy = await startTcpProxy({ targetHost: hostname, targetPort: Number(port) });
  const database = new PgDatabase({ url: sandbox.url });
  await migrateOutbox(database);
  await database.query('CREATE TABLE effect (key text)');
  const outbox = new Outbox({ database, poll: false });
  await outbox.start();
  const url = new URL(sandbox.url);
  url.host = `127.0.0.1:${proxy.port}`;
  return {
    proxy,
    database,
    outbox,
    url: url.href,
    async [Symbol.asyncDispose]() {
      await outbox.stop();
      await database.stop();
      await proxy.close();
      await sandbox.drop();
    },
  };
}

const application = (url: string, database: object = {}) =>
  runApplication(PROGRAM, {
    database: { url, ...database },
    gracePeriodMs: GRACE_MS,
    pollIntervalMs: 50,
  });

describe('outbox: SIGTERM to an application', () => {
  it('outbox OB-3: what ends in time counts, the rest is given back with its writes undone, and it exits 0', async () => {
    await using world = await newWorld();
    const { outbox, database } = world;
    using app = await application(world.url);
    const { id } = await outbox.pusher.start('work', 'k');
    await app.running(3);
    const { code, ms } = await app.terminate();
    expect(code, app.said()).toBe(0);
    expect(ms).toBeGreaterThan(0.8 * GRACE_MS - 10);
    expect(ms).toBeLessThan(GRACE_MS + MORE_MS);
    const { tasks } = await outbox.batches.status(id);
    const states = tasks.map(({ key, status, attempts, lost }) => [key, { status, attempts, lost }]);
    expect(Object.fromEntries(states)).toEqual({
      quick: { status: 'DONE', attempts: 1, lost: 0 },
      patient: { status: 'READY', attempts: 0, lost: 0 },
      stubborn: { status: 'READY', attempts: 0, lost: 0 },
    });
    expect((await database.query('SELECT key FROM effect')).rows).toEqual([{ key: 'quick' }]);
  });

  it('outbox OB-3: while PostgreSQL does not answer it exits 0 in time all the same', async () => {
    await using world = await newWorld();
    const { outbox, proxy } = world;
    using app = await application(world.url);
    const { id } = await outbox.pusher.start('work', 'k');
    await app.running(3);
    proxy.pause();
    const { code, ms } = await app.terminate();
    expect(code, app.said()).toBe(0);
    expect(ms).toBeLessThan(GRACE_MS + MORE_MS);
    // Their leases will end.
    expect(await outbox.batches.task(id, 'stubborn')).toMatchObject({ status: 'PROCESSING', attempts: 1 });
  });

  it('outbox: without PostgreSQL the start fails, and leaves nothing that keeps the process alive', async () => {
    using app = await application('postgres://nobody@127.0.0.1:1/none', { callTimeoutMs: 300 });
    expect(await app.exited, app.said()).toEqual({ code: 2, signal: null });
    expect(app.said()).toContain('BACKEND_UNAVAILABLE');
  });
});
