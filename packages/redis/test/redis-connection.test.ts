import { redisSandbox, startTcpProxy, type TcpProxy, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keySpace, loadScripts, RedisConnection } from '../src/index.js';
import { FIXTURE_SCRIPTS } from './fixture-scripts.js';

leakCheck();

const scripts = loadScripts(FIXTURE_SCRIPTS);
let sandbox: Awaited<ReturnType<typeof redisSandbox>>;
let proxy: TcpProxy;
let uses = 0;

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
const failure = (promise: Promise<unknown>) => promise.catch((thrown: unknown) => thrown);

function countOnce(operation: string) {
  const key = keySpace(sandbox.namespace, `client ${uses}`);
  return { keys: { counter: key('counter'), seen: key('seen') }, args: { operation, steps: [1] } };
}

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

  it('stopped before it was used, it never connects', async () => {
    const connection = throughProxy();
    const stopping = connection.stop();
    const early = failure(connection.call('PING'));
    await stopping;
    expect(await early).toMatchObject({ code: 'SERVICE_STOPPED' });
    expect(await failure(connection.call('PING'))).toMatchObject({ code: 'SERVICE_STOPPED' });
    expect(connection.generation).toBe(0);
  });

  it('an error reply is REDIS_REFUSED with the code of Redis', async () => {
    await using connection = throughProxy();
    const key = keySpace(sandbox.namespace)('text');
    await connection.call('SET', [key, 'x']);
    const error = await failure(connection.call('LPOP', [key]));
    expect(error).toMatchObject({ code: 'REDIS_REFUSED', retryable: false, details: { code: 'WRONGTYPE' } });
  });

  it('nobody listens: REDIS_UNAVAILABLE within the deadline, the reason kept', async () => {
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

  it('a reply that does not come: REDIS_UNAVAILABLE after the deadline of the call, and the connection goes on', async () => {
    await using connection = throughProxy();
    await connection.start();
    proxy.dropReplies(true);
    const error = await failure(connection.call('PING', [], { timeoutMs: 50 }));
    proxy.dropReplies(false);
    expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE', cause: { code: 'REDIS_TIMEOUT' } });
    proxy.cut();
    await until(async () => (await connection.call('PING')) === 'PONG', {
      what: 'the connection to be back',
    });
  });

  it('a connection that has gone silent is replaced by the watchdog', async () => {
    await using connection = throughProxy({ callTimeoutMs: 50, watchdogMs: 100, connectTimeoutMs: 200 });
    await connection.start();
    proxy.dropReplies(true);
    expect(await failure(connection.call('PING'))).toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    await until(() => connection.generation > 1, { what: 'the client to be replaced' });
    proxy.dropReplies(false);
    await until(async () => (await connection.call('PING')) === 'PONG', { what: 'the new client to answer' });
  });

  it('a script whose reply is lost is sent again and counts once; a command is not', async () => {
    uses++;
    await using connection = throughProxy();
    await connection.start();
    const lost = proxy.cutAfterRequest((chunk) => chunk.includes('evalsha') || chunk.includes('EVALSHA'));
    expect((await scripts.count.run(connection, countOnce('a'))).counter).toBe(1);
    await lost;
    const lostCommand = proxy.cutAfterRequest((chunk) => chunk.includes('PING'));
    expect(await failure(connection.call('PING'))).toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    await lostCommand;
    expect(connection.generation).toBeGreaterThanOrEqual(2);
  });

  it('so are the scripts of a pipeline', async () => {
    uses++;
    await using connection = throughProxy();
    await connection.start();
    const lost = proxy.cutAfterRequest((chunk) => chunk.includes('EVALSHA'));
    const calls = ['a', 'b', 'c'].map((operation) => scripts.count.call(countOnce(operation)));
    const outcomes = await connection.pipeline(calls);
    await lost;
    expect(outcomes.every(({ status }) => status === 'fulfilled')).toBe(true);
    expect((await scripts.count.run(connection, countOnce('a'))).counter).toBe(3);
  });

  it('uses the address of a given client and leaves the client alone', async () => {
    const given = new Redis(sandbox.url, { lazyConnect: true, protocol: 2 });
    await using connection = new RedisConnection({ client: given });
    expect(await connection.call('PING')).toBe('PONG');
    await connection.stop();
    expect(given.status).toBe('wait');
    given.disconnect();
  });

  it.each([
    ['two addresses', { url: 'redis://x', host: 'y' }, 'url'],
    ['a port beside a url', { url: 'redis://x', port: 7000 }, 'port'],
    ['a database of a Cluster', { nodes: [{ host: 'x', port: 7000 }], db: 3 }, 'db'],
    ['nodes without an address', { nodes: [{}] }, 'nodes'],
  ])('refuses what would do nothing: %s', (_, options, named) => {
    expect(() => new RedisConnection(options as never)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(named) }),
    );
  });

  it('refuses credentials beside a client, and unknown options', () => {
    const client = new Redis(sandbox.url, { lazyConnect: true });
    expect(() => new RedisConnection({ client, password: 'secret' })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining('password') }),
    );
    client.disconnect();
    expect(() => new RedisConnection({ callTimeout: 5 } as never)).toThrow(
      expect.objectContaining({ code: 'OPTION_UNKNOWN', message: expect.stringContaining('callTimeoutMs') }),
    );
  });
});
