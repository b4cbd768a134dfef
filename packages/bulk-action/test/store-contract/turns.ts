import { until } from '@millrace/testkit';
import { expect, it } from 'vitest';
import type { LeasedJob } from '../../src/lease.js';
import {
  countsOf,
  fill,
  group,
  Instance,
  job,
  type OpenStore,
  SLOW_RPS,
  SLOW_SLOT_MS,
  type StoreHarness,
  succeed,
} from './tools.js';

/** A worker that takes turns itself. */
class Taker {
  #seq = 0;

  constructor(
    readonly harness: StoreHarness,
    readonly id = 'taker',
  ) {}

  async take(max: number, turns = max): Promise<readonly LeasedJob[]> {
    this.#seq += 1;
    return (await this.again(max, turns)).jobs;
  }

  again(max: number, turns = max) {
    return this.harness.store.leases.reserve({ instanceId: this.id, seq: this.#seq, max, turns });
  }
}

const ids = (leases: readonly LeasedJob[]) => leases.map(({ jobId }) => jobId);
const keys = (leases: readonly LeasedJob[]) => leases.map(({ key }) => key);

/** Reserve with turns of its own. */
export function turning(open: OpenStore): void {
  it('no Fetcher needs to come first, and nothing stays ready', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 5);
    expect(ids(await new Taker(harness).take(3))).toEqual(['j0', 'j1', 'j2']);
    expect(await countsOf(harness, '/g')).toMatchObject({ pending: 2, ready: 0, inFlight: 3 });
    expect(await harness.store.views.queues()).toMatchObject({ lane: 2, ready: 0, inFlight: 3 });
  });

  it('what is ready comes first, and no more turns than asked for', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 10);
    await harness.store.gate.fetch(2);
    const taker = new Taker(harness);
    expect(ids(await taker.take(9, 3))).toEqual(['j0', 'j1', 'j2', 'j3', 'j4']);
    expect(ids(await taker.take(9, 0))).toEqual([]);
  });

  it('the turns are those of the fair order', async () => {
    const harness = await open({}, 'one shard');
    for (const tenant of ['a', 'b']) await fill(harness, group(`${tenant}/g`), 10);
    await harness.store.groups.updateTenant('b', { weight: 3 });
    const taken = keys(await new Taker(harness).take(8));
    expect(taken.filter((key) => key === 'a/g')).toHaveLength(2);
    expect(taken.filter((key) => key === 'b/g')).toHaveLength(6);
  });

  it('jobs of every cost, deadline and waiting time keep their order', async () => {
    const harness = await open();
    const deadline = (await harness.now()) + 60_000;
    const unusual = [job('a'), job('b', { cost: 3 }), job('c'), job('d', { deadline }), job('e')];
    await fill(harness, group('/g'), unusual);
    const taker = new Taker(harness);
    const first = await taker.take(2);
    expect(first.map(({ jobId, cost }) => [jobId, cost])).toEqual([
      ['a', 1],
      ['b', 3],
    ]);
    await harness.store.groups.pause('/g');
    await harness.store.leases.giveBack(first);
    await harness.store.groups.resume('/g');
    const all = await taker.take(9);
    expect(ids(all)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(all.map(({ deadline: until }) => until)).toEqual([
      undefined,
      undefined,
      undefined,
      deadline,
      undefined,
    ]);
    expect(all.map(({ attempt }) => attempt)).toEqual([2, 2, 1, 1, 1]);
  });

  it('caps, rates, pause and deadlines hold as they do for the Fetcher', async () => {
    const harness = await open();
    await fill(harness, group('/capped', { concurrency: 2 }), 5);
    await fill(harness, group('/slow', { rps: SLOW_RPS, burst: 1 }), 5);
    await fill(harness, group('/paused'), 5);
    await harness.store.groups.pause('/paused');
    await fill(harness, group('/late', { deadline: (await harness.now()) + 1 }), 2);
    await harness.advance(2);
    const taker = new Taker(harness);
    expect(keys(await taker.take(20)).toSorted()).toEqual(['/capped', '/capped', '/slow']);
    expect(await countsOf(harness, '/late')).toMatchObject({ failed: 2 });
    expect(await taker.take(20)).toEqual([]);
    await harness.advance(SLOW_SLOT_MS);
    expect(keys(await taker.take(20))).toEqual(['/slow']);
  });

  it('the same number again gets the same leases and takes no more turns', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 5);
    const taker = new Taker(harness);
    const first = await taker.take(2);
    expect((await taker.again(2)).jobs).toEqual(first);
    expect(await countsOf(harness, '/g')).toMatchObject({ inFlight: 2, pending: 3 });
    await succeed(harness, first);
  });

  it('a waiting worker is woken for a turn; one who is satisfied wakes the others who wait', async () => {
    const harness = await open();
    let rings = 0;
    const end = harness.store.wakeUps.listen('work', () => {
      rings += 1;
    });
    const rang = async (what: string, act: () => Promise<unknown>) => {
      const before = rings;
      await act();
      await until(() => rings > before, { what: `a work wake-up after ${what}` });
    };
    const [one, two] = [new Taker(harness, 'one'), new Taker(harness, 'two')];
    await one.take(2);
    await two.take(2);
    await rang('a job of a waiting engine', () => fill(harness, group('/g'), 6));
    await rang('a worker that took what it wanted', () => one.take(2));
    end();
  });

  it('each start takes a waiting slot away: ready jobs that may not start are no reason to go beyond a share', async () => {
    const harness = await open({ fairQueue: { maxShare: 0.5 } });
    await fill(harness, group('/paused'), 2);
    await new Instance(harness, 'taker', 4).fetch(2);
    await fill(harness, group('/g'), 10);
    await harness.store.gate.fetch(2);
    await harness.store.groups.pause('/paused');
    expect(keys(await new Taker(harness).take(4))).toEqual(['/g', '/g']);
  });

  it('an instance that was never heard of counts with what it asks for', async () => {
    const harness = await open({ fairQueue: { maxShare: 0.5 } }, 'one shard');
    await fill(harness, group('/g'), 10);
    expect(await new Taker(harness).take(4)).toHaveLength(4);
    expect((await harness.store.views.queues()).liveSlots).toBe(4);
    const other = new Instance(harness, 'other', 8);
    await other.beat();
    expect((await harness.store.views.queues()).liveSlots).toBe(12);
  });
}
