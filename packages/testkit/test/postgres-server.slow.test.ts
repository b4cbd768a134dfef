import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { leakCheck } from '../src/leak-check.js';
import { type PostgresServer, startPostgres } from '../src/postgres-server.js';
import { isProcessGone, readProcess } from '../src/processes.js';
import { processesIn } from './child-programs.js';

leakCheck();

let server: PostgresServer;
let durable: PostgresServer;
let frozen: PostgresServer;
const startTimes: number[] = [];

beforeAll(async () => {
  server = await timed();
  durable = await timed({ fsync: true, args: ['-c', 'max_connections=30'] });
  frozen = await timed();
});
afterAll(() => Promise.all([server.stop(), durable.stop(), frozen.stop()]));

async function timed(options?: Parameters<typeof startPostgres>[0]): Promise<PostgresServer> {
  const begin = performance.now();
  const started = await startPostgres(options);
  startTimes.push(performance.now() - begin);
  return started;
}

async function withClient<T>(use: (client: pg.Client) => Promise<T>, url = server.url): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

async function settings(of: PostgresServer): Promise<Record<string, string>> {
  const { rows } = await withClient(
    (client) => client.query('SELECT name, setting FROM pg_settings'),
    of.url,
  );
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
}

/** Stops a server and proves that nothing is left of it. */
async function expectTraceless(stopped: PostgresServer): Promise<void> {
  const { pid, dir } = stopped;
  await Promise.all([stopped.stop(), stopped.stop()]);
  expect(isProcessGone(pid)).toBe(true);
  expect(existsSync(dirname(dir))).toBe(false);
  expect(sharedMemoryMadeBy(pid)).toEqual([]);
}

describe('startPostgres', () => {
  it('is up in under two seconds, as root too', () => {
    const median = [...startTimes].sort((a, b) => a - b)[1] ?? Number.NaN;
    console.log(`postgres is up in ${median.toFixed(0)} ms, started by uid ${process.getuid?.()}`);
    expect(median).toBeLessThan(2_000);
  });

  it('listens on 127.0.0.1 only, in UTF-8, with room for 200 connections and without fsync', async () => {
    expect(await settings(server)).toMatchObject({
      listen_addresses: '127.0.0.1',
      server_encoding: 'UTF8',
      max_connections: '200',
      fsync: 'off',
    });
  });

  it('takes further settings, fsync among them', async () => {
    expect(await settings(durable)).toMatchObject({ fsync: 'on', max_connections: '30' });
  });

  it('leaves neither process, folder nor shared memory when stopped', () => expectTraceless(durable));

  it('stops without a trace when paused', async () => {
    await frozen.pause();
    await expectTraceless(frozen);
  });

  it('freezes every backend and lets them run on', async () => {
    await withClient(async (client) => {
      const { rows } = await client.query('SELECT pg_backend_pid() pid');
      const states = () => processesIn(server.dir).map((pid) => readProcess(pid)?.state);
      await server.pause();
      expect(processesIn(server.dir)).toEqual(expect.arrayContaining([server.pid, rows[0].pid]));
      expect(new Set(states())).toEqual(new Set(['T']));
      const asked = client.query('SELECT 1 AS one');
      await server.resume();
      expect((await asked).rows).toEqual([{ one: 1 }]);
      expect(states()).not.toContain('T');
    });
  });

  it.each(['restart', 'stopImmediate', 'kill'] as const)(
    'keeps what was committed over %s',
    async (fault) => {
      const { port } = server;
      await withClient((client) => client.query(`CREATE TABLE survived_${fault} (n int)`));
      await server[fault]();
      if (fault !== 'restart') {
        expect(processesIn(server.dir)).toEqual([]);
        await server.restart();
      }
      expect(server.port).toBe(port);
      await withClient((client) => client.query(`SELECT * FROM survived_${fault}`));
    },
  );

  it('stops without a trace after SIGKILL', async () => {
    await server.kill();
    expect(sharedMemoryMadeBy(server.pid)).toHaveLength(1);
    await expectTraceless(server);
  });
});

function sharedMemoryMadeBy(pid: number): string[] {
  const lines = readFileSync('/proc/sysvipc/shm', 'utf8').split('\n').slice(1);
  return lines.filter((line) => line.trim().split(/\s+/)[4] === String(pid));
}
