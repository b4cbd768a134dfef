import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { withPostgres, withRedis } from '../src/clients.js';
import { leakCheck } from '../src/leak-check.js';
import { startRedis } from '../src/redis-server.js';
import { postgresSandbox, redisSandbox } from '../src/sandbox.js';

leakCheck();

beforeAll(() => void vi.stubEnv('MILLRACE_TEST_POSTGRES_URL', undefined));
afterAll(() => void vi.unstubAllEnvs());

const query = (url: string, sql: string) =>
  withPostgres(url, async (client) => (await client.query(sql)).rows);

it('sandboxes on Redis use the server of the run, and each removes its own keys only', async () => {
  await using server = await startRedis();
  vi.stubEnv('MILLRACE_TEST_REDIS_URL', server.url);
  const [a, b] = await Promise.all([redisSandbox(), redisSandbox()]);
  expect([a.url, b.url]).toEqual([server.url, server.url]);
  await withRedis(a.url, async (redis) => {
    const keys = Array.from({ length: 2_500 }, (_, i) => `${a.namespace}:{tag}:${i}`);
    await redis.mset(Object.fromEntries(keys.map((key) => [key, '1'])));
    await redis.mset(`${b.namespace}:kept`, '1', `{${a.namespace}}:tagged`, '1', 'foreign', '1');
    await a[Symbol.asyncDispose]();
    expect((await redis.keys('*')).sort()).toEqual(['foreign', `${b.namespace}:kept`]);
  });
});

it('sandboxes on PostgreSQL share one private server, and each drops its own database, also in use', async () => {
  const [a, b] = await Promise.all([postgresSandbox(), postgresSandbox()]);
  expect(new URL(a.url).host).toBe(new URL(b.url).host);
  await query(a.url, 'CREATE TABLE only_here (n int)');
  await expect(query(b.url, 'SELECT * FROM only_here')).rejects.toThrow('does not exist');
  const used = withPostgres(a.url, async (client) => {
    await client.query('SELECT 1');
    await a.drop();
  });
  await used.catch(() => {}); // Its connection is gone.
  const names = `SELECT 1 FROM pg_database WHERE datname = '${a.database}'`;
  expect(await query(b.url, names)).toEqual([]);
  await Promise.all([a.drop(), b.drop()]);
});
