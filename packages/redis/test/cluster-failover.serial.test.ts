import { type RedisCluster, type RedisServer, startRedisCluster, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ERRORS,
  type KeySpace,
  keySpace,
  RedisConnection,
  type RedisConnectionOptions,
} from '../src/index.js';
import { ask, countCall, failure, listeningAt, spaceOfEach } from './cluster-fixture.js';

leakCheck();

let cluster: RedisCluster;
let spaces: KeySpace[];

beforeAll(async () => {
  cluster = await startRedisCluster();
  spaces = await spaceOfEach(cluster, 3);
}, 30_000);
afterAll(() => cluster.stop());

const connect = (options: RedisConnectionOptions = {}) =>
  new RedisConnection({ nodes: cluster.nodes.map(({ host, port }) => ({ host, port })), ...options });
const [space, node] = [
  (at: number) => spaces[at] as KeySpace,
  (at: number) => cluster.nodes[at] as RedisServer,
];

/** Counts operations under every key space until `during` has ended, each repeated until it was told to have counted. */
async function underLoad(connection: RedisConnection, name: string, during: () => Promise<unknown>) {
  let ended = false;
  const repeats: unknown[] = [];
  const once = async (operation: () => Promise<unknown>): Promise<void> => {
    try {
      await operation();
    } catch (error) {
      if (!ERRORS.is(error, 'REDIS_UNAVAILABLE')) throw error;
      repeats.push(error);
      await once(operation);
    }
  };
  const loops = spaces.flatMap((_, at) =>
    [0, 1].map(async (loop) => {
      const counted = keySpace('load', name, space(at).tag);
      let runs = 0;
      for (; !ended; runs++) {
        const [call, other] = [
          countCall(counted, `${loop}:${runs}`),
          countCall(space(at), `${name}:${loop}:${runs}`),
        ];
        if (loop === 0) await once(() => connection.run(call));
        else {
          await once(async () => {
            for (const outcome of await connection.pipeline([call, other])) {
              if (outcome.status === 'rejected') throw outcome.reason;
            }
          });
        }
      }
      return { counted, runs };
    }),
  );
  await during();
  ended = true;
  const done = await Promise.all(loops);
  for (const { counted } of done) {
    const expected = done.reduce((sum, one) => sum + (one.counted.tag === counted.tag ? one.runs : 0), 0);
    expect(Number(await connection.call('GET', [counted('counter')]))).toBe(expected);
  }
  return { repeats, runs: done.reduce((sum, { runs }) => sum + runs, 0) };
}

/** A connection that listens at this very node; which one it takes is chance. */
async function listenAt(wanted: RedisServer, options: RedisConnectionOptions): Promise<RedisConnection> {
  for (let n = 0; ; n++) {
    const connectionName = `listener-${n}`;
    const connection = connect({ ...options, connectionName });
    connection.channels.subscribe('any', () => {});
    const found = await until(() => listeningAt(cluster, connectionName), { what: 'a listener' });
    if (found === wanted) return connection;
    await connection.stop();
  }
}

describe('a Redis Cluster whose masters change', () => {
  it('a frozen node fails its own calls within their deadline and holds up no others; its replica takes over', async () => {
    await using connection = connect({ callTimeoutMs: 400, watchdogMs: 600, pollMs: 30_000 });
    for (const at of [0, 1, 2]) await connection.run(countCall(space(at), 'warm'));
    const wait = connection.markers.wait(space(2)('wake'));
    await using listener = await listenAt(node(2), { watchdogMs: 300 });
    const heard: string[] = [];
    listener.channels.subscribe('frozen', (message) => heard.push(message));
    await node(2).pause();
    const begin = performance.now();
    const frozen = failure(connection.run(countCall(space(2), 'frozen')));
    const piped = connection.pipeline([countCall(space(1), 'piped'), countCall(space(2), 'piped')]);
    for (let n = 0; n < 20; n++) {
      const askedAt = performance.now();
      await connection.run(countCall(space(n % 2), `free ${n}`));
      expect(performance.now() - askedAt).toBeLessThan(200);
    }
    expect(await frozen).toMatchObject({ code: 'REDIS_UNAVAILABLE', retryable: true });
    expect(performance.now() - begin).toBeLessThan(1_000);
    expect((await piped).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);

    const counts = async () => (await connection.run(countCall(space(2), 'frozen'))).counter;
    await until(counts, { what: 'the replica to answer', deadlineMs: 8_000 });
    await connection.call('LPUSH', [space(2)('wake'), '1']);
    expect(await wait).toBe('woken');
    const isHeard = async () => {
      await connection.call('PUBLISH', ['frozen', 'news']);
      return heard.includes('news');
    };
    await until(isHeard, { what: 'news at another node' });
    await node(2).resume();
    await cluster.healthy();
    expect((await connection.run(countCall(space(2), 'frozen'))).counter).toBeGreaterThan(0);
  });

  it('planned failovers of every master under load: nothing lost, nothing counted twice, no error', async () => {
    await using connection = connect({ callTimeoutMs: 5_000 });
    const { repeats, runs } = await underLoad(connection, 'planned', async () => {
      for (const at of [0, 1, 2]) await cluster.failover(space(at).tag);
    });
    console.log(`${runs} operations while three masters changed`);
    expect(runs).toBeGreaterThan(50);
    expect(repeats).toEqual([]);
  });

  it('a planned failover: a script that the new master has never seen, waiters and listeners go on', async () => {
    await cluster.healthy();
    await using connection = await listenAt(await cluster.masterOf(space(0).tag), { pollMs: 30_000 });
    const heard: string[] = [];
    connection.channels.subscribe('news', (message) => heard.push(message));
    await connection.run(countCall(space(0), 'before'));
    const wait = connection.markers.wait(space(0)('wake'));
    const master = await cluster.failover(space(0).tag);
    await ask(master, 'SCRIPT', ['FLUSH']);
    await connection.run(countCall(space(0), 'after'));
    await connection.call('LPUSH', [space(0)('wake'), '1']);
    expect(await wait).toBe('woken');
    const isHeard = async () => {
      await ask(master, 'PUBLISH', ['news', 'after']);
      return heard.includes('after');
    };
    await until(isHeard, { what: 'the news' });
  });

  it('a killed master: other keys are served on; calls, waiters and listeners find its replica by themselves', async () => {
    await cluster.healthy();
    const victim = await cluster.masterOf(space(1).tag);
    await using connection = await listenAt(victim, { pollMs: 30_000 });
    const heard: string[] = [];
    connection.channels.subscribe('news', (message) => heard.push(message));
    const { counter } = await connection.run(countCall(space(1), 'kill: before'));
    // Its replica must have it: what a killed master did not pass on is lost.
    const copied = await ask(victim, 'WAIT', [1, 1_000]);
    expect(copied).toBe(1);
    const wait = connection.markers.wait(space(1)('wake'));
    await victim.kill();
    for (const other of [0, 2]) {
      await connection.run(countCall(space(other), 'kill: others'), { timeoutMs: 500 });
    }
    // The election takes two to three seconds; a patient call is simply answered by the new master.
    const after = await connection.run(countCall(space(1), 'kill: after'), { timeoutMs: 10_000 });
    const electedAt = performance.now();
    expect(after.counter).toBe(counter + 1);
    await until(async () => (await cluster.masterOf(space(1).tag)) !== victim, { what: 'another master' });
    await connection.call('LPUSH', [space(1)('wake'), '1']);
    expect(await wait).toBe('woken');
    const isHeard = async () => {
      await connection.call('PUBLISH', ['news', 'after']);
      return heard.includes('after');
    };
    await until(isHeard, { what: 'the news' });
    expect(performance.now() - electedAt).toBeLessThan(3_000);
    await victim.restart();
    await cluster.healthy();
    expect((await connection.run(countCall(space(1), 'kill: after'))).counter).toBe(counter + 1);
  });

  it('all nodes killed and started again: the same connection object works, waiters are woken', async () => {
    await using connection = connect({ pollMs: 30_000, reconnectMaxMs: 100 });
    for (const at of [0, 1, 2]) await connection.run(countCall(space(at), 'all'));
    const wait = connection.markers.wait(space(0)('wake'));
    await Promise.all(cluster.nodes.map((node) => node.kill()));
    const begin = performance.now();
    const error = await connection
      .run(countCall(space(0), 'gone'), { timeoutMs: 300 })
      .catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE', retryable: true });
    expect(performance.now() - begin).toBeLessThan(1_000);
    await Promise.all(cluster.nodes.map((node) => node.restart()));
    for (const at of [0, 1, 2]) {
      const { counter } = await connection.run(countCall(space(at), 'back'), { timeoutMs: 10_000 });
      expect(counter).toBe(1);
    }
    await connection.call('LPUSH', [space(0)('wake'), '1']);
    expect(await wait).toBe('woken');
  });
});
