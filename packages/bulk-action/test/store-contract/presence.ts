import { expect, it } from 'vitest';
import { INSTANCE_TTL_MS } from '../../src/ports.js';
import { fill, group, HOUR_MS, Instance, type OpenStore, SLACK_MS } from './tools.js';

const beat = (id: string, slots = 3, waiting = 1) => ({
  id,
  startedAt: 42,
  slots,
  waiting,
  processorTypes: ['mail', 'push'],
});

/** `heartbeat`, `leave` and `list`. */
export function living(open: OpenStore): void {
  it('an instance is what it last said of itself', async () => {
    const { store, advance } = await open();
    expect(await store.instances.list()).toEqual([]);
    await store.instances.heartbeat(beat('a'));
    await store.instances.heartbeat(beat('b', 5, 5));
    await advance(4000);
    await store.instances.heartbeat({ ...beat('a', 4, 2), processorTypes: ['mail'] });
    const list = (await store.instances.list()).toSorted((x, y) => x.id.localeCompare(y.id));
    expect(list).toMatchObject([
      { id: 'a', startedAt: 42, slots: 4, waiting: 2, processorTypes: ['mail'] },
      { id: 'b', startedAt: 42, slots: 5, waiting: 5, processorTypes: ['mail', 'push'] },
    ]);
    expect(list[0]?.silentMs).toBeLessThan(SLACK_MS);
    expect(list[1]?.silentMs).toBeGreaterThanOrEqual(4000);
    expect(await store.views.queues()).toMatchObject({ liveSlots: 9, waitingSlots: 7 });
  });

  it('silence and leaving end it; both may come twice', async () => {
    const { store, advance } = await open();
    const ids = async () => (await store.instances.list()).map(({ id }) => id).toSorted();
    for (const id of ['a', 'b', 'c']) await store.instances.heartbeat(beat(id));
    await store.instances.leave('a');
    await store.instances.leave('a');
    await store.instances.leave('nobody');
    expect(await ids()).toEqual(['b', 'c']);
    await advance(INSTANCE_TTL_MS - 3000);
    await store.instances.heartbeat(beat('c'));
    await advance(3001);
    expect(await ids()).toEqual(['c']);
    expect(await store.views.queues()).toMatchObject({ liveSlots: 3, waitingSlots: 1 });
    await store.instances.heartbeat(beat('b'));
    expect(await ids()).toEqual(['b', 'c']);
    await advance(INSTANCE_TTL_MS + 1);
    expect(await store.views.queues()).toMatchObject({ liveSlots: 0, waitingSlots: 0 });
  });

  it('what an instance held when it left is still leased', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 2);
    const leases = await new Instance(harness, 'a').exactly(2);
    await harness.store.instances.leave('a');
    expect(await harness.store.leases.renew(leases)).toEqual(['ok', 'ok']);
  });
}

/** `begin`, `renew`, `finish` and `release`. */
export function onceOnly(open: OpenStore): void {
  it('one runs, others are told to come again; afterwards all get the result', async () => {
    const { store, advance } = await open();
    const { once } = store;
    expect(await once.begin('k', 'a', 60_000)).toEqual({ kind: 'run' });
    const busy = await once.begin('k', 'b', 60_000);
    expect(busy.kind).toBe('busy');
    if (busy.kind === 'busy') {
      expect(busy.retryInMs).toBeGreaterThan(0);
      expect(busy.retryInMs).toBeLessThanOrEqual(60_000);
    }
    expect(await once.begin('other', 'b', 60_000)).toEqual({ kind: 'run' });
    expect(await once.finish('k', 'a', '{"n":1}', HOUR_MS)).toBe(true);
    expect(await once.begin('k', 'b', 60_000)).toEqual({ kind: 'done', result: '{"n":1}' });
    expect(await once.begin('k', 'a', 60_000)).toEqual({ kind: 'done', result: '{"n":1}' });
    await advance(HOUR_MS + 1);
    expect(await once.begin('k', 'c', 60_000)).toEqual({ kind: 'run' });
  });

  it('repeated after a lost answer: begin runs, finish has finished, release has released', async () => {
    const { store } = await open();
    const { once } = store;
    await once.begin('k', 'a', 60_000);
    expect(await once.begin('k', 'a', 60_000)).toEqual({ kind: 'run' });
    await once.finish('k', 'a', '1', HOUR_MS);
    expect(await once.finish('k', 'a', '1', HOUR_MS)).toBe(true);
    await once.release('k', 'a');
    expect(await once.begin('k', 'b', 60_000)).toEqual({ kind: 'done', result: '1' });
    await once.begin('l', 'a', 60_000);
    await once.release('l', 'a');
    await once.release('l', 'a');
    expect(await once.begin('l', 'b', 60_000)).toEqual({ kind: 'run' });
  });

  it('a lease that is renewed lasts on; one that is not goes to the next', async () => {
    const { store, advance } = await open();
    const { once } = store;
    await once.begin('k', 'a', 30_000);
    for (let n = 0; n < 3; n++) {
      await advance(20_000);
      expect(await once.renew('k', 'a', 30_000)).toBe(true);
    }
    expect((await once.begin('k', 'b', 30_000)).kind).toBe('busy');
    await advance(30_001);
    expect(await once.begin('k', 'b', 30_000)).toEqual({ kind: 'run' });
    expect(await once.renew('k', 'a', 30_000)).toBe(false);
    expect(await once.finish('k', 'a', '"late"', HOUR_MS)).toBe(false);
    expect(await once.finish('k', 'b', '"good"', HOUR_MS)).toBe(true);
    expect(await once.begin('k', 'a', 30_000)).toEqual({ kind: 'done', result: '"good"' });
  });

  it('only the holder releases, renews and finishes', async () => {
    const { store } = await open();
    const { once } = store;
    expect(await once.renew('k', 'a', 30_000)).toBe(false);
    await once.release('k', 'a');
    await once.begin('k', 'a', 30_000);
    await once.release('k', 'b');
    expect(await once.renew('k', 'b', 30_000)).toBe(false);
    expect(await once.finish('k', 'b', '1', HOUR_MS)).toBe(false);
    expect((await once.begin('k', 'b', 30_000)).kind).toBe('busy');
    await once.release('k', 'a');
    expect(await once.begin('k', 'b', 30_000)).toEqual({ kind: 'run' });
  });

  it('a finish after the lease counts, unless somebody else has begun: the effect has happened', async () => {
    const { store, advance } = await open();
    const { once } = store;
    await once.begin('late', 'a', 1_000);
    await once.begin('lost', 'a', 1_000);
    await advance(1_001);
    expect(await once.finish('late', 'a', '1', HOUR_MS)).toBe(true);
    expect(await once.begin('late', 'b', 1_000)).toEqual({ kind: 'done', result: '1' });
    expect(await once.begin('lost', 'b', 1_000)).toEqual({ kind: 'run' });
    expect(await once.finish('lost', 'a', '1', HOUR_MS)).toBe(false);
  });
}
