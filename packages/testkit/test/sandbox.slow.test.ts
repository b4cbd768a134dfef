import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { withPostgres, withRedis } from '../src/clients.js';
import { leakCheck } from '../src/leak-check.js';
import { startRedis } from '../src/redis-server.js';
import { postgresSandbox, redisSandbox } from '../src/sandbox.js';

leakCheck();

beforeEach(() => {
  vi.stubEnv('MILLRACE_TEST_REDIS_URL', undefined);
  vi.stubEnv('MILLRACE_TEST_POSTGRES_URL', undefined);
});
afterEach(() => void vi.unstubAllEnvs());

const query = (url: string, sql: string) =>
  withPostgres(url, async (client) => (await client.query(sql)).rows);

describe('redisSandbox', () => {
  it('shares one private server and flushes its own keys only', async () => {
    const [a, b] = await Promise.all([redisSandbox(), redisSandbox()]);
    expect(a.url).toBe(b.url);
    await withRedis(a.url, async (redis) => {
      const keys = Array.from({ length: 2_500 }, (_, i) => `${a.namespace}:{tag}:${i}`);
      await redis.mset(Object.fromEntries(keys.map((key) => [key, '1'])));
      await redis.mset(`${b.namespace}:kept`, '1', `{${a.namespace}}:tagged`, '1', 'foreign', '1');
      await a.flush();
      expect((await redis.keys('*')).sort()).toEqual(['foreign', `${b.namespace}:kept`]);
    });
  });

  it('uses the server of the run and leaves it running and empty', async () => {
    await using server = await startRedis();
    vi.stubEnv('MILLRACE_TEST_REDIS_URL', server.url);
    const sandbox = await redisSandbox();
    expect(sandbox.url).toBe(server.url);
    await withRedis(server.url, (redis) => redis.set(`${sandbox.namespace}:a`, '1'));
    await sandbox[Symbol.asyncDispose]();
    expect(await withRedis(server.url, (redis) => redis.dbsize())).toBe(0);
  });
});

describe('postgresSandbox', () => {
  it('has its own database on one private server', async () => {
    const [a, b] = await Promise.all([postgresSandbox(), postgresSandbox()]);
    expect(new URL(a.url).host).toBe(new URL(b.url).host);
    await query(a.url, 'CREATE TABLE only_here (n int)');
    await expect(query(b.url, 'SELECT * FROM only_here')).rejects.toThrow('does not exist');
    await Promise.all([a.drop(), b.drop()]);
  });

  it('uses the server of the run and drops a database that is still in use', async () => {
    const run = await postgresSandbox();
    vi.stubEnv('MILLRACE_TEST_POSTGRES_URL', run.url);
    const sandbox = await postgresSandbox();
    const used = withPostgres(sandbox.url, async (client) => {
      await client.query('SELECT 1');
      await sandbox.drop();
    });
    await used.catch(() => {}); // Its connection is gone.
    await sandbox[Symbol.asyncDispose]();
    const names = `SELECT 1 FROM pg_database WHERE datname = '${sandbox.database}'`;
    expect(await query(run.url, names)).toEqual([]);
    await run.drop();
  });
});
