import { seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { BulkActionEngine } from '../../src/engine.js';
import { MemoryStore } from '../../src/memory/store.js';
import { jumpHash } from '../../src/rules/jump-hash.js';
import { ShardedStore } from '../../src/sharding/store.js';
import { busiestSecond, tenantOf, totals } from '../fairness/measures.js';
import { VirtualEngine } from '../fairness/virtual-engine.js';
import { numbers } from '../store-contract/tools.js';
import { nameIn } from './names-of-shards.js';
import { SHARDS } from './open-sharded.js';

const RPS = 300;
const BURST = 30;
const LARGE = 1800;
const SMALL = 100;

/** Nine tenths of all jobs are in the first shard: two tenants there, one in each of the others. */
const TENANTS = [
  { name: nameIn(0, 0), jobs: LARGE / 2 },
  { name: nameIn(0, 1), jobs: LARGE / 2 },
  { name: nameIn(1), jobs: SMALL },
  { name: nameIn(2), jobs: SMALL },
];

const isWithin = (ms: number, from: number, to: number): boolean => ms >= from && ms < to;

const skewed = (seed: string) =>
  new VirtualEngine({
    seed,
    instances: 2,
    roundTripMs: 1,
    latenessMs: 2,
    config: {
      shards: SHARDS,
      workerPool: { workerCount: 16 },
      backpressure: { globalRps: RPS, burst: BURST },
    },
    serviceMs: (_job, rng) => rng.exponential(20) * (rng.chance(0.1) ? -1 : 1),
  });

describe('bulk-action BA-18: an engine of three shards', () => {
  it.each(['one', 'two'])(
    'bulk-action BA-2: seed %s, nine tenths of the load in one shard: shares, the rate over all, all complete',
    async (seed) => {
      const engine = skewed(seed);
      for (const { name, jobs } of TENANTS) await engine.submit({ id: `${name}/g` }, jobs);
      for (const { name } of TENANTS) await engine.service.seal(`${name}/g`);
      const done = async () => {
        const all = await Promise.all(TENANTS.map(({ name }) => engine.service.getProgress(`${name}/g`)));
        return all.every(({ status }) => status === 'COMPLETED');
      };
      await engine.run(async () => {
        for (let seconds = 0; seconds < 120 && !(await done()); seconds++) await engine.pass(1000);
      });
      expect(await done()).toBe(true);
      const { starts } = engine.recording;
      expect(busiestSecond(starts)).toBeLessThanOrEqual(RPS + BURST);
      // While all shards have work each has a third of the rate, and in the first one both tenants half of that.
      const begin = starts[0]?.at ?? 0;
      const early = starts.filter(({ at }) => isWithin(at - begin, 0, 800));
      const perTenant = totals(early, tenantOf);
      const perShard = totals(early, (start) => String(jumpHash(tenantOf(start), SHARDS)));
      const third = early.length / SHARDS;
      for (const shard of numbers(SHARDS)) expect(perShard.get(String(shard))).toBeGreaterThan(0.85 * third);
      for (const nth of [0, 1]) expect(perTenant.get(nameIn(0, nth))).toBeGreaterThan(0.4 * third);
      // What is left then is in one shard, which may use its part of the rate and no more.
      const later = starts.filter(({ at }) => isWithin(at - begin, 4000, 12_000)).length / 8;
      expect(later).toBeLessThanOrEqual(RPS / SHARDS + BURST / SHARDS / 8);
      expect(later).toBeGreaterThan(0.9 * (RPS / SHARDS));
    },
    60_000,
  );

  it('bulk-action BA-18: `shards` decides what an engine without a store is made of', () => {
    const rng = seededRng('shards');
    expect(new BulkActionEngine({ rng }).store).toBeInstanceOf(MemoryStore);
    expect(new BulkActionEngine({ rng, config: { shards: 3 } }).store).toBeInstanceOf(ShardedStore);
  });
});
