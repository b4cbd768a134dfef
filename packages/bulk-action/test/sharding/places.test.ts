import { type Rng, seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import type { GroupDefinition } from '../../src/ports.js';
import { CLAIM_GRACE_MS } from '../../src/rules/shard-homes.js';
import type { BulkShard, Shard } from '../../src/shard-port.js';
import { fill, group, HOUR_MS, Instance, jobs, numbers, succeed, sweepAll } from '../store-contract/tools.js';
import { keyAt, nameIn } from './names-of-shards.js';
import { openShardedMemory, SHARDS, type ShardedHarness } from './open-sharded.js';

const KEY = keyAt(0);
/** Of the unit that lives in this shard. */
const definition = (shard: number, fields: Partial<GroupDefinition> = {}): GroupDefinition =>
  group(KEY, { tenantId: nameIn(shard, 7), ...fields });

/** The shards that have the group. */
async function whereIs({ shards }: ShardedHarness, key = KEY): Promise<number[]> {
  const found = await Promise.all(shards.map(({ views }) => views.group(key)));
  return numbers(SHARDS).filter((shard) => found[shard] !== undefined);
}

describe('bulk-action BA-18: where a group lives', () => {
  it('bulk-action BA-18: in the shard of its unit, and everything finds it by its key', async () => {
    const harness = openShardedMemory();
    const { groups, views, deadLetters } = harness.store;
    expect(await groups.create(definition(2))).toBe('created');
    expect(await groups.create(definition(2))).toBe('known');
    expect(await whereIs(harness)).toEqual([2]);
    // Who adds jobs knows the key only.
    expect(await groups.add(group(KEY), jobs(2), 2)).toMatchObject({ kind: 'added', added: 2 });
    expect(await views.group(KEY)).toMatchObject({ tenantId: nameIn(2, 7), counts: { registered: 2 } });
    expect((await views.jobs(KEY, {}, 10)).items).toHaveLength(2);
    expect(await views.tenant(nameIn(2, 7))).toMatchObject({ pending: 2 });
    expect(await groups.update(KEY, { weight: 3 })).toMatchObject({ kind: 'done' });
    expect(await groups.pause(KEY)).toMatchObject({ kind: 'done', changed: true });
    expect(await groups.resume(KEY)).toMatchObject({ kind: 'done', changed: true });
    expect(await deadLetters.redrive({ key: KEY }, 10)).toEqual({ moved: 0, more: false });
    const instance = new Instance(harness);
    const leases = await instance.exactly(2);
    expect(await harness.store.leases.renew(leases)).toEqual(['ok', 'ok']);
    await succeed(harness, leases);
    expect(await groups.seal(KEY)).toMatchObject({ status: 'COMPLETED' });
    expect(await views.result(KEY)).toMatchObject({ success: 2 });
  });

  it('bulk-action BA-18: another process, which has never heard of it, settles its jobs', async () => {
    const harness = openShardedMemory();
    await fill(harness, definition(1), 1);
    const leases = await new Instance(harness).exactly(1);
    const { ShardedStore } = await import('../../src/sharding/store.js');
    const other = new ShardedStore(harness.config, harness.shards);
    expect(await other.leases.renew(leases)).toEqual(['ok']);
    await succeed({ ...harness, store: other }, leases);
    expect(await other.views.group(KEY)).toMatchObject({ counts: { success: 1 } });
  });

  it('bulk-action BA-18: another unit for a group that is there is a conflict, wherever it is', async () => {
    for (const [first, second] of [
      [2, 1],
      [0, 1],
      [1, 0],
    ] as const) {
      const harness = openShardedMemory();
      expect(await harness.store.groups.create(definition(first))).toBe('created');
      expect(await harness.store.groups.create(definition(second))).toBe('conflict');
      expect(await harness.store.groups.add(definition(second), jobs(1), 1)).toMatchObject({ added: 1 });
      expect(await whereIs(harness)).toEqual([first]);
    }
  });
});

/** Every call of a shard takes a random number of turns before it begins. */
function unhurried(store: BulkShard, rng: Rng): BulkShard {
  const slow =
    <A extends readonly unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      for (let turns = rng.integer(0, 6); turns > 0; turns--) await Promise.resolve();
      return call(...args);
    };
  const { create, add, claim, locate, check } = store.shard;
  const shard: Shard = {
    ...store.shard,
    create: slow(create),
    add: slow(add),
    claim: slow(claim),
    locate: slow(locate),
    check: slow(check),
  };
  return { ...store, shard, start: () => store.start(), stop: () => store.stop() };
}

describe('bulk-action BA-18: two who make the same group at the same time', () => {
  it.each([
    [1, 2],
    [0, 1],
    [2, 0],
  ])('bulk-action BA-18: units of shards %i and %i: one wins, in its own shard', async (first, second) => {
    const seen = new Set<string>();
    for (const seed of numbers(200)) {
      const rng = seededRng(seed);
      const harness = openShardedMemory({}, undefined, (store) => unhurried(store, rng));
      const { groups } = harness.store;
      const answers = await Promise.all([
        groups.create(definition(first)),
        groups.create(definition(second)),
      ]);
      expect(answers.toSorted()).toEqual(['conflict', 'created']);
      const winner = answers[0] === 'created' ? first : second;
      expect(await whereIs(harness)).toEqual([winner]);
      expect(await harness.store.views.group(KEY)).toMatchObject({ tenantId: nameIn(winner, 7) });
      seen.add(String(winner));
    }
    // Else the turns never made a difference, and the test has shown nothing.
    expect(seen.size).toBe(2);
  });

  it('bulk-action BA-18: with the same unit both succeed', async () => {
    const harness = openShardedMemory();
    const { groups } = harness.store;
    const answers = await Promise.all([groups.create(definition(2)), groups.create(definition(2))]);
    expect(answers.toSorted()).toEqual(['created', 'known']);
  });
});

describe('bulk-action BA-15: claims that are left behind', () => {
  /** Died between the claim and the group. */
  const halfMade = async (): Promise<ShardedHarness> => {
    const harness = openShardedMemory();
    await harness.shards[0]?.shard.claim(KEY, 2);
    return harness;
  };

  it('bulk-action BA-15: whoever makes the same group again goes on where it stopped', async () => {
    const harness = await halfMade();
    expect(await harness.store.groups.create(definition(2))).toBe('created');
    expect(await whereIs(harness)).toEqual([2]);
  });

  it.each([0, 1])(
    'bulk-action BA-15: another unit, of shard %i, waits until the claim is old',
    async (shard) => {
      const harness = await halfMade();
      const { groups } = harness.store;
      expect(await groups.create(definition(shard))).toBe('conflict');
      await expect(groups.add(definition(shard), jobs(1), 1)).rejects.toMatchObject({
        code: 'BACKEND_UNAVAILABLE',
        retryable: true,
      });
      expect(await whereIs(harness)).toEqual([]);
      await harness.advance(CLAIM_GRACE_MS);
      expect(await groups.add(definition(shard), jobs(1), 1)).toMatchObject({ kind: 'added', added: 1 });
      expect(await whereIs(harness)).toEqual([shard]);
    },
  );

  it('bulk-action BA-15: the sweep removes a claim without a group, and not before it is old', async () => {
    const harness = await halfMade();
    const [home] = harness.shards;
    await sweepAll(harness);
    expect(await home?.shard.locate(KEY)).toMatchObject({ shard: 2 });
    await harness.advance(CLAIM_GRACE_MS);
    expect(await sweepAll(harness)).toBe(1);
    expect(await home?.shard.locate(KEY)).toBeUndefined();
  });

  it('bulk-action BA-15: a claim stays as long as its group, then another unit may have the key', async () => {
    const harness = openShardedMemory({
      limits: { jobRetentionMs: HOUR_MS },
      aggregator: { resultRetentionMs: HOUR_MS },
    });
    const { groups, views } = harness.store;
    const [home] = harness.shards;
    await groups.create(definition(2));
    for (const _ of numbers(5)) {
      await harness.advance(CLAIM_GRACE_MS);
      await sweepAll(harness);
      expect(await home?.shard.locate(KEY)).toMatchObject({ shard: 2, ageMs: 0 });
    }
    await groups.seal(KEY);
    await harness.advance(HOUR_MS);
    await sweepAll(harness);
    await harness.advance(CLAIM_GRACE_MS);
    await sweepAll(harness);
    expect(await home?.shard.locate(KEY)).toBeUndefined();
    // This process remembers where it was.
    expect(await views.group(KEY)).toBeUndefined();
    expect(await groups.create(definition(1))).toBe('created');
    expect(await views.group(KEY)).toMatchObject({ tenantId: nameIn(1, 7) });
    expect(await whereIs(harness)).toEqual([1]);
  });

  it('bulk-action BA-15: one sweep looks at a bounded number, and says when there are more', async () => {
    const harness = openShardedMemory();
    for (const n of numbers(40)) await harness.shards[0]?.shard.claim(keyAt(0, n), 1);
    await harness.advance(CLAIM_GRACE_MS);
    expect(await harness.store.upkeep.sweep(1000)).toMatchObject({ swept: 16, more: true });
    expect(await sweepAll(harness)).toBe(24);
  });
});
