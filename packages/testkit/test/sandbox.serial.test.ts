import { Redis } from 'ioredis';
import pg from 'pg';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { leakCheck } from '../src/leak-check.js';
import { startPostgres } from '../src/postgres-server.js';
import { startRedis } from '../src/redis-server.js';
import { postgresSandbox, redisSandbox } from '../src/sandbox.js';

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
  it('gives each its own database, made at the same time', async () => {
    withoutServersOfTheRun();
    const sandboxes = await Promise.all([postgresSandbox(), postgresSandbox(), postgresSandbox()]);
    const [a, b] = sandboxes;
    await query(a.url, 'CREATE TABLE only_here (n int)');
    await expect(query(b.url, 'SELECT * FROM only_here')).rejects.toThrow('does not exist');
    expect(await query(a.url, 'SELECT current_database() AS name')).toEqual([{ name: a.database }]);
    await Promise.all(sandboxes.map((sandbox) => sandbox.drop()));
    await expect(query(a.url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');
  });

  it('drops a database that somebody still uses, on the server of the run, which stays', async () => {
    await using server = await startPostgres();
    vi.stubEnv('MILLRACE_TEST_POSTGRES_URL', server.url);
    const sandbox = await postgresSandbox();
    expect(new URL(sandbox.url).port).toBe(String(server.port));
    const user = new pg.Client({ connectionString: sandbox.url });
    user.on('error', () => {});
    await user.connect();
    await Promise.all([sandbox.drop(), sandbox.drop()]);
    await sandbox[Symbol.asyncDispose]();
    await user.end().catch(() => {});
    const left = await query(server.url, `SELECT 1 FROM pg_database WHERE datname = '${sandbox.database}'`);
    expect(left).toEqual([]);
  });
});
