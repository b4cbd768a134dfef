import { until } from '@millrace/testkit';
import { expect, it } from 'vitest';
import type { GroupEvent } from '../../src/model.js';
import type { WakeUpKind } from '../../src/ports.js';
import {
  deadly,
  failure,
  fill,
  group,
  Instance,
  job,
  jobs,
  type OpenStore,
  retry,
  type StoreHarness,
  settle,
  succeed,
  success,
} from './tools.js';

/** Counts the rings of these kinds. */
function bell({ store }: StoreHarness, ...kinds: readonly WakeUpKind[]) {
  let rings = 0;
  const ends = kinds.map((kind) =>
    store.wakeUps.listen(kind, () => {
      rings += 1;
    }),
  );
  return {
    end: () => {
      for (const end of ends) end();
    },
    get rings() {
      return rings;
    },
    /** Does something and waits for the ring that follows. */
    async ringsFor(what: string, act: () => Promise<unknown>): Promise<void> {
      const before = rings;
      await act();
      await until(() => rings > before, { what: `a ${kinds.join(' or ')} wake-up after ${what}` });
    },
  };
}

/** `listen`. */
export function waking(open: OpenStore): void {
  it('fetch: a lane gets work', async () => {
    const harness = await open();
    const { groups, leases, deadLetters } = harness.store;
    const instance = new Instance(harness);
    const fetch = bell(harness, 'fetch');
    await fetch.ringsFor('add', () => fill(harness, group('/g'), 2));
    await groups.pause('/g');
    await fetch.ringsFor('resume', () => groups.resume('/g'));
    const [a, b] = await instance.exactly(2);
    await groups.pause('/g');
    await leases.giveBack([a]);
    await fetch.ringsFor('resume after a give-back', () => groups.resume('/g'));
    await settle(harness, deadly(b));
    await instance.exactly(1);
    await fetch.ringsFor('redrive', () => deadLetters.redrive({}, 10));
  });

  it('fetch or work: ready gets room, a cap or a limit is free', async () => {
    const harness = await open({ backpressure: { readyQueueMaxSize: 2 } }, 'one shard');
    const { groups } = harness.store;
    const instance = new Instance(harness);
    // Workers that wait take turns themselves.
    const fetch = bell(harness, 'fetch', 'work');
    await fill(harness, group('/g'), 4);
    expect((await instance.fetch()).room).toBe(false);
    await fetch.ringsFor('reserve from a full ready', () => instance.reserve(2));
    await instance.finish();

    await fill(harness, group('/capped', { concurrency: 1 }), 4);
    const [lease] = await instance.exactly(1);
    await instance.fetch();
    await fetch.ringsFor('the slot of a full group came free', () => settle(harness, success(lease)));
    await instance.exactly(1);
    await instance.fetch();
    await fetch.ringsFor('a raised cap', () => groups.update('/capped', { concurrency: 2 }));

    await fill(harness, group('t/slow'), 4);
    await groups.updateTenant('t', { rps: 0.01, burst: 1 });
    await instance.take();
    await fetch.ringsFor('a raised rate', () => groups.updateTenant('t', { rps: null }));
  });

  it('fetch: somebody waits again, and a group was parked while nobody did', async () => {
    const harness = await open({}, 'one shard');
    const { leases, instances } = harness.store;
    const whose = { id: 'one', startedAt: 1, slots: 1, waiting: 0, processorTypes: ['work'] };
    await instances.heartbeat(whose);
    const fetch = bell(harness, 'fetch');
    await fetch.ringsFor('add', () => fill(harness, group('/slow', { rps: 0.01, burst: 1 }), 3));
    await fetch.ringsFor('another add', () => fill(harness, group('/free'), 2));
    const reserve = (seq: number) => leases.reserve({ instanceId: 'one', seq, max: 1, turns: 1 });
    // The third looks at the slow one first, which has spent its token.
    for (const seq of [1, 2, 3]) expect((await reserve(seq)).jobs).toHaveLength(1);
    await fetch.ringsFor('a reserve that found nothing', () => reserve(4));
    expect((await harness.store.gate.fetch(10)).nextInMs).toBeGreaterThan(1000);
  });

  it('work: ready gets jobs', async () => {
    const harness = await open();
    const { leases, gate } = harness.store;
    const instance = new Instance(harness);
    const work = bell(harness, 'work');
    await fill(harness, group('/g'), 2);
    await work.ringsFor('fetch', () => instance.fetch());
    const [a, b] = await instance.exactly(2);
    await work.ringsFor('a give-back', () => leases.giveBack([a]));
    await settle(harness, retry(b, { delayMs: 1000 }));
    await instance.reserve();
    await harness.advance(1001);
    await work.ringsFor('dispatch', () => gate.dispatch(10));
    await instance.finish();
    await fill(harness, group('/h'), 1);
    await work.ringsFor('admit', () => gate.admit('/h', 'j0'));
  });
}

/** `listen` for due times, and how listening ends. */
export function wakingOnTime(open: OpenStore): void {
  it('dispatch: an earlier due time appears', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    const dispatch = bell(harness, 'dispatch');
    const now = await harness.now();
    const later = (id: string, ms: number) => fill(harness, group('/g'), [job(id, { notBefore: now + ms })]);
    await dispatch.ringsFor('the first scheduled job', () => later('a', 100_000));
    await dispatch.ringsFor('an earlier one', () => later('b', 50_000));
    await fill(harness, group('/g'), 2);
    const [lease] = await instance.exactly(2);
    await dispatch.ringsFor('a retry', () => settle(harness, retry(lease, { delayMs: 20_000 })));
    await harness.advance(harness.config.reliableQueue.ackTimeoutMs + 1);
    await harness.store.gate.dispatch(10);
    await dispatch.ringsFor('a recovery', () => harness.store.leases.recover([0]));
  });

  it('a bell that throws harms nobody', async () => {
    const harness = await open();
    const end = harness.store.wakeUps.listen('fetch', () => {
      throw new Error('a bell broke');
    });
    const good = bell(harness, 'fetch');
    await good.ringsFor('add', () => fill(harness, group('/g'), 1));
    end();
  });

  it('who has stopped listening hears nothing more; two listeners both hear', async () => {
    const harness = await open();
    const [one, two] = [bell(harness, 'fetch'), bell(harness, 'fetch')];
    await fill(harness, group('/g'), 1);
    await until(() => one.rings > 0 && two.rings > 0, { what: 'both bells to ring' });
    one.end();
    one.end();
    const before = one.rings;
    await two.ringsFor('another group', () => fill(harness, group('/h'), 1));
    expect(one.rings).toBe(before);
  });
}

/** Collects events. */
function hear({ store }: StoreHarness) {
  const events: GroupEvent[] = [];
  const end = store.wakeUps.subscribe((event) => events.push(event));
  const of = (...types: GroupEvent['type'][]) => events.filter(({ type }) => types.includes(type));
  return {
    end,
    of,
    async until(type: GroupEvent['type'], count = 1): Promise<readonly GroupEvent[]> {
      await until(() => of(type).length >= count, { what: `${count} × ${type}` });
      return of(type);
    },
  };
}

/** `subscribe`. */
export function announcing(open: OpenStore): void {
  it('the life of a group: started once, completed once', async () => {
    const harness = await open();
    const ear = hear(harness);
    await fill(harness, group('t/g'), 3);
    const instance = new Instance(harness);
    const first = await instance.exactly(1);
    const facts = { groupId: 't/g', tenant: 't', round: 1, at: expect.any(Number) };
    expect(await ear.until('group.started')).toMatchObject([{ ...facts, status: 'CREATED' }]);
    await succeed(harness, first);
    await harness.store.groups.seal('t/g');
    await instance.finish();
    expect(await ear.until('group.completed')).toMatchObject([{ ...facts, status: 'COMPLETED' }]);
    expect(ear.of('group.started')).toHaveLength(1);
    expect(ear.of('group.failed')).toEqual([]);
  });

  it('an empty group completes without having started', async () => {
    const harness = await open();
    const ear = hear(harness);
    await harness.store.groups.create(group('/g'));
    await harness.store.groups.seal('/g');
    await harness.store.groups.seal('/g');
    expect(await ear.until('group.completed')).toMatchObject([{ groupId: 'g', tenant: '', round: 1 }]);
    expect(ear.of('group.started')).toEqual([]);
  });

  it('a cancelled group has failed, once', async () => {
    const harness = await open();
    const ear = hear(harness);
    await fill(harness, group('/g'), 3);
    await harness.store.groups.cancel('/g');
    await harness.store.groups.cancel('/g');
    expect(await ear.until('group.failed')).toMatchObject([{ groupId: 'g', status: 'CANCELLED' }]);
    expect(ear.of('group.completed')).toEqual([]);
  });
}

/** `subscribe` to letters and progress. */
export function announcingMore(open: OpenStore): void {
  it('a dead letter, not an ordinary failure; the next round says its number', async () => {
    const harness = await open();
    const ear = hear(harness);
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 2);
    await harness.store.groups.seal('/g');
    const [a, b] = await instance.exactly(2);
    await settle(harness, failure(a));
    await settle(harness, deadly(b));
    await settle(harness, deadly(b));
    expect(await ear.until('job.dead')).toMatchObject([{ groupId: 'g', jobId: 'j1', round: 1 }]);
    await ear.until('group.completed');
    await harness.store.deadLetters.redrive({}, 10);
    await instance.finish();
    const ended = await ear.until('group.completed', 2);
    expect(ended.map(({ round }) => round)).toEqual([1, 2]);
    expect(ear.of('job.dead')).toHaveLength(1);
  });

  it('progress at most once per second and group', async () => {
    const harness = await open();
    const ear = hear(harness);
    await fill(harness, group('/g'), jobs(60));
    await fill(harness, group('/h'), jobs(1));
    const leases = await new Instance(harness).exactly(61);
    for (const lease of leases) {
      await settle(harness, success(lease));
      await harness.advance(50);
    }
    const progress = (await ear.until('group.progress', 3)).filter(({ groupId }) => groupId === 'g');
    expect(progress.length).toBeGreaterThanOrEqual(3);
    progress.slice(1).forEach(({ at }, n) => {
      expect(at - (progress[n]?.at ?? at)).toBeGreaterThanOrEqual(1000);
    });
  });

  it('who has unsubscribed hears nothing more, and a listener that throws harms nobody', async () => {
    const harness = await open();
    const [one, two] = [hear(harness), hear(harness)];
    const endBroken = harness.store.wakeUps.subscribe(() => {
      throw new Error('a listener broke');
    });
    await harness.store.groups.create(group('/g'));
    one.end();
    expect(await harness.store.groups.seal('/g')).toMatchObject({ kind: 'done', status: 'COMPLETED' });
    await two.until('group.completed');
    expect(one.of('group.completed')).toEqual([]);
    endBroken();
  });
}
