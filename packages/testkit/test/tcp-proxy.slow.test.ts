import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { leakCheck } from '../src/leak-check.js';
import { startPostgres } from '../src/postgres-server.js';
import { type RedisServer, startRedis } from '../src/redis-server.js';
import { startTcpProxy, type TcpProxy } from '../src/tcp-proxy.js';
import { until } from '../src/until.js';

leakCheck();

let server: RedisServer;
let direct: Redis;
beforeAll(async () => {
  server = await startRedis();
  direct = connectRedis(server.url);
});
afterAll(async () => {
  direct.disconnect();
  await server.stop();
});
beforeEach(() => direct.flushall());

function connectRedis(url: string): Redis & Disposable {
  const redis = new Redis(url, { protocol: 2, maxRetriesPerRequest: 0, retryStrategy: () => null });
  redis.on('error', () => {});
  return Object.assign(redis, { [Symbol.dispose]: () => redis.disconnect() });
}

const toRedis = () => startTcpProxy({ targetHost: server.host, targetPort: server.port });

/** A bare connection that remembers every byte it got. */
async function rawClient(proxy: TcpProxy) {
  const socket = connect({ port: proxy.port, host: '127.0.0.1', noDelay: true });
  const seen: Buffer[] = [];
  socket.on('data', (chunk) => seen.push(chunk));
  socket.on('error', () => {});
  const closed = once(socket, 'close').catch(() => {});
  await once(socket, 'connect');
  return { socket, closed, received: () => Buffer.concat(seen).toString('latin1') };
}

describe('a TCP proxy before Redis', () => {
  it('forwards, and counts its connections', async () => {
    await using proxy = await toRedis();
    expect(proxy.url('redis')).toBe(`redis://127.0.0.1:${proxy.port}`);
    using client = connectRedis(proxy.url('redis'));
    expect(await client.incr('n')).toBe(1);
    expect(proxy.connections).toBe(1);
    client.disconnect();
    await until(() => proxy.connections === 0, { what: 'the connection to be forgotten' });
  });

  it('holds everything back while paused, in old and new connections', async () => {
    await using proxy = await toRedis();
    using old = connectRedis(proxy.url('redis'));
    await old.ping();
    proxy.pause();
    const { socket, received } = await rawClient(proxy);
    socket.write('INCR n\r\n');
    const asked = old.incr('n');
    await until(() => proxy.connections === 2, { what: 'the new connection' });
    // A round trip past the proxy: whatever it had let through would have been executed by now.
    expect(await direct.get('n')).toBeNull();
    proxy.resume();
    await asked;
    await until(() => /^:[12]\r\n$/.test(received()), { what: 'the reply in the new connection' });
    expect(await direct.get('n')).toBe('2');
    socket.destroy();
  });

  it('cuts live connections and lets new ones in', async () => {
    await using proxy = await toRedis();
    const first = await rawClient(proxy);
    await until(() => proxy.connections === 1, { what: 'the connection' });
    proxy.cut();
    await first.closed;
    using second = connectRedis(proxy.url('redis'));
    expect(await second.ping()).toBe('PONG');
  });

  it('refuses new connections and keeps the old', async () => {
    await using proxy = await toRedis();
    using old = connectRedis(proxy.url('redis'));
    await old.ping();
    proxy.refuse(true);
    await (await rawClient(proxy)).closed;
    expect(await old.ping()).toBe('PONG');
    proxy.refuse(false);
    using next = connectRedis(proxy.url('redis'));
    expect(await next.ping()).toBe('PONG');
  });

  it('drops replies to requests that are executed', async () => {
    await using proxy = await toRedis();
    const { socket, received } = await rawClient(proxy);
    proxy.dropReplies(true);
    socket.write('INCR n\r\n');
    await until(async () => (await direct.get('n')) === '1', { what: 'the INCR to be executed' });
    proxy.dropReplies(false);
    socket.write('ECHO after\r\n');
    await until(() => received().includes('after'), { what: 'the next reply' });
    expect(received()).toBe('$5\r\nafter\r\n');
    socket.destroy();
  });
});

describe('cutAfterRequest', () => {
  it('has the request executed exactly once and no byte of the reply delivered', async () => {
    await using proxy = await toRedis();
    for (let round = 1; round <= 100; round++) {
      const { socket, closed, received } = await rawClient(proxy);
      const happened = proxy.cutAfterRequest();
      socket.write('INCR n\r\n');
      await happened;
      await closed;
      expect(received()).toBe('');
      expect(await direct.get('n')).toBe(String(round));
    }
  });

  it('makes a client see a lost connection', async () => {
    await using proxy = await toRedis();
    using client = connectRedis(proxy.url('redis'));
    await client.ping();
    const happened = proxy.cutAfterRequest((chunk) => chunk.includes('incr'));
    expect(await client.echo('passes')).toBe('passes');
    await expect(client.incr('n')).rejects.toThrow();
    await happened;
    expect(await direct.get('n')).toBe('1');
  });

  it('waits for the chosen request although an earlier one is answered first', async () => {
    await using proxy = await toRedis();
    for (let round = 1; round <= 50; round++) {
      const { socket, closed, received } = await rawClient(proxy);
      const happened = proxy.cutAfterRequest((chunk) => chunk.includes('chosen'));
      socket.write('INCR earlier\r\n');
      setImmediate(() => socket.write('INCR chosen\r\n'));
      await happened;
      await closed;
      expect(await direct.mget('earlier', 'chosen')).toEqual([String(round), String(round)]);
      expect(['', `:${round}\r\n`]).toContain(received());
    }
  });

  it('lets a request of many chunks arrive whole', async () => {
    await using proxy = await toRedis();
    using client = connectRedis(proxy.url('redis'));
    await client.ping();
    const happened = proxy.cutAfterRequest((chunk) => chunk.includes('large'));
    await expect(client.append('large', 'x'.repeat(5_000_000))).rejects.toThrow();
    await happened;
    expect(await direct.strlen('large')).toBe(5_000_000);
  });

  it('has the request executed although the client gave up', async () => {
    await using proxy = await toRedis();
    const { socket } = await rawClient(proxy);
    await server.pause();
    const happened = proxy.cutAfterRequest();
    socket.write('INCR n\r\n', () => socket.end());
    await server.resume();
    await happened;
    expect(await direct.get('n')).toBe('1');
  });

  it('fails when the server goes before it answers, or the proxy is closed', async () => {
    await using doomed = await startRedis();
    const proxy = await startTcpProxy({ targetHost: doomed.host, targetPort: doomed.port });
    const { socket, closed } = await rawClient(proxy);
    const first = proxy.cutAfterRequest();
    socket.write('SHUTDOWN NOSAVE\r\n');
    await expect(first).rejects.toThrow('without an answer');
    await closed;
    const second = proxy.cutAfterRequest();
    await proxy.close();
    await expect(second).rejects.toThrow('closed before any request');
    await expect(proxy.cutAfterRequest()).rejects.toThrow('has been closed');
  });

  it('loses the reply of a committed statement of PostgreSQL', async () => {
    await using postgres = await startPostgres();
    await using proxy = await startTcpProxy({ targetHost: postgres.host, targetPort: postgres.port });
    const [through, beside] = [proxy.port, postgres.port].map((port) => {
      const url = new URL(postgres.url);
      url.port = String(port);
      return new pg.Client({ connectionString: url.href }).on('error', () => {});
    }) as [pg.Client, pg.Client];
    await Promise.all([through.connect(), beside.connect()]);
    await beside.query('CREATE TABLE effects (n int)');
    const happened = proxy.cutAfterRequest((chunk) => chunk.includes('INSERT'));
    await expect(through.query('INSERT INTO effects VALUES ($1)', [1])).rejects.toThrow();
    await happened;
    expect((await beside.query('SELECT count(*)::int AS n FROM effects')).rows).toEqual([{ n: 1 }]);
    await beside.end();
  });
});

describe('a TCP proxy before any server', () => {
  async function withServer(onConnection: (socket: Socket) => void, use: (proxy: TcpProxy) => Promise<void>) {
    const target = createServer({ allowHalfOpen: true }, onConnection).listen(0, '127.0.0.1');
    await once(target, 'listening');
    const { port } = target.address() as AddressInfo;
    const proxy = await startTcpProxy({ targetHost: '127.0.0.1', targetPort: port });
    await use(proxy);
    await proxy.close();
    target.close();
    await once(target, 'close');
  }

  it('carries more than its buffers hold, both ways, past a slow reader', async () => {
    const piece = randomBytes(1_000_000);
    const pieces = Array.from({ length: 64 }, () => piece);
    await withServer(
      (socket) => socket.pipe(socket),
      async (proxy) => {
        const client = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true });
        for (const each of pieces) client.write(each);
        client.end();
        // Nobody reads yet: every buffer on the way fills up and holds back the one before, to the client's own.
        const backlogs: number[] = [];
        const standsStill = () => {
          backlogs.unshift(client.writableLength);
          return backlogs[0] === backlogs[1];
        };
        await until(standsStill, { what: 'a standstill', intervalMs: 100 });
        expect(backlogs[0]).toBeGreaterThan(0);
        expect((await buffer(client)).equals(Buffer.concat(pieces))).toBe(true);
      },
    );
  });

  it('cuts after the chosen request is executed, not after the reply to an earlier one', async () => {
    let executed = false;
    await withServer(
      (socket) => {
        let asked = '';
        socket.on('data', async (chunk) => {
          asked += chunk;
          if (asked !== 'earlier, chosen') return;
          socket.write('reply to earlier');
          await delay(50); // What the server takes to execute the chosen one.
          executed = true;
          socket.end('reply to chosen');
        });
      },
      async (proxy) => {
        const { socket, closed, received } = await rawClient(proxy);
        const happened = proxy.cutAfterRequest((chunk) => chunk.includes('chosen'));
        socket.write('earlier, ');
        socket.write('chosen');
        await happened;
        expect(executed).toBe(true);
        await closed;
        expect(received()).toBe('');
      },
    );
  });

  it('passes on an end in one direction and keeps the other open', async () => {
    await withServer(
      (socket) => {
        let bytes = 0;
        socket.on('data', (chunk) => {
          bytes += chunk.length;
        });
        socket.on('end', () => socket.end(`got ${bytes} bytes and the end`));
      },
      async (proxy) => {
        const client = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true });
        client.end('request');
        expect((await buffer(client)).toString()).toBe('got 7 bytes and the end');
      },
    );
  });

  it('passes on a server that is not there', async () => {
    const proxy = await startTcpProxy({ targetHost: '127.0.0.1', targetPort: 1 });
    await (await rawClient(proxy)).closed;
    await Promise.all([proxy.close(), proxy.close()]);
  });
});
