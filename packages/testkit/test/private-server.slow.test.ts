import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
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

it('waits for a port that is still held', async () => {
  await using server = await startRedis();
  await redis.increment(server.url);
  await server.kill();
  const holder = createServer((socket) => socket.destroy()).listen(server.port, '127.0.0.1');
  await once(holder, 'listening');
  const restarting = server.restart();
  const starts = () => readdirSync(dirname(server.dir)).filter((name) => name.endsWith('.log')).length;
  await until(() => starts() > 2, { what: 'a second attempt' });
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

it('gives PostgreSQL settings, and removes its shared memory after a kill', async () => {
  const server = await startPostgres({ fsync: true, args: ['-c', 'max_connections=30'] });
  const settings = "SELECT setting FROM pg_settings WHERE name IN ('fsync', 'max_connections') ORDER BY name";
  const { rows } = await withPostgres(server.url, (client) => client.query(settings));
  expect(rows).toEqual([{ setting: 'on' }, { setting: '30' }]);
  const { pid } = server;
  await server.kill();
  expect(sharedMemoryMadeBy(pid)).toHaveLength(1);
  await expectTraceless(server, pid);
});
