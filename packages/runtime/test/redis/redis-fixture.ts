import { RedisConnection, type RedisConnectionOptions } from '@millrace/redis';
import { type RedisSandbox, redisSandbox } from '@millrace/testkit';
import { afterAll, beforeAll } from 'vitest';
import type { RedisQueueConfig } from '../../src/redis/options.js';
import { RedisQueue } from '../../src/redis/queue.js';
import { type QueueScripts, QueueStore } from '../../src/redis/store.js';

/** A sandbox for one test file, and what its tests build on it; everything is stopped after the file. */
export function redisFixture() {
  let sandbox: RedisSandbox;
  const open: { stop(): Promise<void> }[] = [];
  let uses = 0;
  beforeAll(async () => {
    sandbox = await redisSandbox();
  });
  afterAll(async () => {
    await Promise.all(open.map((each) => each.stop()));
    await sandbox[Symbol.asyncDispose]();
  });
  const kept = <S extends { stop(): Promise<void> }>(each: S): S => {
    open.push(each);
    return each;
  };
  const fixture = {
    get url() {
      return sandbox.url;
    },
    get keyPrefix() {
      return sandbox.namespace;
    },
    newName: () => `queue ${++uses}`,
    connect: (options: RedisConnectionOptions = {}) =>
      kept(new RedisConnection({ url: sandbox.url, ...options })),
    /** A queue with a connection of its own, as another process would have. */
    queue: <T>(config: RedisQueueConfig) =>
      kept(new RedisQueue<T>({ keyPrefix: sandbox.namespace, redis: { url: sandbox.url }, ...config })),
    store: (connection: RedisConnection, name: string, options = {}, scripts?: QueueScripts) =>
      new QueueStore(
        connection,
        {
          keyPrefix: sandbox.namespace,
          name,
          maxSize: 0,
          takeLeaseMs: 5_000,
          clientId: `c${++uses}`,
          ...options,
        },
        scripts,
      ),
  };
  return fixture;
}

export const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.catch((thrown: unknown) => thrown);
