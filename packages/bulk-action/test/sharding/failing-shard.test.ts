import { recordingLogger } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { MemoryStore } from '../../src/memory/store.js';
import { ShardedStore } from '../../src/sharding/store.js';
import { fill, group, Instance, numbers, retry, settle, succeed } from '../store-contract/tools.js';
import { FrailShard, type Mode } from './frail-shard.js';
import { nameIn } from './names-of-shards.js';
import { openShardedMemory, SHARDS } from './open-sharded.js';

const BROKEN = 1;
const keyOf = (shard: number): string => `${nameIn(shard)}/g`;
const HEALTHY = numbers(SHARDS).filter((shard) => shard !== BROKEN);
const UNAVAILABLE = { code: 'BACKEND_UNAVAILABLE' };

/** Three shards with jobs in each, every one behind a network that may fail. */
async function frailShards() {
  const shards: FrailShard[] = [];
  const harness = openShardedMemory({}, undefined, (store) => {
    const frail = new FrailShard(store);
    shards.push(frail);
    return frail.store;
  });
  for (const shard of numbers(SHARDS)) await fill(harness, group(keyOf(shard)), 4);
  const setMode = (mode: Mode, ...which: readonly number[]) => {
    for (const shard of which) (shards[shard] as FrailShard).mode = mode;
  };
  return { ...harness, frail: shards, setMode, instance: new Instance(harness) };
}

const keysOf = (jobs: readonly { readonly key: string }[]): string[] =>
  [...new Set(jobs.map(({ key }) => key))].sort();
const healthyKeys = HEALTHY.map(keyOf).sort();

describe('bulk-action BA-18: one shard does not answer', () => {
  it('bulk-action BA-18: the others fetch, reserve, settle, dispatch, recover, watch and sweep', async () => {
    const { store, setMode, instance, advance, config } = await frailShards();
    setMode('down', BROKEN);
    await instance.beat();
    expect(await store.gate.fetch(100)).toMatchObject({ ready: 8 });
    const { jobs } = await store.leases.reserve({ instanceId: 'one', seq: 1, max: 6 });
    expect(keysOf(jobs)).toEqual(healthyKeys);
    const [first, second, ...rest] = jobs;
    if (!first || !second) throw new Error('expected jobs');
    await settle({ store } as never, retry(first, { delayMs: 100 }));
    await succeed({ store } as never, [second]);
    await advance(100);
    expect(await store.gate.dispatch(100)).toMatchObject({ moved: 1, skipped: false });
    await advance(config.reliableQueue.ackTimeoutMs);
    expect(await store.leases.recover(numbers(10).map(() => 0.5))).toMatchObject({ recovered: rest.length });
    expect(await store.watch.look(100)).toMatchObject({ timedOut: [] });
    expect(await store.watch.reconcile(100)).toMatchObject({ looked: HEALTHY.length, repaired: 0 });
    expect(await store.upkeep.sweep(100)).toMatchObject({ more: false });
    expect(await store.leases.giveBackAll('one', 10)).toMatchObject({ more: false });
    expect(await store.aggregations.claim('token', 1000)).toEqual({});
  });

  it('bulk-action BA-18: calls for its groups fail, calls for others do not, and no look is silently incomplete', async () => {
    const { store, setMode } = await frailShards();
    setMode('down', BROKEN);
    await expect(store.views.group(keyOf(BROKEN))).rejects.toMatchObject(UNAVAILABLE);
    await expect(store.groups.pause(keyOf(BROKEN))).rejects.toMatchObject(UNAVAILABLE);
    for (const shard of HEALTHY) expect(await store.views.group(keyOf(shard))).toBeDefined();
    await expect(store.views.queues()).rejects.toMatchObject(UNAVAILABLE);
    await expect(store.views.groups({}, 10)).rejects.toMatchObject(UNAVAILABLE);
    await expect(store.instances.list()).rejects.toMatchObject(UNAVAILABLE);
  });

  it('bulk-action BA-18: nobody waits for it again until it is back', async () => {
    const { store, setMode, frail, instance } = await frailShards();
    setMode('down', BROKEN);
    await instance.beat();
    setMode('hangs', BROKEN);
    for (let seq = 1; seq <= 5; seq++) {
      await store.gate.fetch(100);
      await store.leases.reserve({ instanceId: 'one', seq, max: 1 });
    }
    // The one that failed, and one question whether it is back.
    expect(frail[BROKEN]?.refused).toBe(2);
  });

  it('bulk-action BA-18: when it is back it is asked again', async () => {
    const { store, setMode, instance } = await frailShards();
    setMode('down', BROKEN);
    await instance.beat();
    setMode('works', BROKEN);
    await store.gate.fetch(100);
    await store.gate.fetch(100);
    const { jobs } = await store.leases.reserve({ instanceId: 'one', seq: 1, max: 12 });
    expect(keysOf(jobs)).toEqual(numbers(SHARDS).map(keyOf).sort());
  });

  it('bulk-action BA-18: when none answers, the caller is told; when one is back, its work goes on', async () => {
    const { store, setMode, instance } = await frailShards();
    await instance.beat();
    setMode('down', ...numbers(SHARDS));
    for (const _ of [1, 2]) {
      await expect(store.gate.fetch(1)).rejects.toMatchObject(UNAVAILABLE);
      await expect(store.leases.reserve({ instanceId: 'one', seq: 1, max: 1 })).rejects.toMatchObject(
        UNAVAILABLE,
      );
      await expect(store.aggregations.claim('token', 1000)).rejects.toMatchObject(UNAVAILABLE);
    }
    setMode('works', 2);
    expect((await store.leases.reserve({ instanceId: 'one', seq: 2, max: 1, turns: 1 })).jobs).toMatchObject([
      { key: keyOf(2) },
    ]);
  });

  it('bulk-action BA-15: what it reserved without an answer is given back, and no retry or orphan is counted', async () => {
    const { store, setMode, instance, frail } = await frailShards();
    await instance.beat();
    setMode('mute', BROKEN);
    // The second number begins with the second shard.
    const { jobs } = await store.leases.reserve({ instanceId: 'one', seq: BROKEN, max: 4, turns: 4 });
    expect(keysOf(jobs)).not.toContain(keyOf(BROKEN));
    setMode('works', BROKEN);
    expect(await frail[BROKEN]?.store.views.queues()).toMatchObject({ inFlight: 4 });
    await store.gate.fetch(1);
    const again = await store.leases.reserve({ instanceId: 'one', seq: BROKEN + SHARDS, max: 4, turns: 4 });
    expect(keysOf(again.jobs)).toEqual([keyOf(BROKEN)]);
    expect(again.jobs.map(({ retryCount }) => retryCount)).toEqual([0, 0, 0, 0]);
    expect(await frail[BROKEN]?.store.views.queues()).toMatchObject({ inFlight: 4, nonReady: 0 });
  });

  it('bulk-action BA-15: the same request again, after no shard answered, gets what was reserved', async () => {
    const { store, setMode, instance } = await frailShards();
    await instance.beat();
    setMode('mute', ...numbers(SHARDS));
    const request = { instanceId: 'one', seq: 1, max: 12, turns: 12 };
    await expect(store.leases.reserve(request)).rejects.toMatchObject(UNAVAILABLE);
    setMode('works', ...numbers(SHARDS));
    expect((await store.leases.reserve(request)).jobs).toHaveLength(12);
    expect(await store.views.queues()).toMatchObject({ inFlight: 12 });
  });

  it('bulk-action BA-15: what was reserved in one outage and not fetched in the next is not lost', async () => {
    const { store, setMode, instance } = await frailShards();
    await instance.beat();
    const ask = (seq: number) => store.leases.reserve({ instanceId: 'one', seq, max: 12, turns: 12 });
    setMode('mute', ...numbers(SHARDS));
    await expect(ask(1)).rejects.toMatchObject(UNAVAILABLE);
    setMode('down', ...numbers(SHARDS));
    await expect(ask(2)).rejects.toMatchObject(UNAVAILABLE);
    setMode('works', ...numbers(SHARDS));
    expect((await ask(2)).jobs).toHaveLength(12);
    expect(await store.views.queues()).toMatchObject({ inFlight: 12, nonReady: 0 });
  });

  it('bulk-action BA-15: a settlement of another shard is stored though the call fails, and may be repeated', async () => {
    const { store, setMode, instance } = await frailShards();
    const leases = await instance.exactly(12);
    setMode('down', BROKEN);
    await expect(succeed({ store } as never, leases)).rejects.toMatchObject(UNAVAILABLE);
    for (const shard of HEALTHY)
      expect(await store.views.group(keyOf(shard))).toMatchObject({ counts: { success: 4 } });
    setMode('works', BROKEN);
    await succeed({ store } as never, leases);
    for (const shard of numbers(SHARDS))
      expect(await store.views.group(keyOf(shard))).toMatchObject({ counts: { success: 4 } });
  });

  it('bulk-action BA-16: the log says when it fails and when it is back, once each', async () => {
    const { config, shards, setMode, frail } = { ...(await frailShards()) };
    const { log, lines } = recordingLogger();
    const store = new ShardedStore(config, shards, { log });
    setMode('down', BROKEN);
    for (const _ of numbers(3)) await store.gate.fetch(1);
    expect(frail[BROKEN]?.refused).toBeGreaterThan(1);
    setMode('works', BROKEN);
    for (const _ of numbers(3)) await store.gate.fetch(1);
    expect(lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', expect.stringContaining('Shard 1 does not answer')],
      ['info', 'Shard 1 answers again'],
    ]);
  });
});

describe('bulk-action BA-18: start and stop of several shards', () => {
  it('bulk-action BA-18: a start that fails closes the others again', async () => {
    const { config, shards } = openShardedMemory();
    const stopped: number[] = [];
    const stores = shards.map((store, shard) => ({
      ...(store as MemoryStore),
      start: async () => {
        if (shard === BROKEN) throw new Error('no');
      },
      stop: async () => void stopped.push(shard),
    }));
    await expect(new ShardedStore(config, stores).start()).rejects.toThrow('no');
    expect(stopped).toEqual([0, 1, 2]);
  });
});
