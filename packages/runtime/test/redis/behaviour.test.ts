import { readFileSync } from 'node:fs';
import { keySpace } from '@millrace/redis';
import { startTcpProxy, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { describe, expect, it } from 'vitest';
import { Worker } from '../../src/worker.js';
import { failure, redisFixture } from './redis-fixture.js';

leakCheck();

const fixture = redisFixture();

async function throughProxy(name: string, options = {}) {
  const { hostname, port } = new URL(fixture.url);
  const proxy = await startTcpProxy({ targetHost: hostname, targetPort: Number(port) });
  const queue = fixture.queue<string>({
    name,
    redis: {
      url: proxy.url('redis'),
      callTimeoutMs: 150,
      connectTimeoutMs: 150,
      watchdogMs: 200,
      ...options,
    },
  });
  return { proxy, queue };
}

describe('a worker', () => {
  it('ends with a closed queue only when what a dead client has taken has come back and was worked on', async () => {
    const name = fixture.newName();
    const queue = fixture.queue<number>({ name });
    await queue.put(1);
    const dead = fixture.store(fixture.connect(), name, { takeLeaseMs: 1_000 });
    await dead.take(1, 1);
    await queue.close();
    const handled: number[] = [];
    await using worker = new Worker<number>(queue, ({ payload }) => void handled.push(payload), {
      pollTimeoutMs: 10,
    });
    await worker.start();
    await worker.ended;
    expect(handled).toEqual([1]);
  });

  it('ends when its queue was stopped, which nobody can start again', async () => {
    const queue = fixture.queue<number>({ name: fixture.newName() });
    await using worker = new Worker<number>(queue, () => {}, { pollTimeoutMs: 10 });
    await worker.start();
    await queue.stop();
    await worker.ended;
    expect(worker.state).toBe('STOPPED');
  });
});

describe('several processes', () => {
  it('close wakes everybody who waits, on both sides, in all of them', async () => {
    const name = fixture.newName();
    const queues = [1, 2, 3, 4].map(() => fixture.queue<number>({ name, maxSize: 1 }));
    const [first, ...others] = queues as [(typeof queues)[0], ...typeof queues];
    const gets = queues.flatMap((queue) => [queue.get(), queue.get()]);
    const full = fixture.newName();
    const putQueues = [1, 2, 3].map(() => fixture.queue<number>({ name: full, maxSize: 1 }));
    await putQueues[0]?.put(0);
    const puts = putQueues.flatMap((queue) => [failure(queue.put(1)), failure(queue.put(2))]);
    await until(async () => (await first.size()) === 0, { what: 'an answer' });
    const startedAt = performance.now();
    await Promise.all([first.close(), putQueues[1]?.close()]);
    expect(await Promise.all(gets)).toEqual(gets.map(() => null));
    for (const error of await Promise.all(puts)) expect(error).toMatchObject({ code: 'QUEUE_CLOSED' });
    // Woken from process to process, not by their polls, which come every second.
    expect(performance.now() - startedAt).toBeLessThan(700);
    for (const queue of others) expect(queue.closed).toBe(true);
  });

  it('share the items: each goes to one of them', async () => {
    const name = fixture.newName();
    const [one, two] = [fixture.queue<number>({ name }), fixture.queue<number>({ name })];
    const got: number[] = [];
    const consumers = [one, two, one, two].map(async (queue) => {
      for await (const { payload } of queue) got.push(payload);
    });
    await Promise.all(Array.from({ length: 500 }, (_, n) => (n % 2 ? one : two).put(n)));
    await one.close();
    await Promise.all(consumers);
    expect(got.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 500 }, (_, n) => n));
  });

  it('an item of a client that died before its confirm comes to one who waits, after the lease', async () => {
    const name = fixture.newName();
    const dead = fixture.store(fixture.connect(), name, { takeLeaseMs: 150 });
    await dead.put(1, [{ id: 'a', json: '"orphan"' }]);
    await dead.take(2, 1);
    const startedAt = performance.now();
    const item = await fixture.queue<string>({ name }).get({ timeoutMs: 5_000 });
    expect(item).toMatchObject({ id: 'a', payload: 'orphan' });
    // Told by the fetch when to look again, not found by the poll.
    expect(performance.now() - startedAt).toBeLessThan(500);
  });
});

describe('a get that gives up', () => {
  it('in the middle of its confirm: the item goes back and another process gets it', async () => {
    const name = fixture.newName();
    const other = fixture.queue<string>({ name, maxSize: 1 });
    const { proxy, queue } = await throughProxy(name, { callTimeoutMs: 2_000 });
    await queue.size();
    const controller = new AbortController();
    const got = failure(queue.get({ signal: controller.signal }));
    await until(async () => (await queue.size()) === 0, { what: 'an answer' });
    // The second chunk after the put is the confirm: its reply never comes, and the caller leaves meanwhile.
    const confirmed = proxy.cutAfterRequest((chunk) => chunk.includes('\r\nk\r\n'));
    await other.put('precious');
    await confirmed;
    controller.abort();
    expect(await got).toMatchObject({ code: 'ABORTED' });
    expect((await other.get({ timeoutMs: 5_000 }))?.payload).toBe('precious');
    expect(await other.get({ timeoutMs: 0 })).toBeNull();
    await queue.stop();
    await proxy.close();
  });
});

describe('Redis away', () => {
  it('calls that do not wait fail with REDIS_UNAVAILABLE within the call deadline', async () => {
    const { proxy, queue } = await throughProxy(fixture.newName());
    await queue.put('x');
    proxy.pause();
    const startedAt = performance.now();
    const calls = [
      queue.tryPut('y'),
      queue.get({ timeoutMs: 0 }),
      queue.get({ timeoutMs: 20 }),
      queue.put('y', { timeoutMs: 20 }),
      queue.size(),
      queue.close(),
    ];
    for (const error of await Promise.all(calls.map(failure))) {
      expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE', retryable: true });
    }
    expect(performance.now() - startedAt).toBeLessThan(600);
    proxy.resume();
    await queue.stop();
    await proxy.close();
  });

  it('one who has had an answer before gets the answer of its contract', async () => {
    const { proxy, queue } = await throughProxy(fixture.newName());
    const get = queue.get({ timeoutMs: 200 });
    await until(async () => (await queue.size()) === 0, { what: 'an answer' });
    proxy.pause();
    expect(await get).toBeNull();
    proxy.resume();
    await queue.stop();
    await proxy.close();
  });

  it('calls that wait ride it out', async () => {
    const { proxy, queue } = await throughProxy(fixture.newName());
    await queue.size();
    proxy.refuse(true);
    proxy.cut();
    const put = queue.put('late', { timeoutMs: 10_000 });
    const get = queue.get({ timeoutMs: 10_000 });
    const controller = new AbortController();
    const aborted = failure(queue.get({ signal: controller.signal }));
    controller.abort();
    expect(await aborted).toMatchObject({ code: 'ABORTED' });
    expect(await failure(queue.size())).toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    proxy.refuse(false);
    expect((await put).payload).toBe('late');
    expect((await get)?.payload).toBe('late');
    await queue.stop();
    await proxy.close();
  });
});

describe('payloads', () => {
  const circular: { self?: unknown } = {};
  circular.self = circular;
  it.each([
    ['undefined', undefined],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['a BigInt', 1n],
    ['a BigInt inside', { n: 1n }],
    ['NaN', Number.NaN],
    ['a circle', circular],
    ['a toJSON that throws', { toJSON: () => expect.fail('no') }],
    ['one byte too many', 'x'.repeat(99)],
  ])('%s is refused and nothing is written', async (_, payload) => {
    const queue = fixture.queue<unknown>({ name: fixture.newName(), payloadBytesMax: 100 });
    for (const call of [queue.put(payload), queue.tryPut(payload)]) {
      expect(await failure(call)).toMatchObject({ code: 'QUEUE_PAYLOAD_INVALID', status: 400 });
    }
    expect(await queue.size()).toBe(0);
    await queue.put('x'.repeat(98));
  });

  it('an entry that is not ours is set aside, the rest is delivered', async () => {
    const name = fixture.newName();
    const queue = fixture.queue<string>({ name });
    const key = keySpace(fixture.keyPrefix, 'queue', name);
    const connection = fixture.connect();
    await queue.put('before');
    await connection.call('RPUSH', [key('items'), 'garbage', '{"id":"half"', '{"id":1}']);
    await queue.put('after');
    const got = [await queue.get(), await queue.get()].map((item) => item?.payload);
    expect(got).toEqual(['before', 'after']);
    expect(await connection.call('LLEN', [key('corrupt')])).toBe(3);
  });
});

describe('stop', () => {
  it('ends waits and further calls here; the queue goes on for others', async () => {
    const name = fixture.newName();
    const queue = fixture.queue<number>({ name, maxSize: 1 });
    const other = fixture.queue<number>({ name, maxSize: 1 });
    const get = queue.get();
    await queue.stop();
    expect(await get).toBeNull();
    for (const call of [queue.put(1), queue.tryPut(1), queue.get(), queue.size(), queue.close()]) {
      expect(await failure(call)).toMatchObject({ code: 'SERVICE_STOPPED' });
    }
    await other.put(1);
    expect((await other.get())?.payload).toBe(1);
  });

  it('of a shared connection: its queues fail, nothing hangs', async () => {
    const connection = fixture.connect();
    const name = fixture.newName();
    const queue = fixture.queue<number>({ name, redis: undefined, connection });
    const get = failure(queue.get());
    await queue.size();
    await connection.stop();
    expect(await get).toMatchObject({ code: 'SERVICE_STOPPED' });
  });
});

describe('docs/redis-keys.md', () => {
  it('lists every key there is', async () => {
    const docs = readFileSync(new URL('../../../../docs/redis-keys.md', import.meta.url), 'utf8');
    const rows = [...docs.matchAll(/^\| `(\{<keyPrefix>[^`]+)` \| (\w+) \|/gm)].map(([, key = '', type]) => ({
      type,
      pattern: new RegExp(`^${key.replace(/[{}]/g, '\\$&').replace(/<\w+>/g, '[A-Za-z0-9_.~%-]+')}$`),
    }));
    expect(rows).toHaveLength(9);
    const connection = fixture.connect();
    const found: string[] = [];
    for (let cursor = '0', first = true; first || cursor !== '0'; first = false) {
      const scan = ['MATCH', `{${fixture.keyPrefix}*`, 'COUNT', 1_000];
      const [next, keys] = (await connection.call('SCAN', [cursor, ...scan])) as [string, string[]];
      found.push(...keys);
      cursor = next;
    }
    const used = new Set<unknown>();
    for (const key of found) {
      const type = await connection.call('TYPE', [key]);
      const row = rows.find(({ pattern }) => pattern.test(key));
      expect(row, key).toMatchObject({ type });
      used.add(row);
      const ttl = Number(await connection.call('PTTL', [key]));
      expect(ttl > 0 && ttl <= 600_000, key).toBe(/:(client|again):/.test(key));
    }
    expect(found.length).toBeGreaterThan(20);
    // taken and leases are gone as soon as everything is confirmed.
    expect(used.size).toBeGreaterThanOrEqual(6);
  });
});
