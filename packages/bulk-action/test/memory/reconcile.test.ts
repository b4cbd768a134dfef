import { ManualClock } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { memoryDeadLetters } from '../../src/memory/dead-letters.js';
import { memoryGate } from '../../src/memory/gate.js';
import { memoryGroups } from '../../src/memory/groups.js';
import { memoryInstances } from '../../src/memory/instances.js';
import { memoryLeases } from '../../src/memory/leases.js';
import type { GroupRecord, JobRecord } from '../../src/memory/records.js';
import { MemoryState } from '../../src/memory/state.js';
import { memoryUpkeep } from '../../src/memory/upkeep.js';
import { memoryViews } from '../../src/memory/views.js';
import { memoryWatch } from '../../src/memory/watch.js';
import { resolveBulkActionConfig } from '../../src/options.js';
import type { BulkStore } from '../../src/ports.js';
import { expectConservation } from '../store-contract/conservation.js';
import { fill, group, HOUR_MS, keepBusy } from '../store-contract/tools.js';

const KEYS = ['/g', 't/a', 't/b'];

/** A store whose state a test can reach: two groups of one tenant and one of its own, with a job in every place. */
async function openBusy() {
  const clock = new ManualClock();
  const config = resolveBulkActionConfig({ backpressure: { globalRps: 0 } });
  const state = new MemoryState(config, clock);
  const store = {
    groups: memoryGroups(state),
    views: memoryViews(state),
    gate: memoryGate(state),
    leases: memoryLeases(state),
    upkeep: memoryUpkeep(state),
    watch: memoryWatch(state),
    deadLetters: memoryDeadLetters(state),
    instances: memoryInstances(state),
  } as unknown as BulkStore;
  const harness = {
    store,
    config,
    now: async () => clock.now(),
    advance: (ms: number) => clock.advance(ms),
    jump: async (ms: number) => clock.jump(ms),
    close: async () => {},
  };
  const instance = await keepBusy(harness, KEYS);
  const find = (key: string): GroupRecord => {
    const found = state.groups.get(key);
    if (!found) throw new Error(`expected a group ${key}`);
    return found;
  };
  const inPlace = (key: string, place: string): JobRecord => {
    const found = find(key).order.find((job) => job.place === place);
    if (!found) throw new Error(`expected a job of ${key} in ${place}`);
    return found;
  };
  return { harness, state, instance, find, inPlace };
}

type Busy = Awaited<ReturnType<typeof openBusy>>;

const DAMAGES: Readonly<Record<string, (busy: Busy, key: string) => void>> = {
  'too many pending': ({ find }, key) => {
    find(key).pending += 2;
  },
  'too few in flight': ({ find }, key) => {
    find(key).inFlight -= 1;
  },
  'successes lost': ({ find }, key) => {
    find(key).success = 0;
  },
  'ready and its cost': ({ find }, key) => {
    find(key).ready += 3;
    find(key).readyCost += 3;
  },
  'a job gone from its lane': ({ find }, key) => void find(key).lane.shift(),
  'a job gone from ready': ({ state, inPlace }, key) => {
    const gone = inPlace(key, 'READY');
    const others = state.ready.filter((job) => job !== gone);
    while (state.ready.size > 0) state.ready.shift();
    for (const job of others) state.ready.push(job);
  },
  'a job gone from non-ready': ({ state, inPlace }, key) => state.nonReady.remove(inPlace(key, 'NON_READY')),
  'a job gone from in flight': ({ state, inPlace }, key) => state.flights.remove(inPlace(key, 'IN_FLIGHT')),
  'not watched': ({ state, find }, key) => state.watched.remove(find(key)),
};

describe('bulk-action BA-14: a damaged memory store is repaired', () => {
  for (const [what, damage] of Object.entries(DAMAGES)) {
    for (const key of ['/g', 't/a'])
      it(`${what} of ${key}`, async () => {
        const busy = await openBusy();
        const { harness, instance } = busy;
        const { store } = harness;
        expect(await store.watch.reconcile(10)).toEqual({ looked: 3, repaired: 0 });
        damage(busy, key);
        expect(await store.watch.reconcile(10)).toEqual({ looked: 3, repaired: 1 });
        expect(await store.watch.reconcile(10)).toEqual({ looked: 3, repaired: 0 });
        await expectConservation(harness);
        await harness.advance(harness.config.reliableQueue.ackTimeoutMs + 1);
        await store.leases.recover([0, 0, 0, 0]);
        await harness.advance(HOUR_MS / 2);
        await store.gate.dispatch(100);
        await instance.finish();
        const counts = { registered: 12, success: 11, failed: 1, cancelled: 0 };
        expect(await store.views.group(key)).toMatchObject({ status: 'COMPLETED', counts });
      });
  }

  it('a tenant of one group gets its counters back', async () => {
    const { harness, find } = await openBusy();
    find('/g').owner.held += 5;
    expect(await harness.store.watch.reconcile(10)).toMatchObject({ repaired: 1 });
    expect(find('/g').owner.held).toBe(find('/g').held);
  });

  it('a group that only its counters kept from ending, ends', async () => {
    const { harness, instance, find } = await openBusy();
    const { store } = harness;
    await store.groups.add(group('/h'), [], 0);
    await fill(harness, group('/h'), 1);
    await store.groups.seal('/h');
    find('/h').pending += 1;
    await instance.finish();
    expect(await store.views.group('/h')).toMatchObject({ status: 'RUNNING' });
    expect(await store.watch.reconcile(10)).toMatchObject({ repaired: 1 });
    expect(await store.views.result('/h')).toMatchObject({ status: 'COMPLETED', success: 1 });
  });
});
