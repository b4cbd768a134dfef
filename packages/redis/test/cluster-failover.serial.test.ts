import { type RedisServer, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { describe, expect, it } from 'vitest';
import { keySpace, type RedisConnection, type RedisConnectionOptions } from '../src/index.js';
import { ask, listen, useCluster } from './cluster-fixture.js';
import { countCall, failure } from './fixture-scripts.js';

leakCheck();

const fixture = useCluster();
const { connect, node, space } = fixture;

/** Counts in scripts and pipelines until `during` has ended. Fails if a call fails or does not count once. */
async function underLoad(connection: RedisConnection, during: () => Promise<unknown>): Promise<number> {
  let ended = false;
  const loops = Array.from({ length: 6 }, async (_, loop) => {
    const [one, other] = [keySpace('load', `${loop}`), keySpace('other load', `${loop}`)];
    let runs = 0;
    for (; !ended; runs++) {
      const calls = [countCall(one, `${runs}`), countCall(other, `${runs}`)];
      if (loop % 2 === 0) for (const call of calls) await connection.run(call);
      else {
        for (const outcome of await connection.pipeline(calls)) {
          if (outcome.status === 'rejected') throw outcome.reason;
        }
      }
    }
    for (const key of [one, other]) expect(await connection.call('GET', [key('counter')])).toBe(`${runs}`);
    return runs;
  });
  await during();
  ended = true;
  return (await Promise.all(loops)).reduce((sum, runs) => sum + runs);
}

/** Makes connections until one happens to listen at this node. */
async function listenAt(wanted: RedisServer, options: RedisConnectionOptions): Promise<RedisConnection> {
  for (let n = 0; ; n++) {
    const connectionName = `listener-${n}`;
    const connection = connect({ ...options, connectionName });
    connection.channels.subscribe('any', () => {});
    const listener = async () => {
      for (const server of fixture.cluster.nodes) {
        const clients = String(await ask(server, 'CLIENT', ['LIST', 'TYPE', 'pubsub']));
        if (clients.includes(`name=${connectionName}:channels`)) return server;
      }
      return undefined;
    };
    if ((await until(listener, { what: 'a listener' })) === wanted) return connection;
    await connection.stop();
  }
}

describe('a Redis Cluster whose masters change', () => {
  it('a frozen node fails its own calls within their deadline and delays no others; its replica takes over', async () => {
    await using connection = connect({ callTimeoutMs: 400, watchdogMs: 600, pollMs: 30_000 });
    for (const at of [0, 1, 2]) await connection.run(countCall(space(at), 'warm'));
    const wait = connection.markers.wait(space(2)('wake'));
    await using listener = await listenAt(node(2), { watchdogMs: 300 });
    const arrives = listen(listener);
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
    await until(counts, { what: 'the replica to reply', deadlineMs: 8_000 });
    await connection.call('LPUSH', [space(2)('wake'), '1']);
    expect(await wait).toBe('woken');
    await arrives('at another node', (...command) => connection.call(...command));
    await node(2).resume();
    await fixture.cluster.healthy();
    expect((await connection.run(countCall(space(2), 'frozen'))).counter).toBeGreaterThan(0);
  });

  it('planned failovers of every master under load: nothing lost, nothing counted twice, no error', async () => {
    const { cluster } = fixture;
    await cluster.healthy();
    const patient = { callTimeoutMs: 5_000, pollMs: 30_000 };
    await using connection = await listenAt(await cluster.masterOf(space(0).tag), patient);
    const arrives = listen(connection);
    const wait = connection.markers.wait(space(0)('wake'));
    const runs = await underLoad(connection, async () => {
      for (const at of [0, 1, 2]) await cluster.failover(space(at).tag);
    });
    expect(runs).toBeGreaterThan(50);
    await connection.call('LPUSH', [space(0)('wake'), '1']);
    expect(await wait).toBe('woken');
    const master = await cluster.masterOf(space(0).tag);
    await arrives('after a failover', (...command) => ask(master, ...command));
  });

  it('a killed master: other keys are served; calls, waiters and listeners find its replica', async () => {
    const { cluster } = fixture;
    await cluster.healthy();
    const victim = await cluster.masterOf(space(1).tag);
    await using connection = await listenAt(victim, { pollMs: 30_000 });
    const arrives = listen(connection);
    const { counter } = await connection.run(countCall(space(1), 'kill: before'));
    // The replica must have the write. What a killed master did not pass on is lost.
    expect(await ask(victim, 'WAIT', [1, 1_000])).toBe(1);
    const wait = connection.markers.wait(space(1)('wake'));
    await victim.kill();
    for (const other of [0, 2]) {
      await connection.run(countCall(space(other), 'kill: others'), { timeoutMs: 500 });
    }
    // The election takes two to three seconds, so a patient call gets its reply from the new master.
    const after = await connection.run(countCall(space(1), 'kill: after'), { timeoutMs: 10_000 });
    const electedAt = performance.now();
    expect(after.counter).toBe(counter + 1);
    await until(async () => (await cluster.masterOf(space(1).tag)) !== victim, { what: 'another master' });
    await connection.call('LPUSH', [space(1)('wake'), '1']);
    expect(await wait).toBe('woken');
    await arrives('after a kill', (...command) => connection.call(...command));
    expect(performance.now() - electedAt).toBeLessThan(3_000);
    await victim.restart();
    await cluster.healthy();
    expect((await connection.run(countCall(space(1), 'kill: after'))).counter).toBe(counter + 1);
  });

  it('all nodes killed and restarted: the same connection object works, waiters are woken', async () => {
    const { cluster } = fixture;
    await using connection = connect({ pollMs: 30_000, reconnectMaxMs: 100 });
    for (const at of [0, 1, 2]) await connection.run(countCall(space(at), 'all'));
    const wait = connection.markers.wait(space(0)('wake'));
    await Promise.all(cluster.nodes.map((server) => server.kill()));
    const begin = performance.now();
    const error = await failure(connection.run(countCall(space(0), 'gone'), { timeoutMs: 300 }));
    expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE', retryable: true });
    expect(performance.now() - begin).toBeLessThan(1_000);
    await Promise.all(cluster.nodes.map((server) => server.restart()));
    for (const at of [0, 1, 2]) {
      const { counter } = await connection.run(countCall(space(at), 'back'), { timeoutMs: 10_000 });
      expect(counter).toBe(1);
    }
    await connection.call('LPUSH', [space(0)('wake'), '1']);
    expect(await wait).toBe('woken');
  });
});
