import { type RedisServer, startRedis, startTcpProxy, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keySpace, loadScripts, RedisConnection, type RedisConnectionOptions } from '../src/index.js';
import { FIXTURE_SCRIPTS } from './fixture-scripts.js';

leakCheck();

const scripts = loadScripts(FIXTURE_SCRIPTS);
const key = keySpace('outage');
let server: RedisServer;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const connect = (options: RedisConnectionOptions = {}) =>
  new RedisConnection({
    url: server.url,
    callTimeoutMs: 300,
    watchdogMs: 400,
    connectTimeoutMs: 300,
    ...options,
  });
const failure = (promise: Promise<unknown>) => promise.catch((thrown: unknown) => thrown);
const answers = (connection: RedisConnection) =>
  until(async () => (await connection.call('PING')) === 'PONG', { what: 'an answer' });

/** Runs scripts one after the other in several loops while `fault` happens again and again. */
async function underLoad(
  connection: RedisConnection,
  name: string,
  fault: () => Promise<unknown>,
): Promise<number> {
  const keys = { counter: key(name, 'counter'), seen: key(name, 'seen') };
  const end = performance.now() + 700;
  let runs = 0;
  const faults = (async () => {
    for (let nextAt = performance.now(); performance.now() < end; nextAt += 50) {
      await fault();
      await until(() => performance.now() >= nextAt + 50, { what: 'the next fault' });
    }
  })();
  const loops = Array.from({ length: 8 }, async (_, loop) => {
    for (let n = 0; performance.now() < end; n++) {
      const calls = [0, 1].map((part) =>
        scripts.count.call({ keys, args: { operation: `${loop}:${n}:${part}`, steps: [1] } }),
      );
      const outcomes =
        n % 2 ? await connection.pipeline(calls) : await Promise.all(calls.map((c) => connection.run(c)));
      for (const outcome of outcomes) if ('reason' in outcome) throw outcome.reason;
      runs += calls.length;
    }
  });
  await Promise.all([faults, ...loops]);
  expect(Number(await connection.call('GET', [keys.counter]))).toBe(runs);
  return runs;
}

describe('a Redis that fails', () => {
  it('SCRIPT FLUSH every 50 ms under load: no error, every operation counts once', async () => {
    await using connection = connect();
    expect(await underLoad(connection, 'flush', () => connection.call('SCRIPT', ['FLUSH']))).toBeGreaterThan(
      100,
    );
  });

  it('CLIENT KILL of all connections every 50 ms under load: no error, every operation counts once', async () => {
    await using connection = connect({ callTimeoutMs: 2_000 });
    await using killer = connect();
    const kill = () => killer.call('CLIENT', ['KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
    expect(await underLoad(connection, 'kill', kill)).toBeGreaterThan(100);
    expect(connection.generation).toBeGreaterThan(3);
  });

  it('frozen: calls fail within their deadline; thawed, the same connection object works', async () => {
    await using connection = connect();
    await connection.start();
    const waiting = connection.markers.wait(key('frozen'), { timeoutMs: 100 });
    await server.pause();
    const startedAt = performance.now();
    expect(await failure(connection.call('PING'))).toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(await waiting).toBe('timeout');
    await until(() => connection.generation > 1, { what: 'the watchdog to replace the client' });
    await server.resume();
    await answers(connection);
  });

  it('frozen for good: stop ends at once', async () => {
    const connection = connect();
    await connection.start();
    const wait = connection.markers.wait(key('stop'));
    const call = failure(connection.call('PING', [], { timeoutMs: 60_000 }));
    await server.pause();
    const pending = failure(connection.call('PING', [], { timeoutMs: 60_000 }));
    const startedAt = performance.now();
    await connection.stop();
    expect(performance.now() - startedAt).toBeLessThan(200);
    expect(await wait).toBe('aborted');
    await call;
    expect(await pending).toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    await server.resume();
  });

  it('restarted: calls work again, waiters are woken again', async () => {
    await using connection = connect({ pollMs: 30_000, reconnectMaxMs: 50 });
    await connection.start();
    const wait = connection.markers.wait(key('restart'));
    await server.restart();
    await answers(connection);
    await connection.call('LPUSH', [key('restart'), '1']);
    expect(await wait).toBe('woken');
  });

  it('a network that swallows everything: a new connection is made as soon as there is one', async () => {
    await using proxy = await startTcpProxy({ targetHost: server.host, targetPort: server.port });
    await using connection = connect({ url: proxy.url('redis') });
    await connection.start();
    proxy.pause();
    expect(await failure(connection.call('PING'))).toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    await until(() => connection.generation > 1, { what: 'a new client' });
    proxy.resume();
    await answers(connection);
  });

  it('maps OOM, READONLY and BUSY to REDIS_UNAVAILABLE, and goes on afterwards', async () => {
    await using connection = connect();
    const write = (operation: string) =>
      scripts.count.run(connection, {
        keys: { counter: key('full', 'counter'), seen: key('full', 'seen') },
        args: { operation, steps: [1] },
      });
    await connection.call('CONFIG', ['SET', 'maxmemory', '1']);
    expect(await failure(write('oom'))).toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      details: { code: 'OOM' },
    });
    await connection.call('CONFIG', ['SET', 'maxmemory', '0']);

    await connection.call('REPLICAOF', ['127.0.0.1', '1']);
    const readonly = await failure(write('readonly'));
    expect(readonly).toMatchObject({ code: 'REDIS_UNAVAILABLE', details: { code: 'READONLY' } });
    await connection.call('REPLICAOF', ['NO', 'ONE']);

    await connection.call('CONFIG', ['SET', 'lua-time-limit', '1']);
    await using other = connect();
    await other.start();
    const endless = failure(connection.call('EVAL', ['while true do end', 0], { timeoutMs: 5_000 }));
    const busy = async () =>
      ((await failure(other.call('GET', ['x']))) as { details?: { code?: string } }).details?.code;
    await until(async () => (await busy()) === 'BUSY', { what: 'BUSY' });
    await other.call('SCRIPT', ['KILL']);
    expect(await endless).toMatchObject({ code: 'REDIS_SCRIPT_FAILED' });
    expect((await write('after')).counter).toBe(1);
  });
});
