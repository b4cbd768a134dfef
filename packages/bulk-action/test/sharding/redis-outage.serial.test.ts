import { RedisConnection } from '@millrace/redis';
import { latch, type RedisServer, startRedis, startTcpProxy, type TcpProxy, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BulkActionEngine } from '../../src/engine.js';
import { resolveBulkActionConfig } from '../../src/options.js';
import { defineProcessor } from '../../src/processor.js';
import { RedisStore } from '../../src/redis/index.js';
import { shardConfig } from '../../src/rules/shard-config.js';
import { ShardedStore } from '../../src/sharding/store.js';
import { numbers } from '../store-contract/tools.js';
import { nameIn } from './names-of-shards.js';
import { SHARDS } from './open-sharded.js';

const BROKEN = 1;
const JOBS = 40;
const WORKERS = 6;
const ACK_TIMEOUT_MS = 1500;

interface Running {
  readonly groupId: string;
  readonly signal: AbortSignal;
}
const groupOf = (shard: number, name: string): string => `${nameIn(shard)}/${name}`;

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** An engine whose shards have networks of their own, as on the nodes of a cluster. */
async function openEngine(keyPrefix: string, run: (running: Running) => unknown = () => undefined) {
  const config = {
    shards: SHARDS,
    workerPool: { workerCount: WORKERS, workerTimeoutSec: 0.2 },
    reliableQueue: { ackTimeoutMs: ACK_TIMEOUT_MS },
  };
  const resolved = resolveBulkActionConfig(config);
  const proxies: TcpProxy[] = [];
  const connections: RedisConnection[] = [];
  const stores = [];
  for (const shard of numbers(SHARDS)) {
    const proxy = await startTcpProxy({ targetHost: server.host, targetPort: server.port });
    const connection = new RedisConnection({ url: proxy.url('redis'), callTimeoutMs: 300 });
    proxies.push(proxy);
    connections.push(connection);
    stores.push(
      new RedisStore(shardConfig(resolved, shard), {
        connection,
        keyPrefix,
        shard,
        shards: SHARDS,
      }),
    );
  }
  const ran: string[] = [];
  const processors = [
    defineProcessor({
      type: 'work',
      async process({ groupId, id }, { signal }) {
        ran.push(`${groupId} ${id}`);
        await run({ groupId, signal });
      },
    }),
  ];
  const engine = new BulkActionEngine({ store: new ShardedStore(resolved, stores), config, processors });
  await engine.start();
  return {
    engine,
    ran,
    broken: proxies[BROKEN] as TcpProxy,
    async close() {
      await engine.stop();
      for (const connection of connections) await connection.stop();
      for (const proxy of proxies) await proxy.close();
    },
  };
}

const isDone = async (engine: BulkActionEngine, groupId: string): Promise<boolean> =>
  (await engine.service.getProgress(groupId)).status === 'COMPLETED';

describe('bulk-action BA-18: one of three shards on Redis is unreachable', () => {
  it('bulk-action BA-18: the jobs of the others run; when it is back, so do its own, each once', async () => {
    const { engine, ran, broken, close } = await openEngine('outage:');
    const jobs = numbers(JOBS).map((n) => ({ id: `j${n}`, processorType: 'work' }));
    await engine.service.submitBulk({ id: groupOf(BROKEN, 'first') }, jobs);
    await until(() => isDone(engine, groupOf(BROKEN, 'first')), { what: 'all shards to work' });

    broken.refuse(true);
    broken.cut();
    await expect(engine.service.getProgress(groupOf(BROKEN, 'first'))).rejects.toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
    });
    const healthy = numbers(SHARDS).filter((shard) => shard !== BROKEN);
    for (const shard of healthy) await engine.service.submitBulk({ id: groupOf(shard, 'meanwhile') }, jobs);
    for (const shard of healthy) {
      const what = `shard ${shard} to work without the other one`;
      await until(() => isDone(engine, groupOf(shard, 'meanwhile')), { what });
    }

    broken.refuse(false);
    const submitted = () =>
      engine.service.submitBulk({ id: groupOf(BROKEN, 'after') }, jobs).then(
        () => true,
        () => false,
      );
    await until(submitted, { what: 'the shard to be back' });
    await until(() => isDone(engine, groupOf(BROKEN, 'after')), { what: 'the shard to work again' });
    await close();
    expect(ran).toHaveLength(4 * JOBS);
    expect(new Set(ran).size).toBe(4 * JOBS);
  }, 60_000);

  it('bulk-action BA-18: workers whose results it does not take go on with the jobs of the others', async () => {
    const gate = latch('jobs may end');
    const { engine, ran, broken, close } = await openEngine('held:', () => gate.promise);
    const jobs = (count: number) => numbers(count).map((n) => ({ id: `j${n}`, processorType: 'work' }));
    // Every worker runs a job of the shard that is about to go.
    await engine.service.submitBulk({ id: groupOf(BROKEN, 'first') }, jobs(WORKERS));
    await until(() => ran.length === WORKERS, { what: 'all workers to be busy' });
    broken.refuse(true);
    broken.cut();
    gate.open();
    await engine.service.submitBulk({ id: groupOf(0, 'meanwhile') }, jobs(JOBS));
    await until(() => isDone(engine, groupOf(0, 'meanwhile')), { what: 'the workers to go on' });
    broken.refuse(false);
    await until(() => isDone(engine, groupOf(BROKEN, 'first')).catch(() => false), {
      what: 'the results to be taken',
    });
    await close();
    expect(ran).toHaveLength(WORKERS + JOBS);
  }, 60_000);

  it('bulk-action BA-15: leases of the others are renewed, those of its own are lost', async () => {
    const gate = latch('jobs may end');
    const signals = new Map<string, AbortSignal>();
    const { engine, broken, close } = await openEngine('leases:', ({ groupId, signal }) => {
      signals.set(groupId, signal);
      return gate.promise;
    });
    const [own, other] = [groupOf(BROKEN, 'own'), groupOf(0, 'other')];
    for (const id of [own, other]) await engine.service.submitBulk({ id }, [{ processorType: 'work' }]);
    await until(() => signals.size === 2, { what: 'both jobs to run' });
    broken.refuse(true);
    broken.cut();
    await until(() => signals.get(own)?.aborted, { what: 'the lease to be lost', deadlineMs: 20_000 });
    expect(signals.get(other)?.aborted).toBe(false);
    gate.open();
    await until(() => isDone(engine, other), { what: 'the other job to end' });
    broken.refuse(false);
    await close();
  }, 60_000);
});

describe('bulk-action BA-18: the number of shards on Redis', () => {
  const open = async (keyPrefix: string, shards: number) => {
    const { openRedisStore } = await import('../../src/redis/index.js');
    return openRedisStore(resolveBulkActionConfig({ shards }), { url: server.url, keyPrefix });
  };

  it.each([
    [3, 2],
    [3, 1],
    [1, 3],
    [2, 3],
  ])('bulk-action BA-18: data of %i shards is refused to an engine of %i', async (before, now) => {
    const keyPrefix = `number${before}${now}:`;
    const first = await open(keyPrefix, before);
    await first.start();
    await first.stop();
    const second = await open(keyPrefix, now);
    await expect(second.start()).rejects.toMatchObject({
      code: 'SHARDS_DIFFER',
      message: expect.stringContaining(`set shards to ${before}`),
    });
    await second.stop();
    const third = await open(keyPrefix, before);
    await third.start();
    await third.stop();
  });

  it('bulk-action BA-18: data from before there were shards is that of one', async () => {
    const connection = new RedisConnection({ url: server.url });
    await connection.call('HSET', ['older:{0}:meta', 'layout', '1']);
    await connection.stop();
    const store = await open('older:', 3);
    await expect(store.start()).rejects.toMatchObject({ code: 'SHARDS_DIFFER' });
    await store.stop();
    const one = await open('older:', 1);
    await one.start();
    await one.stop();
  });
});
