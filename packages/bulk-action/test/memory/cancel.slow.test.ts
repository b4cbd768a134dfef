import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LeasedJob } from '../../src/lease.js';
import { ADD_BATCH_MAX } from '../../src/ports.js';
import { expectConservation } from '../store-contract/conservation.js';
import {
  countsOf,
  deadly,
  fill,
  group,
  Instance,
  jobOf,
  jobs,
  listed,
  numbers,
  placeOf,
  retry,
  type StoreHarness,
  success,
  sweepAll,
  viewOf,
} from '../store-contract/tools.js';
import { openMemory } from './open-memory.js';

const KEY = '/whale';
const FREE = { backpressure: { globalRps: 0 } };

/** A group with so many jobs waiting in its lane. */
async function whale(count: number): Promise<StoreHarness> {
  const harness = openMemory(FREE);
  for (let from = 0; from < count; from += ADD_BATCH_MAX) {
    const batch = jobs(Math.min(ADD_BATCH_MAX, count - from), {}, `j${from}-`);
    await harness.store.groups.add(group(KEY), batch, batch.length);
  }
  return harness;
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;

/** Milliseconds that one cancel takes: the median over stores of their own. */
async function cancelMs(count: number, times: number): Promise<number> {
  const costs: number[] = [];
  for (let time = 0; time < times; time++) {
    const { store } = await whale(count);
    const startedAt = performance.now();
    await store.groups.cancel(KEY);
    costs.push(performance.now() - startedAt);
  }
  return median(costs);
}

const placesOf = async ({ store }: StoreHarness): Promise<Record<string, number>> => {
  const found: Record<string, number> = {};
  for (const { place } of await listed((cursor) => store.views.jobs(KEY, {}, 1000, cursor)))
    found[place] = (found[place] ?? 0) + 1;
  return found;
};

describe('bulk-action BA-2: cancelling a group of any size', () => {
  it('bulk-action BA-2: costs the same for 200,000 jobs as for 100', async () => {
    const small = await cancelMs(100, 5);
    const large = await cancelMs(200_000, 3);
    expect(large).toBeLessThan(5);
    // A step that touched every job would take a hundred times as long; a fraction of a millisecond is noise.
    expect(large).toBeLessThan(Math.max(1, 10 * small));
  });

  it('bulk-action BA-2: touches no job record; the sweep does, never more than it was told', async () => {
    const count = 3000;
    const harness = await whale(count);
    await harness.store.groups.cancel(KEY);
    expect(await countsOf(harness, KEY)).toMatchObject({ cancelled: count, pending: 0 });
    expect(await placesOf(harness)).toEqual({ LANE: count });
    expect(await jobOf(harness, KEY, 'j0-0')).toMatchObject({ status: 'CANCELLED' });
    let done = 0;
    for (const max of [1, 7, 500, 1000, 1000]) {
      const { swept, more } = await harness.store.upkeep.sweep(max);
      done = Math.min(count, done + max);
      expect(swept).toBeLessThanOrEqual(max);
      expect((await placesOf(harness)).DONE).toBe(done);
      expect(more).toBe(done < count);
    }
    expect(await placesOf(harness)).toEqual({ LANE: count - done, DONE: done });
    expect(await sweepAll(harness)).toBe(count - done);
    expect(await placesOf(harness)).toEqual({ DONE: count });
  });

  it('bulk-action BA-2: what was swept has given its payload back, and keeps its status', async () => {
    const harness = openMemory(FREE);
    await fill(harness, group(KEY), 10);
    await harness.store.groups.cancel(KEY);
    expect(await jobOf(harness, KEY, 'j3')).toHaveProperty('payload');
    await sweepAll(harness);
    for (const n of numbers(10)) {
      const view = await jobOf(harness, KEY, `j${n}`);
      expect(view).toMatchObject({ status: 'CANCELLED', place: 'DONE' });
      expect(view).not.toHaveProperty('payload');
    }
  });

  it('bulk-action BA-8: a redrive after the cancel brings back what had failed, and nothing that was cancelled', async () => {
    const harness = openMemory(FREE);
    const one = new Instance(harness);
    await fill(harness, group(KEY), 20);
    const leases = await one.take(3);
    await harness.store.leases.settle(leases.map((lease) => deadly(lease)));
    await harness.store.groups.cancel(KEY);
    for (const swept of [false, true]) {
      if (swept) await sweepAll(harness);
      const moved = await harness.store.deadLetters.redrive({ key: KEY }, swept ? 10 : 1);
      expect(moved.moved).toBe(swept ? 2 : 1);
      const started = await one.take();
      expect(started.map(({ jobId }) => jobId).sort()).toEqual(swept ? ['j1', 'j2'] : ['j0']);
      await harness.store.leases.settle(started.map((lease) => success(lease)));
    }
    expect(await viewOf(harness, KEY)).toMatchObject({
      status: 'COMPLETED',
      round: 3,
      counts: { success: 3, cancelled: 17, failed: 0, pending: 0, inFlight: 0 },
    });
    expect(await placeOf(harness, KEY, 'j19')).toBe('DONE');
    await expectConservation(harness);
  });
});

type Verb =
  | 'fetch'
  | 'reserve'
  | 'dispatch'
  | 'giveBack'
  | 'giveBackAll'
  | 'recover'
  | 'settle'
  | 'retry'
  | 'admit'
  | 'add'
  | 'sweep'
  | 'wait'
  | 'pause'
  | 'resume';

const VERBS: readonly Verb[] = [
  'fetch',
  'fetch',
  'reserve',
  'reserve',
  'dispatch',
  'giveBack',
  'giveBackAll',
  'recover',
  'settle',
  'retry',
  'admit',
  'add',
  'sweep',
  'wait',
  'pause',
  'resume',
];

const GROUPS = [KEY, '/a', 'big/b', 'big/c'];
const script = fc.array(
  fc.record({ verb: fc.constantFrom(...VERBS), n: fc.nat(7), key: fc.constantFrom(...GROUPS) }),
  { minLength: 5, maxLength: 60, size: 'max' },
);

/** Plays steps of any order, and says at once when a job of a stopped group starts. */
class Play {
  readonly harness = openMemory({ ...FREE, workerPool: { fetchBatchSize: 5 } });
  readonly #one = new Instance(this.harness, 'one', 8);
  readonly #stopped = new Set<string>();
  #leases: LeasedJob[] = [];
  #added = 0;

  async begin(): Promise<void> {
    for (const key of GROUPS) await fill(this.harness, group(key), 12);
  }

  async stop(how: 'pause' | 'cancel', key: string): Promise<void> {
    await this.harness.store.groups[how](key);
    this.#stopped.add(key);
  }

  async step(verb: Verb, n: number, key: string): Promise<void> {
    const { gate, groups, leases, upkeep } = this.harness.store;
    switch (verb) {
      case 'fetch':
        await this.#one.beat();
        return void (await gate.fetch(n));
      case 'dispatch':
        return void (await gate.dispatch(n));
      case 'admit':
        return void (await gate.admit(key, `j${n}`));
      case 'reserve':
        return this.#reserve(n);
      case 'giveBack':
        return void (await leases.giveBack(this.#taken(n)));
      case 'giveBackAll':
        return void (await leases.giveBackAll('one', n));
      case 'recover':
        return void (await leases.recover(numbers(n).map(() => 0.5)));
      case 'settle':
        return void (await leases.settle(this.#taken(n).map((lease) => success(lease))));
      case 'retry':
        return void (await leases.settle(this.#taken(n).map((lease) => retry(lease, { delayMs: 100 * n }))));
      case 'add':
        this.#added += 1;
        return void (await groups.add(group(key), jobs(n, {}, `more${this.#added}-`), n));
      case 'sweep':
        return void (await upkeep.sweep(n));
      case 'wait':
        return this.harness.advance(n === 7 ? this.harness.config.reliableQueue.ackTimeoutMs : n * 50);
      case 'pause':
        return this.stop('pause', key);
      case 'resume':
        // A cancelled group answers that it has ended, and stays stopped.
        if ((await groups.resume(key)).kind === 'done') this.#stopped.delete(key);
    }
  }

  async #reserve(max: number): Promise<void> {
    const started = await this.#one.reserve(max);
    for (const { key, jobId } of started) expect([...this.#stopped], `start of ${jobId}`).not.toContain(key);
    this.#leases.push(...started);
  }

  #taken(count: number): LeasedJob[] {
    return this.#leases.splice(0, count);
  }
}

describe('bulk-action BA-2: after the answer of pause or cancel', () => {
  it('bulk-action BA-2: no job of the group starts, whatever is called in whatever order', async () => {
    await fc.assert(
      fc.asyncProperty(script, script, fc.constantFrom('pause', 'cancel'), async (before, after, how) => {
        const play = new Play();
        await play.begin();
        for (const { verb, n, key } of before) await play.step(verb, n, key);
        await play.stop(how, KEY);
        for (const { verb, n, key } of after) {
          if (verb !== 'resume' || key !== KEY || how === 'cancel') await play.step(verb, n, key);
        }
        await expectConservation(play.harness);
      }),
      { numRuns: 150 },
    );
  });
});
