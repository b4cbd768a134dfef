import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { leakCheck } from '../src/leak-check.js';
import { startRedis } from '../src/redis-server.js';
import { type PostgresSandbox, postgresSandbox, redisSandbox } from '../src/sandbox.js';

leakCheck();

afterEach(() => void vi.unstubAllEnvs());

function withoutServersOfTheRun(): void {
  vi.stubEnv('MILLRACE_TEST_REDIS_URL', undefined);
  vi.stubEnv('MILLRACE_TEST_POSTGRES_URL', undefined);
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

function connectRedis(url: string): Redis & Disposable {
  const redis = new Redis(url, { protocol: 2, maxRetriesPerRequest: 0, retryStrategy: () => null });
  redis.on('error', () => {});
  return Object.assign(redis, { [Symbol.dispose]: () => redis.disconnect() });
}

describe('redisSandbox', () => {
  it('shares one private server and keeps namespaces apart', async () => {
    withoutServersOfTheRun();
    await using a = await redisSandbox();
    await using b = await redisSandbox();
    expect(a.url).toBe(b.url);
    expect(a.namespace).not.toBe(b.namespace);
    using redis = connectRedis(a.url);
    const keys = Array.from({ length: 2_500 }, (_, i) => `${a.namespace}:{tag}:${i}`);
    await redis.mset(Object.fromEntries(keys.map((key) => [key, '1'])));
    await redis.mset(`${b.namespace}:kept`, '1', `{${a.namespace}}:tagged`, '1', 'foreign', '1');

    await a.flush();
    expect((await redis.keys('*')).sort()).toEqual(['foreign', `${b.namespace}:kept`]);
  });

  it('stops the private server with the last sandbox', async () => {
    withoutServersOfTheRun();
    const sandbox = await redisSandbox();
    await sandbox[Symbol.asyncDispose]();
    using redis = connectRedis(sandbox.url);
    await expect(redis.ping()).rejects.toThrow();
  });

  it('uses the server of the run when there is one, and leaves it running', async () => {
    await using server = await startRedis();
    vi.stubEnv('MILLRACE_TEST_REDIS_URL', server.url);
    const sandbox = await redisSandbox();
    expect(sandbox.url).toBe(server.url);
    using redis = connectRedis(sandbox.url);
    await redis.set(`${sandbox.namespace}:a`, '1');
    await sandbox[Symbol.asyncDispose]();
    expect(await redis.dbsize()).toBe(0);
  });
});

describe('postgresSandbox', () => {
  let a: PostgresSandbox;
  let b: PostgresSandbox;
  beforeAll(async () => {
    withoutServersOfTheRun();
    [a, b] = await Promise.all([postgresSandbox(), postgresSandbox()]);
  });
  afterAll(() => Promise.all([a.drop(), b.drop()]));

  it('gives each its own database on one private server, made at the same time', async () => {
    expect(new URL(a.url).host).toBe(new URL(b.url).host);
    await query(a.url, 'CREATE TABLE only_here (n int)');
    await expect(query(b.url, 'SELECT * FROM only_here')).rejects.toThrow('does not exist');
    expect(await query(a.url, 'SELECT current_database() AS name')).toEqual([{ name: a.database }]);
  });

  it('uses the server of the run, drops a database that somebody still uses, and leaves the server', async () => {
    vi.stubEnv('MILLRACE_TEST_POSTGRES_URL', a.url);
    const sandbox = await postgresSandbox();
    const user = new pg.Client({ connectionString: sandbox.url });
    user.on('error', () => {});
    await user.connect();
    await Promise.all([sandbox.drop(), sandbox.drop()]);
    await sandbox[Symbol.asyncDispose]();
    await user.end().catch(() => {});
    const left = await query(a.url, `SELECT 1 FROM pg_database WHERE datname = '${sandbox.database}'`);
    expect(left).toEqual([]);
  });

  it('stops the private server with the last sandbox', async () => {
    await a.drop();
    expect(await query(b.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await b.drop();
    await expect(query(b.url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');
  });
});
