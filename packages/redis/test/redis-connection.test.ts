import { redisSandbox, startTcpProxy, type TcpProxy, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keySpace, RedisConnection } from '../src/index.js';
import { countCall, failure, fixtures } from './fixture-scripts.js';

leakCheck();

let sandbox: Awaited<ReturnType<typeof redisSandbox>>;
let proxy: TcpProxy;

beforeAll(async () => {
  sandbox = await redisSandbox();
  const { hostname, port } = new URL(sandbox.url);
  proxy = await startTcpProxy({ targetHost: hostname, targetPort: Number(port) });
});
afterAll(async () => {
  await proxy.close();
  await sandbox[Symbol.asyncDispose]();
});

const throughProxy = (options = {}) => new RedisConnection({ url: proxy.url('redis'), ...options });

describe('RedisConnection', () => {
  it('connects with the first call; start and stop are idempotent', async () => {
    const connection = throughProxy();
    expect(connection.state).toBe('IDLE');
    expect(await connection.call('PING')).toBe('PONG');
    expect(connection.state).toBe('RUNNING');
    await Promise.all([connection.start(), connection.start()]);
    await Promise.all([connection.stop(), connection.stop()]);
    expect(await failure(connection.call('PING'))).toMatchObject({ code: 'SERVICE_STOPPED' });
    expect(await failure(connection.start())).toMatchObject({ code: 'SERVICE_STOPPED' });
  });

  it('never connects if stopped before its first use', async () => {
    const connection = throughProxy();
    const stopping = connection.stop();
    expect(await failure(connection.call('PING'))).toMatchObject({ code: 'SERVICE_STOPPED' });
    await stopping;
    expect(connection.generation).toBe(0);
  });

  it('fails with REDIS_REFUSED and the code of Redis after an error reply', async () => {
    await using connection = throughProxy();
    const key = keySpace(sandbox.namespace)('text');
    await connection.call('SET', [key, 'x']);
    const error = await failure(connection.call('LPOP', [key]));
    expect(error).toMatchObject({ code: 'REDIS_REFUSED', retryable: false, details: { code: 'WRONGTYPE' } });
  });

  it('fails with REDIS_UNAVAILABLE and the cause within the deadline if nothing listens', async () => {
    await using connection = new RedisConnection({ host: '127.0.0.1', port: 1, callTimeoutMs: 150 });
    const startedAt = performance.now();
    const error = await failure(connection.call('PING'));
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(error).toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      status: 503,
      retryable: true,
      details: { code: 'REDIS_TIMEOUT' },
      cause: { code: 'REDIS_TIMEOUT', cause: { code: 'ECONNREFUSED' } },
    });
    expect(await failure(connection.start())).toMatchObject({ code: 'REDIS_UNAVAILABLE' });
  });

  it('fails a call without a reply at its deadline; the watchdog replaces the silent client', async () => {
    await using connection = throughProxy({ watchdogMs: 100, connectTimeoutMs: 500 });
    await connection.start();
    proxy.dropReplies(true);
    const error = await failure(connection.call('PING', [], { timeoutMs: 50 }));
    expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE', cause: { code: 'REDIS_TIMEOUT' } });
    await until(() => connection.generation > 1, { what: 'the client to be replaced' });
    proxy.dropReplies(false);
    await until(async () => (await connection.call('PING')) === 'PONG', { what: 'the new client to reply' });
  });

  it('returns the decoded reply of a script, with the time of Redis', async () => {
    await using connection = throughProxy();
    const key = keySpace(sandbox.namespace, 'decoded');
    const reply = await fixtures.count.run(connection, {
      keys: { counter: key('counter'), seen: key('seen') },
      args: { operation: 'a', steps: [1, '2', 3] },
    });
    expect(reply.counter).toBe(6);
    expect(Math.abs(reply.now - Date.now())).toBeLessThan(60_000);
    expect(await connection.pipeline([])).toEqual([]);
  });

  it('runs scripts after SCRIPT FLUSH, with an outcome of its own for each call of a pipeline', async () => {
    await using connection = throughProxy();
    const key = keySpace(sandbox.namespace, 'flushed');
    await connection.run(countCall(key, 'a'));
    await connection.call('SCRIPT', ['FLUSH']);
    expect((await connection.run(countCall(key, 'b'))).counter).toBe(2);
    await connection.call('SCRIPT', ['FLUSH']);
    const refuse = fixtures.refuse.call({ keys: {}, args: {} });
    const outcomes = await connection.pipeline([countCall(key, 'c'), refuse, countCall(key, 'd')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: { code: 'REDIS_REFUSED' } });
    expect((await connection.run(countCall(key, 'd'))).counter).toBe(4);
  });

  it('fails with REDIS_SCRIPT_FAILED if a script throws', async () => {
    await using connection = throughProxy();
    const error = await failure(connection.call('EVAL', ["return redis.call('GET', nil)", 0]));
    expect(error).toMatchObject({ code: 'REDIS_SCRIPT_FAILED', retryable: false, cause: expect.any(Error) });
  });

  it('repeats scripts whose reply is lost, which count once, but no commands', async () => {
    await using connection = throughProxy();
    await connection.start();
    const key = keySpace(sandbox.namespace, 'lost replies');
    const cutAfter = (command: string) => proxy.cutAfterRequest((chunk) => chunk.includes(command));
    const lost = cutAfter('EVALSHA');
    expect((await connection.run(countCall(key, 'a'))).counter).toBe(1);
    await lost;
    const lostPipeline = cutAfter('EVALSHA');
    const outcomes = await connection.pipeline(['a', 'b', 'c'].map((operation) => countCall(key, operation)));
    await lostPipeline;
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
    expect((await connection.run(countCall(key, 'a'))).counter).toBe(3);
    const lostCommand = cutAfter('PING');
    expect(await failure(connection.call('PING'))).toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    await lostCommand;
    expect(connection.generation).toBeGreaterThanOrEqual(3);
  });

  it('uses the address of a given client and leaves the client alone', async () => {
    const given = new Redis(sandbox.url, { lazyConnect: true, protocol: 2 });
    await using connection = new RedisConnection({ client: given });
    expect(await connection.call('PING')).toBe('PONG');
    await connection.stop();
    expect(given.status).toBe('wait');
    given.disconnect();
  });

  const client = { duplicate() {}, call() {} };
  it.each([
    ['two addresses', { url: 'redis://x', host: 'y' }, 'url'],
    ['a port beside a url', { url: 'redis://x', port: 7000 }, 'port'],
    ['a database of a Cluster', { nodes: [{ host: 'x', port: 7000 }], db: 3 }, 'db'],
    ['nodes without an address', { nodes: [{}] }, 'nodes'],
    ['credentials beside a client', { client, password: 'secret' }, 'password'],
  ])('rejects options without effect: %s', (_, options, named) => {
    expect(() => new RedisConnection(options as never)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(named) }),
    );
  });
});
