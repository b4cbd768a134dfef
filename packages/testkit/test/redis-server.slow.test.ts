import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, it, vi } from 'vitest';
import { freePort } from '../src/free-port.js';
import { leakCheck } from '../src/leak-check.js';
import { isProcessGone, readProcess } from '../src/processes.js';
import { type RedisServer, startRedis } from '../src/redis-server.js';
import { until } from '../src/until.js';

leakCheck();

async function withClient<T>(server: RedisServer, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(server.url, { protocol: 2, maxRetriesPerRequest: 0, retryStrategy: () => null });
  client.on('error', () => {});
  try {
    return await use(client);
  } finally {
    client.disconnect();
  }
}

describe('startRedis', () => {
  it('is up in under two seconds', async () => {
    const times: number[] = [];
    for (let run = 0; run < 3; run++) {
      const begin = performance.now();
      const server = await startRedis();
      times.push(performance.now() - begin);
      await server.stop();
    }
    const median = times.sort((a, b) => a - b)[1] ?? Number.NaN;
    console.log(`redis-server is up in ${median.toFixed(0)} ms`);
    expect(median).toBeLessThan(2_000);
  });

  it('leaves neither process nor folder when stopped', async () => {
    const server = await startRedis();
    const { pid } = server;
    const folder = dirname(server.dir);
    expect(existsSync(folder)).toBe(true);
    await Promise.all([server.stop(), server.stop()]);
    expect(isProcessGone(pid)).toBe(true);
    expect(existsSync(folder)).toBe(false);
    await expect(server.restart()).rejects.toThrow('has been stopped');
  });

  it('persists nothing unless asked to', async () => {
    await using server = await startRedis();
    await withClient(server, (client) => client.set('a', '1'));
    await server.restart();
    expect(await withClient(server, (client) => client.get('a'))).toBeNull();
  });

  it('comes back after SIGKILL on the same port and data', async () => {
    await using server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    const { port, dir, pid } = server;
    await withClient(server, (client) => client.set('a', '1'));
    await server.kill();
    expect(isProcessGone(pid)).toBe(true);
    await server.restart();
    expect([server.port, server.dir]).toEqual([port, dir]);
    expect(server.pid).not.toBe(pid);
    expect(await withClient(server, (client) => client.get('a'))).toBe('1');
  });

  it('keeps a data folder of the caller', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'redis-test-'));
    const start = () => startRedis({ dir, args: ['--appendonly', 'yes'] });
    const first = await start();
    await withClient(first, (client) => client.set('a', '1'));
    await first.stop();
    const second = await start();
    expect(await withClient(second, (client) => client.get('a'))).toBe('1');
    await second.stop();
    rmSync(dir, { recursive: true });
  });

  it('does not answer while paused and answers what was asked meanwhile', async () => {
    await using server = await startRedis();
    await withClient(server, async (client) => {
      await client.ping();
      await server.pause();
      expect(readProcess(server.pid)?.state).toBe('T');
      let answered = false;
      const asked = client.incr('n').then((n) => {
        answered = true;
        return n;
      });
      expect(answered).toBe(false);
      await server.resume();
      expect(await asked).toBe(1);
    });
  });

  it('stops when paused', async () => {
    const server = await startRedis();
    const { pid } = server;
    await server.pause();
    await server.stop();
    expect(isProcessGone(pid)).toBe(true);
  });

  it('takes another port when the one it chose was taken meanwhile', async () => {
    await using other = await startRedis();
    // Other files run in this process: the module that is replaced is loaded already.
    vi.resetModules();
    vi.doMock('../src/free-port.js', { spy: true });
    const ports = await import('../src/free-port.js');
    const fresh = await import('../src/redis-server.js');
    vi.doUnmock('../src/free-port.js');
    vi.mocked(ports.freePort).mockResolvedValueOnce(other.port);
    await using server = await fresh.startRedis();
    expect(server.port).not.toBe(other.port);
    expect(ports.freePort).toHaveBeenCalledTimes(2);
  });

  it('waits for a fixed port that is still held', async () => {
    const port = await freePort();
    const holder = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1');
    const starting = startRedis({ port });
    await until(() => logsOfThisProcess().includes('Address already in use'), {
      what: 'a first try to fail',
    });
    holder.close();
    await using server = await starting;
    expect(server.port).toBe(port);
  });

  it('tells what the server said when it does not start, and leaves nothing', async () => {
    const starting = startRedis({ args: ['--no-such-option', '1'] });
    await expect(starting).rejects.toThrow(
      /did not start on 127\.0\.0\.1:\d+: exit code 1[\s\S]*no-such-option/,
    );
    expect(foldersOfThisProcess()).toEqual([]);
  });
});

function foldersOfThisProcess(): string[] {
  return readdirSync(tmpdir())
    .filter((name) => name.startsWith(`millrace-${process.pid}-`))
    .map((name) => join(tmpdir(), name));
}

function logsOfThisProcess(): string {
  return foldersOfThisProcess()
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((path) => path.endsWith('.log'))
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n');
}
