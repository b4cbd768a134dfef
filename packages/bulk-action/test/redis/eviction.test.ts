import { RedisConnection } from '@millrace/redis';
import { type RedisServer, startRedis } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BulkActionEngine, resolveBulkActionConfig } from '../../src/index.js';
import { RedisStore } from '../../src/redis/store.js';

let server: RedisServer;
let connection: RedisConnection;

beforeAll(async () => {
  server = await startRedis();
  connection = new RedisConnection({ url: server.url });
});
afterAll(async () => {
  await connection.stop();
  await server.stop();
});

const newStore = () => new RedisStore(resolveBulkActionConfig(), { connection });

describe('bulk-action BA-11: a Redis that may delete keys', () => {
  it.each(['allkeys-lru', 'volatile-ttl'])('%s is refused at the start, with what to do', async (policy) => {
    await connection.call('CONFIG', ['SET', 'maxmemory-policy', policy]);
    await expect(connection.requireNoEviction()).rejects.toMatchObject({ code: 'REDIS_MAY_EVICT' });
    const failure = await newStore()
      .start()
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'REDIS_MAY_EVICT', retryable: false, details: { policy } });
    expect(String(failure)).toContain('CONFIG SET maxmemory-policy noeviction');
    await expect(new BulkActionEngine({ store: newStore() }).start()).rejects.toMatchObject({
      code: 'REDIS_MAY_EVICT',
    });
    expect(await connection.call('DBSIZE'), 'nothing was written').toBe(0);
  });

  it('noeviction is taken', async () => {
    await connection.call('CONFIG', ['SET', 'maxmemory-policy', 'noeviction']);
    await connection.requireNoEviction();
    await newStore().start();
    expect(await connection.call('DBSIZE')).toBe(1);
  });

  it('one that does not answer is "try again", as for every call', async () => {
    await using nobody = new RedisConnection({ host: '127.0.0.1', port: 1, callTimeoutMs: 50 });
    await expect(nobody.requireNoEviction()).rejects.toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      retryable: true,
    });
    const store = new RedisStore(resolveBulkActionConfig(), { connection: nobody });
    await expect(store.start()).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE', retryable: true });
  });
});
