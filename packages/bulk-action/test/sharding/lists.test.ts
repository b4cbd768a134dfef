import { type Rng, seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import type { Page } from '../../src/model.js';
import { deadly, fill, group, Instance, numbers, settle, sweepAll } from '../store-contract/tools.js';
import { nameIn } from './names-of-shards.js';
import { openShardedMemory, SHARDS, type ShardedHarness } from './open-sharded.js';

const AT_ONCE = { limits: { jobRetentionMs: 0 }, aggregator: { resultRetentionMs: 0 } };
const STEPS_MAX = 500;

/** One list gone through while its items come and go. */
class Walk {
  #made = 0;
  readonly alive = new Set<string>();

  constructor(
    readonly harness: ShardedHarness,
    readonly rng: Rng,
  ) {}

  async make(): Promise<void> {
    const id = `g${this.#made++}`;
    const tenantId = nameIn(this.rng.integer(0, SHARDS - 1), this.rng.integer(0, 3));
    await this.harness.store.groups.create(group(`/${id}`, { tenantId }));
    this.alive.add(id);
    if (this.rng.chance(0.5)) await this.harness.advance(this.rng.integer(1, 5));
  }

  /** Ends a group and removes it. */
  async remove(): Promise<void> {
    if (this.alive.size === 0) return;
    const id = this.rng.pick([...this.alive]);
    this.alive.delete(id);
    await this.harness.store.groups.cancel(`/${id}`);
    await sweepAll(this.harness);
  }

  /** All pages, and what was there from the first to the last. */
  async through(): Promise<{ told: string[]; times: number[]; stayed: ReadonlySet<string> }> {
    const { rng, harness } = this;
    const told: string[] = [];
    const times: number[] = [];
    const before = new Set(this.alive);
    let cursor: string | undefined;
    for (let steps = 0; steps < STEPS_MAX; steps++) {
      const page: Page<{ id: string; createdAt: number }> = await harness.store.views.groups(
        {},
        rng.integer(1, 7),
        cursor,
      );
      told.push(...page.items.map(({ id }) => id));
      times.push(...page.items.filter(({ id }) => before.has(id)).map(({ createdAt }) => createdAt));
      cursor = page.cursor;
      if (cursor === undefined) {
        return { told, times, stayed: new Set([...before].filter((id) => this.alive.has(id))) };
      }
      for (let changes = rng.integer(0, 3); changes > 0; changes--)
        await (rng.chance(0.5) ? this.make() : this.remove());
    }
    throw new Error(`expected the list to end within ${STEPS_MAX} pages`);
  }
}

describe('bulk-action BA-13: one list of several shards', () => {
  it.each(numbers(60))(
    'bulk-action BA-13: groups that come and go: none is skipped or told twice (seed %i)',
    async (seed) => {
      const rng = seededRng(seed);
      const walk = new Walk(openShardedMemory(AT_ONCE), rng);
      for (let count = rng.integer(0, 60); count > 0; count--) await walk.make();
      const { told, times, stayed } = await walk.through();
      expect(new Set(told).size).toBe(told.length);
      expect([...stayed].filter((id) => !told.includes(id))).toEqual([]);
      expect(times).toEqual(times.toSorted((a, b) => b - a));
    },
  );

  it('bulk-action BA-8: dead letters of all shards, newest first', async () => {
    const harness = openShardedMemory();
    const instance = new Instance(harness);
    for (const n of numbers(12)) {
      await fill(harness, group(`${nameIn(n % SHARDS)}/g${n}`), 1);
      const [lease] = await instance.exactly(1);
      await settle(harness, deadly(lease, `cause ${n % 2}`));
      await harness.advance(10);
    }
    const groups: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await harness.store.deadLetters.list({}, 5, cursor);
      expect(page.items.length).toBeLessThanOrEqual(5);
      groups.push(...page.items.map(({ job }) => job.groupId));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(groups).toEqual(
      numbers(12)
        .reverse()
        .map((n) => `${nameIn(n % SHARDS)}/g${n}`),
    );
    expect(await harness.store.deadLetters.signatures({}, 1)).toMatchObject([{ count: 6 }]);
    expect(await harness.store.deadLetters.redrive({}, 5)).toEqual({ moved: 5, more: true });
    expect(await harness.store.deadLetters.purge({ signature: 'cause 0' }, 100)).toMatchObject({
      more: false,
    });
    const left = (await harness.store.deadLetters.list({}, 100)).items.length;
    expect(await harness.store.deadLetters.redrive({}, left)).toEqual({ moved: left, more: false });
  });

  it.each(['', '...', '-.-.-.-', 'x.y.z', '5', '9'.repeat(400), '1.1', '"; DROP', '-.-.-'])(
    'bulk-action BA-18: the cursor %j of somebody else does no harm',
    async (cursor) => {
      const harness = openShardedMemory();
      for (const shard of numbers(SHARDS)) await harness.store.groups.create(group(`${nameIn(shard)}/g`));
      const { items } = await harness.store.views.groups({}, 10, cursor);
      expect(items.length).toBeLessThanOrEqual(SHARDS);
    },
  );
});
