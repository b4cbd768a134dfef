import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { withRedis } from '../src/clients.js';
import { leakCheck } from '../src/leak-check.js';
import { type RedisServer, startRedis } from '../src/redis-server.js';
import { startTcpProxy, type TcpProxy } from '../src/tcp-proxy.js';
import { until } from '../src/until.js';

leakCheck();

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(() => withRedis(server.url, (redis) => redis.flushall()));

const stored = (key: string) => withRedis(server.url, (redis) => redis.get(key));
const toRedis = () => startTcpProxy({ targetHost: server.host, targetPort: server.port });

/** A bare connection that keeps every byte it receives. */
async function rawClient(proxy: TcpProxy) {
  const socket = connect({ port: proxy.port, host: '127.0.0.1', noDelay: true });
  const seen: Buffer[] = [];
  socket.on('data', (chunk) => seen.push(chunk));
  socket.on('error', () => {});
  const closed = once(socket, 'close').catch(() => {});
  await once(socket, 'connect');
  const received = () => Buffer.concat(seen).toString('latin1');
  const receives = (text: string) => until(() => received().includes(text), { what: text });
  return { socket, closed, received, receives };
}

describe('a TCP proxy before Redis', () => {
  it('holds everything back while paused, in old and new connections', async () => {
    await using proxy = await toRedis();
    const old = await rawClient(proxy);
    old.socket.write('PING\r\n');
    await old.receives('PONG');
    proxy.pause();
    const fresh = await rawClient(proxy);
    for (const { socket } of [old, fresh]) socket.write('INCR n\r\n');
    await until(() => proxy.connections === 2, { what: 'the new connection' });
    // A round trip past the proxy: Redis would have executed a forwarded command by now.
    expect(await stored('n')).toBeNull();
    proxy.resume();
    await Promise.all([old.receives(':'), fresh.receives(':')]);
    expect(await stored('n')).toBe('2');
  });

  it('cuts live connections, and refuses new ones while refuse is on', async () => {
    await using proxy = await toRedis();
    const first = await rawClient(proxy);
    await until(() => proxy.connections === 1, { what: 'the connection' });
    proxy.cut();
    await first.closed;
    await until(() => proxy.connections === 0, { what: 'the connection to be forgotten' });
    const old = await rawClient(proxy);
    old.socket.write('PING\r\n');
    await old.receives('PONG');
    proxy.refuse(true);
    await (await rawClient(proxy)).closed;
    old.socket.write('ECHO kept\r\n');
    await old.receives('kept');
    proxy.refuse(false);
    await withRedis(proxy.url('redis'), (redis) => redis.ping());
  });
});

// The lost-reply tests of @millrace/postgres cut PostgreSQL connections, and drop replies.
describe('cutAfterRequest', () => {
  it('lets the request be executed exactly once, and no byte of the reply arrive', async () => {
    await using proxy = await toRedis();
    for (let round = 1; round <= 100; round++) {
      const { socket, closed, received } = await rawClient(proxy);
      const happened = proxy.cutAfterRequest();
      socket.write('INCR n\r\n');
      await happened;
      await closed;
      expect(received()).toBe('');
    }
    expect(await stored('n')).toBe('100');
  });

  it('lets a request of many chunks arrive whole', async () => {
    await using proxy = await toRedis();
    await withRedis(proxy.url('redis'), async (redis) => {
      const happened = proxy.cutAfterRequest((chunk) => chunk.includes('large'));
      expect(await redis.echo('passes')).toBe('passes');
      await expect(redis.append('large', 'x'.repeat(5_000_000))).rejects.toThrow();
      await happened;
    });
    expect((await stored('large'))?.length).toBe(5_000_000);
  });

  it('lets the request be executed although the client gave up', async () => {
    await using proxy = await toRedis();
    const { socket } = await rawClient(proxy);
    await server.pause();
    const happened = proxy.cutAfterRequest();
    socket.write('INCR n\r\n', () => socket.end());
    await server.resume();
    await happened;
    expect(await stored('n')).toBe('1');
  });

  it('fails if the server ends before it answers, or the proxy is closed', async () => {
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
});

describe('a TCP proxy before any server', () => {
  async function proxyBefore(onConnection: (socket: Socket) => void): Promise<TcpProxy> {
    const target = createServer({ allowHalfOpen: true }, onConnection).listen(0, '127.0.0.1');
    await once(target, 'listening');
    target.unref();
    return startTcpProxy({ targetHost: '127.0.0.1', targetPort: (target.address() as AddressInfo).port });
  }

  it('carries more than its buffers hold past a slow reader, both ways, and the end of one way alone', async () => {
    await using proxy = await proxyBefore((socket) => socket.pipe(socket));
    const piece = randomBytes(1_000_000);
    const pieces = Array.from({ length: 64 }, () => piece);
    const client = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true });
    for (const each of pieces) client.write(each);
    client.end();
    // Nothing reads yet: the buffers fill up one after the other, the client's own last.
    const backlogs: number[] = [];
    const standsStill = () => {
      backlogs.unshift(client.writableLength);
      return backlogs[0] === backlogs[1];
    };
    await until(standsStill, { what: 'a standstill', intervalMs: 100 });
    expect(backlogs[0]).toBeGreaterThan(0);
    expect((await buffer(client)).equals(Buffer.concat(pieces))).toBe(true);
  });

  it('cuts after the chosen request is executed, not after the reply to an earlier one', async () => {
    let executed = false;
    await using proxy = await proxyBefore((socket) => {
      let requests = '';
      socket.on('data', async (chunk) => {
        requests += chunk;
        if (requests !== 'earlier, chosen') return;
        socket.write('reply to earlier');
        await delay(50); // The execution of the chosen one.
        executed = true;
        socket.end('reply to chosen');
      });
    });
    const { socket, closed, received } = await rawClient(proxy);
    const happened = proxy.cutAfterRequest((chunk) => chunk.includes('chosen'));
    socket.write('earlier, ');
    socket.write('chosen');
    await happened;
    expect(executed).toBe(true);
    await closed;
    expect(received()).toBe('');
  });

  it('closes a connection that the server refuses', async () => {
    const proxy = await startTcpProxy({ targetHost: '127.0.0.1', targetPort: 1 });
    await (await rawClient(proxy)).closed;
    await Promise.all([proxy.close(), proxy.close()]);
  });
});
