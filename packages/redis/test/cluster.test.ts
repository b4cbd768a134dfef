import { type RedisServer, startTcpProxy, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { Cluster } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { keySpace, RedisConnection } from '../src/index.js';
import { ask, listen, useCluster } from './cluster-fixture.js';
import { countCall, failure } from './fixture-scripts.js';

leakCheck();

// A long timeout, so that no node loses its slots for being slow while other tests run.
const fixture = useCluster({ replicas: 1, args: ['--cluster-node-timeout', '15000'] });
const { connect, node, space } = fixture;
const slotOf = async (key: string) => Number(await ask(node(0), 'CLUSTER', ['KEYSLOT', key]));
const idOf = async (server: RedisServer) => String(await ask(server, 'CLUSTER', ['MYID']));

/** Repeats the call, because on a busy machine the deadline may also pass during an attempt. */
const failsBy = (code: string, call: () => Promise<unknown>) =>
  until(
    async () => {
      const error = await failure(call());
      expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE', retryable: true });
      return (error as { details: { code: string } }).details.code === code;
    },
    { what: `a call to fail by ${code}` },
  );

describe('a Redis Cluster of several masters', () => {
  it('calls, scripts and a pipeline reach the keys of every node, even from one known node', async () => {
    await using connection = connect({ nodes: [{ host: node(3).host, port: node(3).port }] });
    await connection.start();
    await until(() => connection.isReady, { what: 'a connection to each master' });
    const many = Array.from({ length: 30 }, (_, n) => keySpace('many', `${n}`));
    for (const one of many) expect((await connection.run(countCall(one, 'a'))).counter).toBe(1);
    const outcomes = await connection.pipeline(many.map((one) => countCall(one, 'b')));
    expect(outcomes.map((outcome) => 'value' in outcome && outcome.value.counter)).toEqual(many.map(() => 2));
    for (const one of many) expect(await connection.call('GET', [one('counter')])).toBe('2');
    for (const at of [0, 1, 2]) expect(await ask(node(at), 'DBSIZE')).toBeGreaterThan(0);
    for (const at of [0, 1, 2]) await ask(node(at), 'SCRIPT', ['FLUSH']);
    const flushed = await connection.pipeline(many.map((one) => countCall(one, 'b')));
    expect(flushed.map(({ status }) => status)).toEqual(many.map(() => 'fulfilled'));
    await connection.requireNoEviction();
    await ask(node(1), 'CONFIG', ['SET', 'maxmemory-policy', 'allkeys-lru']);
    expect(await failure(connection.requireNoEviction())).toMatchObject({ code: 'REDIS_MAY_EVICT' });
    await ask(node(1), 'CONFIG', ['SET', 'maxmemory-policy', 'noeviction']);
  });

  it('uses the nodes and the natMap of a given ioredis Cluster and leaves it alone', async () => {
    await using proxy = await startTcpProxy({ targetHost: node(0).host, targetPort: node(0).port });
    const given = new Cluster([node(0).url, { host: node(1).host, port: node(1).port }], {
      lazyConnect: true,
      natMap: { [`${node(0).host}:${node(0).port}`]: { host: '127.0.0.1', port: proxy.port } },
    });
    await using connection = new RedisConnection({ client: given });
    for (const at of [0, 1, 2]) {
      expect((await connection.run(countCall(space(at), 'given'))).counter).toBe(1);
    }
    expect(given.status).toBe('wait');
    proxy.pause();
    const mapped = connection.call('GET', [space(0)('counter')], { timeoutMs: 100 });
    expect(await failure(mapped)).toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    expect(await connection.call('GET', [space(1)('counter')])).toBe('1');
  });

  it('a slot that moves: follows ASK and MOVED, waits out TRYAGAIN within the deadline', async () => {
    await using connection = connect();
    await using bystander = connect();
    const moving = space(0);
    const [slot, from, to] = [await slotOf(moving.tag), await idOf(node(0)), await idOf(node(1))];
    await connection.call('SET', [moving('old'), '1']);
    const { counter } = await bystander.run(countCall(moving, 'before'));
    await connection.call('DEL', [moving('seen')]);
    await ask(node(1), 'CLUSTER', ['SETSLOT', slot, 'IMPORTING', from]);
    await ask(node(0), 'CLUSTER', ['SETSLOT', slot, 'MIGRATING', to]);

    expect(await connection.call('GET', [moving('old')])).toBe('1');
    expect(await connection.call('SET', [moving('new'), '2'])).toBe('OK');
    expect(await ask(node(0), 'CLUSTER', ['GETKEYSINSLOT', slot, 10])).not.toContain(moving('new'));

    // Each node has one of its keys, so neither can run it.
    const split = countCall(moving, 'split');
    await failsBy('TRYAGAIN', () => connection.run(split, { timeoutMs: 150 }));
    const patience = { timeoutMs: 10_000 };
    const waiting = connection.run(split, patience);
    const together = connection.pipeline([split, split], patience);

    const left = (await ask(node(0), 'CLUSTER', ['GETKEYSINSLOT', slot, 100])) as string[];
    await ask(node(0), 'MIGRATE', [node(1).host, node(1).port, '', 0, 1_000, 'KEYS', ...left]);
    for (const at of [1, 0, 2]) await ask(node(at), 'CLUSTER', ['SETSLOT', slot, 'NODE', to]);
    expect((await waiting).counter).toBe(counter + 1);
    expect((await together).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
    expect(await connection.call('MGET', [moving('old'), moving('new')])).toEqual(['1', '2']);
    // Its slot table is old, so the old owner redirects it.
    expect((await bystander.run(countCall(moving, 'split'))).counter).toBe(counter + 1);
  });

  it('CLUSTERDOWN: a call waits for the slot within its deadline, or fails retryably', async () => {
    await using connection = connect();
    const slot = await slotOf(space(1).tag);
    await connection.run(countCall(space(1), 'up'));
    await ask(node(1), 'CLUSTER', ['DELSLOTS', slot]);
    await failsBy('CLUSTERDOWN', () => connection.run(countCall(space(1), 'down'), { timeoutMs: 150 }));
    const patient = connection.run(countCall(space(1), 'down'), { timeoutMs: 10_000 });
    await ask(node(1), 'CLUSTER', ['ADDSLOTS', slot]);
    expect((await patient).counter).toBeGreaterThan(1);
    await fixture.cluster.healthy();
  });

  it('markers of many slots: one blocking connection per slot, for any number of waiters', async () => {
    await using connection = connect({ pollMs: 30_000, connectionName: 'slots' });
    const lists = Array.from({ length: 9 }, (_, n) => keySpace('wake', `${n}`)('list'));
    const waits = lists.flatMap((list) => [1, 2, 3].map(() => connection.markers.wait(list)));
    const blocked = async () => {
      const lines = await Promise.all([0, 1, 2].map((at) => ask(node(at), 'CLIENT', ['LIST'])));
      return lines.join('').match(/name=slots:markers.*cmd=blpop/g)?.length;
    };
    await until(async () => (await blocked()) === lists.length, { what: 'a blocking call per slot' });
    const late = connection.markers.wait(keySpace('wake', '0')('late'));
    for (const list of lists) await connection.call('LPUSH', [list, '1', '1', '1']);
    await connection.call('LPUSH', [keySpace('wake', '0')('late'), '1']);
    expect(new Set(await Promise.all([...waits, late]))).toEqual(new Set(['woken']));
  });

  it('channels receive what is published at any node, replicas included', async () => {
    await using connection = connect();
    const arrives = listen(connection);
    for (const server of fixture.cluster.nodes) {
      await arrives(`from ${server.url}`, (...command) => ask(server, ...command));
    }
  });
});
