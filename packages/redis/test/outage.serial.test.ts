import { type RedisServer, startRedis, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keySpace, RedisConnection, type RedisConnectionOptions } from '../src/index.js';
import { countCall, failure } from './fixture-scripts.js';

leakCheck();

const key = keySpace('outage');
let server: RedisServer;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const LIMITS = { callTimeoutMs: 300, watchdogMs: 400, connectTimeoutMs: 300 };
const connect = (options: RedisConnectionOptions = {}) =>
  new RedisConnection({ url: server.url, ...LIMITS, ...options });

describe('a Redis that fails', () => {
  it('SCRIPT FLUSH and CLIENT KILL every 50 ms under load: no error, every operation counts once, waiters are woken', async () => {
    await using connection = connect({ callTimeoutMs: 2_000, pollMs: 30_000 });
    await using admin = connect();
    const end = performance.now() + 1_000;
    const faults = (async () => {
      for (let nextAt = performance.now(); performance.now() < end; nextAt += 50) {
        await admin.call('SCRIPT', ['FLUSH']);
        await admin.call('CLIENT', ['KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
        await until(() => performance.now() >= nextAt + 50, { what: 'the next fault' });
      }
    })();
    const wait = connection.markers.wait(key('kill'));
    const load = keySpace('load');
    let runs = 0;
    const loops = Array.from({ length: 8 }, async (_, loop) => {
      for (let n = 0; performance.now() < end; n++) {
        const calls = [0, 1].map((part) => countCall(load, `${loop}:${n}:${part}`));
        const outcomes = await connection.pipeline(calls);
        for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
        runs += calls.length;
      }
    });
    await Promise.all([faults, ...loops]);
    expect(Number(await connection.call('GET', [load('counter')]))).toBe(runs);
    expect(runs).toBeGreaterThan(100);
    expect(connection.generation).toBeGreaterThan(3);
    await connection.call('LPUSH', [key('kill'), '1']);
    expect(await wait).toBe('woken');
  });

  it('frozen: calls fail within their deadline and the client is replaced; resumed, the same object works', async () => {
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
    await until(async () => (await connection.call('PING')) === 'PONG', { what: 'a reply' });
  });

  it('frozen: stop ends at once, and every wait', async () => {
    const connection = connect();
    await connection.start();
    const wait = connection.markers.wait(key('stop'));
    await server.pause();
    const pending = failure(connection.call('PING', [], { timeoutMs: 60_000 }));
    const startedAt = performance.now();
    await connection.stop();
    expect(performance.now() - startedAt).toBeLessThan(200);
    expect(await wait).toBe('aborted');
    expect(await connection.markers.wait(key('stop'))).toBe('aborted');
    expect(await pending).toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    await server.resume();
  });

  it('OOM, READONLY and BUSY are REDIS_UNAVAILABLE, and calls work afterwards', async () => {
    await using connection = connect();
    const unavailable = (code: string) =>
      expect.objectContaining({ code: 'REDIS_UNAVAILABLE', details: expect.objectContaining({ code }) });
    const write = (operation: string) => connection.run(countCall(key, operation));
    await connection.call('CONFIG', ['SET', 'maxmemory', '1']);
    expect(await failure(write('oom'))).toEqual(unavailable('OOM'));
    await connection.call('CONFIG', ['SET', 'maxmemory', '0']);

    await connection.call('REPLICAOF', ['127.0.0.1', '1']);
    expect(await failure(write('readonly'))).toEqual(unavailable('READONLY'));
    await connection.call('REPLICAOF', ['NO', 'ONE']);

    await connection.call('CONFIG', ['SET', 'lua-time-limit', '1']);
    await using other = connect();
    await other.start();
    const endless = failure(connection.call('EVAL', ['while true do end', 0], { timeoutMs: 5_000 }));
    const isBusy = async () => unavailable('BUSY').asymmetricMatch(await failure(other.call('GET', ['x'])));
    await until(isBusy, { what: 'BUSY' });
    await other.call('SCRIPT', ['KILL']);
    expect(await endless).toMatchObject({ code: 'REDIS_SCRIPT_FAILED' });
    expect((await write('after')).counter).toBe(1);
  });
});
