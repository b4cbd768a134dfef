import { describe, expect, it } from 'vitest';
import type { BulkActionConfig } from '../../src/options.js';
import type { BulkShard, MarkedPage } from '../../src/shard-port.js';
import {
  deadly,
  fill,
  group,
  Instance,
  jobs,
  numbers,
  type StoreHarness,
  settle,
} from '../store-contract/tools.js';

type OpenShard = (config?: BulkActionConfig) => Promise<StoreHarness<BulkShard>>;

const MINUTE_MS = 60_000;

/**
 * What every store passes that can be one of several.
 * @param open - makes an empty store for one test.
 */
export function shardContract(name: string, open: OpenShard): void {
  describe(`bulk-action BA-18: ${name} as one of several shards`, () => {
    describeClaims(open);
    describeChecks(open);
    describePages(open);
  });
}

function describeClaims(open: OpenShard): void {
  it('bulk-action BA-18: a claim holds, and whoever wants another place is told of it', async () => {
    const { store, advance, now } = await open();
    const claimedMs = Math.floor(await now());
    expect(await store.shard.locate('/g')).toBeUndefined();
    expect(await store.shard.claim('/g', 2)).toEqual({ key: '/g', shard: 2, claimedMs, ageMs: 0 });
    await advance(5000);
    const held = { key: '/g', shard: 2, claimedMs, ageMs: 5000 };
    expect(await store.shard.claim('/g', 1)).toEqual(held);
    expect(await store.shard.locate('/g')).toEqual(held);
    expect(await store.shard.locate('/other')).toBeUndefined();
  });

  it('bulk-action BA-18: the same claim again is made anew', async () => {
    const { store, advance } = await open();
    await store.shard.claim('/g', 2);
    await advance(5000);
    expect(await store.shard.claim('/g', 2)).toMatchObject({ shard: 2, ageMs: 0 });
    expect(await store.shard.claims(1, 10)).toEqual([]);
  });

  it('bulk-action BA-18: a group that is here is not given away', async () => {
    const { store } = await open();
    await store.shard.create(group('/g'));
    expect(await store.shard.claim('/g', 2)).toBe('here');
    expect(await store.shard.locate('/g')).toBe('here');
    expect(await store.shard.claims(0, 10)).toEqual([]);
  });

  it('bulk-action BA-18: a group that is claimed is not made here, and nothing of it is left behind', async () => {
    const harness = await open();
    const { store } = harness;
    await store.shard.claim('/g', 2);
    expect(await store.shard.create(group('/g'))).toBe('elsewhere');
    expect(await store.shard.add(group('/g'), jobs(2), 2)).toEqual({ kind: 'elsewhere' });
    expect(await store.views.group('/g')).toBeUndefined();
    expect(await store.views.queues()).toMatchObject({ tenants: 0, lane: 0 });
    expect(await store.shard.create(group('/h'))).toBe('created');
    expect(await store.shard.add(group('/h'), jobs(2), 2)).toMatchObject({ kind: 'added', added: 2 });
  });

  it('bulk-action BA-18: a store that is not one of several says what is wrong', async () => {
    const { store } = await open();
    await store.shard.claim('/g', 2);
    const refused = { code: 'BACKEND_UNAVAILABLE', message: expect.stringContaining('shards') };
    await expect(store.groups.create(group('/g'))).rejects.toMatchObject(refused);
    await expect(store.groups.add(group('/g'), jobs(1), 1)).rejects.toMatchObject(refused);
  });
}

function describeChecks(open: OpenShard): void {
  it('bulk-action BA-18: claims to look at: those that are old enough, the oldest first, a bounded number', async () => {
    const { store, advance } = await open();
    for (const n of [3, 1, 2]) {
      await store.shard.claim(`/g${n}`, n);
      await advance(MINUTE_MS);
    }
    const keys = async (ageMs: number, max: number) =>
      (await store.shard.claims(ageMs, max)).map(({ key, shard }) => [key, shard]);
    expect(await keys(MINUTE_MS, 10)).toEqual([
      ['/g3', 3],
      ['/g1', 1],
      ['/g2', 2],
    ]);
    expect(await keys(2 * MINUTE_MS, 10)).toEqual([
      ['/g3', 3],
      ['/g1', 1],
    ]);
    expect(await keys(0, 1)).toEqual([['/g3', 3]]);
    expect(await keys(4 * MINUTE_MS, 10)).toEqual([]);
  });

  it('bulk-action BA-18: one without a group goes, one with a group counts from now on', async () => {
    const { store, advance } = await open();
    await store.shard.claim('/gone', 1);
    await store.shard.claim('/there', 1);
    await advance(MINUTE_MS);
    for (const { key, claimedMs } of await store.shard.claims(MINUTE_MS, 10))
      expect(await store.shard.check(key, claimedMs, key === '/there')).toBe(true);
    expect(await store.shard.locate('/gone')).toBeUndefined();
    expect(await store.shard.locate('/there')).toMatchObject({ shard: 1, ageMs: 0 });
    expect(await store.shard.create(group('/gone'))).toBe('created');
  });

  it('bulk-action BA-18: one that was made anew meanwhile is left alone', async () => {
    const { store, advance } = await open();
    await store.shard.claim('/g', 1);
    await advance(MINUTE_MS);
    const [old] = await store.shard.claims(MINUTE_MS, 10);
    await store.shard.claim('/g', 1);
    expect(await store.shard.check('/g', old?.claimedMs ?? 0, false)).toBe(false);
    expect(await store.shard.locate('/g')).toMatchObject({ shard: 1 });
    expect(await store.shard.check('/nobody', 1, false)).toBe(false);
  });
}

function describePages(open: OpenShard): void {
  /** Each mark, given as a cursor, must go on right behind its item. */
  async function expectMarks<T>(page: (cursor?: string) => Promise<MarkedPage<T>>): Promise<void> {
    const { items, marks } = await page();
    expect(marks).toHaveLength(items.length);
    expect(items.length).toBeGreaterThan(2);
    for (const [at, mark] of marks.entries()) expect((await page(mark)).items).toEqual(items.slice(at + 1));
  }

  it('bulk-action BA-13: a list of groups goes on behind any of its items', async () => {
    const { store } = await open();
    for (const n of numbers(6)) await store.shard.create(group(`t/g${n}`));
    await store.groups.cancel('t/g3');
    await expectMarks((cursor) => store.shard.groups({}, 10, cursor));
    await expectMarks((cursor) => store.shard.groups({ tenant: 't', status: 'CREATED' }, 10, cursor));
  });

  it('bulk-action BA-8: a list of dead letters goes on behind any of its items', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 4);
    for (const lease of await instance.exactly(4)) await settle(harness, deadly(lease));
    await expectMarks((cursor) => harness.store.shard.letters({}, 10, cursor));
    await expectMarks((cursor) => harness.store.shard.letters({ key: '/g' }, 10, cursor));
  });
}
