import { RedisConnection, type RedisConnectionOptions } from '@millrace/redis';
import { type RedisServer, startRedis, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisQueue } from '../../src/redis/queue.js';

leakCheck();

let server: RedisServer;
let admin: RedisConnection;
let uses = 0;

beforeAll(async () => {
  // Every acknowledged write is on the disk: what a restart loses would be our fault.
  server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  admin = new RedisConnection({ url: server.url });
});
afterAll(async () => {
  await admin.stop();
  await server.stop();
});

interface Tally {
  readonly acknowledged: string[];
  /** Failed without an answer: in the queue or not. */
  readonly unknown: string[];
  readonly received: string[];
  readonly failures: unknown[];
}

const PRODUCERS = 4;
const CONSUMERS = 4;

/** Two clients put and get through two bounded queues of one name while `fault` happens, then everything is drained. */
async function underFault(fault: () => Promise<void>, redis: RedisConnectionOptions = {}): Promise<Tally> {
  const name = `outage ${++uses}`;
  const options = {
    callTimeoutMs: 300,
    connectTimeoutMs: 300,
    watchdogMs: 400,
    reconnectMaxMs: 50,
    ...redis,
  };
  const clients = [1, 2].map(
    () =>
      new RedisQueue<string>({
        name,
        maxSize: 20,
        takeLeaseMs: 1_000,
        redis: { url: server.url, ...options },
      }),
  );
  const client = (n: number) => clients[n % clients.length] as RedisQueue<string>;
  const tally: Tally = { acknowledged: [], unknown: [], received: [], failures: [] };
  let producing = true;
  const producers = Array.from({ length: PRODUCERS }, async (_, producer) => {
    for (let n = 0; producing; n++) {
      const payload = `${producer}:${n}`;
      try {
        await client(producer).put(payload, { timeoutMs: 5_000 });
        tally.acknowledged.push(payload);
      } catch (error) {
        tally.failures.push(error);
        tally.unknown.push(payload);
      }
    }
  });
  const consumers = Array.from({ length: CONSUMERS }, async (_, consumer) => {
    for await (const { payload } of client(consumer >> 1)) tally.received.push(payload);
  });
  await until(() => tally.received.length > 50, { what: 'work before the fault' });
  await fault();
  const { length } = tally.received;
  await until(() => tally.received.length > length + 50, { what: 'work after the fault' });
  producing = false;
  await Promise.all(producers);
  await until(
    () =>
      clients[0]?.close().then(
        () => true,
        () => false,
      ),
    { what: 'the queue to close' },
  );
  await Promise.all(consumers);
  await Promise.all(clients.map((each) => each.stop()));
  return tally;
}

function nothingLostNothingDoubled({ acknowledged, unknown, received }: Tally): void {
  const got = new Set(received);
  expect(received.length - got.size, 'doubled').toBe(0);
  expect(
    acknowledged.filter((payload) => !got.has(payload)),
    'lost',
  ).toEqual([]);
  const known = new Set([...acknowledged, ...unknown]);
  expect(received.filter((payload) => !known.has(payload))).toEqual([]);
}

/** Does it again and again for a while, every 50 ms. */
async function repeatedly(totalMs: number, act: () => Promise<unknown>): Promise<void> {
  const end = performance.now() + totalMs;
  while (performance.now() < end) {
    const nextAt = performance.now() + 50;
    await act();
    await until(() => performance.now() >= nextAt, { what: 'the next time' });
  }
}

describe('runtime RT-2: RedisQueue under faults', () => {
  it('SCRIPT FLUSH every 50 ms: no visible error', async () => {
    const tally = await underFault(() => repeatedly(500, () => admin.call('SCRIPT', ['FLUSH'])));
    expect(tally.failures).toEqual([]);
    nothingLostNothingDoubled(tally);
  });

  it('CLIENT KILL of all connections every 50 ms: nothing lost, nothing doubled, no visible error', async () => {
    const kill = () => admin.call('CLIENT', ['KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
    const tally = await underFault(() => repeatedly(1_000, kill), { callTimeoutMs: 2_000 });
    expect(tally.failures).toEqual([]);
    nothingLostNothingDoubled(tally);
  });

  it('restart: nothing lost, nothing doubled', async () => {
    nothingLostNothingDoubled(await underFault(() => server.restart()));
  });

  it('killed and restarted: nothing lost, nothing doubled', async () => {
    const crash = async () => {
      await server.kill();
      await server.restart();
    };
    nothingLostNothingDoubled(await underFault(crash));
  });

  it('frozen for longer than every deadline and the lease: nothing lost, nothing doubled', async () => {
    const freeze = async () => {
      const endAt = performance.now() + 1_500;
      await server.pause();
      await until(() => performance.now() >= endAt, { what: 'the thaw' });
      await server.resume();
    };
    nothingLostNothingDoubled(await underFault(freeze));
  });

  it('memory full: puts fail with REDIS_UNAVAILABLE, gets go on', async () => {
    await using queue = new RedisQueue<number>({
      name: `full ${++uses}`,
      redis: { url: server.url, callTimeoutMs: 300 },
    });
    for (const n of [1, 2, 3]) await queue.put(n);
    await admin.call('CONFIG', ['SET', 'maxmemory', '1']);
    await expect(queue.put(4, { timeoutMs: 50 })).rejects.toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      details: { code: 'OOM' },
    });
    for (const n of [1, 2, 3]) expect((await queue.get({ timeoutMs: 2_000 }))?.payload).toBe(n);
    await admin.call('CONFIG', ['SET', 'maxmemory', '0']);
    await queue.put(5);
    expect((await queue.get())?.payload).toBe(5);
  });

  it('frozen for good: stop ends within its bound', async () => {
    const queue = new RedisQueue<number>({
      name: `stop ${++uses}`,
      redis: { url: server.url, callTimeoutMs: 200 },
    });
    await queue.size();
    const get = queue.get();
    await server.pause();
    const put = queue.put(1).catch((error: unknown) => error);
    const startedAt = performance.now();
    await queue.stop();
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(await get).toBeNull();
    expect(await put).toMatchObject({ code: 'SERVICE_STOPPED' });
    await server.resume();
  });
});
