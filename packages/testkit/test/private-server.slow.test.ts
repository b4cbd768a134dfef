import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withPostgres, withRedis } from '../src/clients.js';
import { leakCheck } from '../src/leak-check.js';
import { startPostgres } from '../src/postgres-server.js';
import type { PrivateServer } from '../src/private-server.js';
import { isProcessGone, readProcess } from '../src/processes.js';
import { startRedis } from '../src/redis-server.js';
import { until } from '../src/until.js';
import { processesIn } from './child-programs.js';

leakCheck();

const durable = ['--appendonly', 'yes', '--appendfsync', 'always'];
const redis = {
  start: () => startRedis({ args: durable }) as Promise<PrivateServer>,
  increment: (url: string) => withRedis(url, (client) => client.incr('n')),
};
const postgres = {
  start: () => startPostgres() as Promise<PrivateServer>,
  increment: (url: string) =>
    withPostgres(url, async (client) => {
      await client.query('CREATE SEQUENCE IF NOT EXISTS n');
      const { rows } = await client.query<{ n: number }>("SELECT nextval('n')::int AS n");
      return rows[0]?.n;
    }),
};

function sharedMemoryMadeBy(pid: number): string[] {
  const lines = readFileSync('/proc/sysvipc/shm', 'utf8').split('\n').slice(1);
  return lines.filter((line) => line.trim().split(/\s+/)[4] === String(pid));
}

/** Stops a server and proves that nothing is left of it. */
async function expectTraceless(server: PrivateServer, pid: number): Promise<void> {
  await Promise.all([server.stop(), server.stop()]);
  expect(isProcessGone(pid)).toBe(true);
  expect(existsSync(dirname(server.dir))).toBe(false);
  expect(sharedMemoryMadeBy(pid)).toEqual([]);
  await expect(server.restart()).rejects.toThrow('has been stopped');
}

it.each([
  ['Redis', redis],
  ['PostgreSQL', postgres],
])(
  'a private %s freezes, keeps its port and data, and stops without a trace',
  async (_, { start, increment }) => {
    const server = await start();
    const { port } = server;
    expect(await increment(server.url)).toBe(1);

    await server.pause();
    const states = () => new Set(processesIn(server.dir).map((pid) => readProcess(pid)?.state));
    expect(states()).toEqual(new Set(['T']));
    const asked = increment(server.url);
    await server.resume();
    expect(await asked).toBe(2);
    expect(states()).not.toContain('T');

    await server.restart();
    expect(await increment(server.url)).toBe(3);
    await server.kill();
    expect(processesIn(server.dir)).toEqual([]);
    await server.restart();
    expect(server.port).toBe(port);
    expect(await increment(server.url)).toBeGreaterThan(3);

    const { pid } = server;
    await server.pause();
    await expectTraceless(server, pid);
  },
);

describe('startRedis', () => {
  it('waits for a port that is still held', async () => {
    await using server = await startRedis();
    await redis.increment(server.url);
    await server.kill();
    const holder = createServer((socket) => socket.destroy()).listen(server.port, '127.0.0.1');
    await once(holder, 'listening');
    const restarting = server.restart();
    const folder = dirname(server.dir);
    const logs = () => readdirSync(folder).filter((name) => name.endsWith('.log'));
    const isHeld = () =>
      logs().some((name) => readFileSync(join(folder, name), 'utf8').includes('Address already in use'));
    await until(isHeld, { what: 'a failed attempt' });
    holder.close();
    await restarting;
    expect(await redis.increment(server.url), 'nothing is persisted by default').toBe(1);
  });

  it('reports the output of a server that does not start, and leaves nothing', async () => {
    const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith(`millrace-${process.pid}-`));
    const before = folders();
    const starting = startRedis({ args: ['--no-such-option', '1'] });
    await expect(starting).rejects.toThrow(
      /did not start on 127\.0\.0\.1:\d+: exit code 1[\s\S]*no-such-option/,
    );
    expect(folders()).toEqual(before);
  });
});

describe('startPostgres', () => {
  it('keeps committed data over a crash, and takes settings', async () => {
    await using server = await startPostgres({ fsync: true, args: ['-c', 'max_connections=30'] });
    await postgres.increment(server.url);
    await server.stopImmediate();
    await server.restart();
    expect(await postgres.increment(server.url)).toBeGreaterThan(1);
    const settings =
      "SELECT setting FROM pg_settings WHERE name IN ('fsync', 'max_connections') ORDER BY name";
    const { rows } = await withPostgres(server.url, (client) => client.query(settings));
    expect(rows).toEqual([{ setting: 'on' }, { setting: '30' }]);
  });

  it('removes the shared memory of a killed server', async () => {
    const server = await startPostgres();
    const { pid } = server;
    await server.kill();
    expect(sharedMemoryMadeBy(pid)).toHaveLength(1);
    await expectTraceless(server, pid);
  });
});
