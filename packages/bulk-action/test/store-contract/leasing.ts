import { expect, it } from 'vitest';
import {
  countsOf,
  fill,
  group,
  HOUR_MS,
  Instance,
  job,
  jobOf,
  type OpenStore,
  placeOf,
  retry,
  settle,
  succeed,
  success,
  viewOf,
} from './tools.js';

/** `reserve`. */
export function reserving(open: OpenStore): void {
  it('hands out everything a worker needs, under a lease', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    const now = await harness.now();
    const definition = group('t/g', { traceparent: 'the group', deadline: now + 2 * HOUR_MS });
    const own = { cost: 3, payload: '{"a":[1,"é"]}', processorType: 'mail', deadline: now + HOUR_MS };
    await fill(harness, definition, [job('a', { ...own, traceparent: 'own' }), job('b')]);
    await harness.advance(4000);
    const [a, b] = await instance.exactly(2);
    expect(a).toMatchObject({
      key: 't/g',
      jobId: 'a',
      tenant: 't',
      tenantId: 't',
      processorType: 'mail',
      cost: 3,
      retryCount: 0,
      attempt: 1,
      deadline: now + HOUR_MS,
      traceparent: 'own',
    });
    expect(JSON.parse(a.payload)).toEqual({ a: [1, 'é'] });
    expect(a.createdAt).toBeGreaterThanOrEqual(now);
    expect(a.waitedMs).toBeGreaterThanOrEqual(4000);
    expect(b).toMatchObject({ traceparent: 'the group', deadline: now + 2 * HOUR_MS });
    expect(b.token).not.toBe(a.token);
    const view = await jobOf(harness, 't/g', 'a');
    expect(view).toMatchObject({ status: 'PROCESSING', place: 'IN_FLIGHT', attempts: 1 });
    expect(view.startedAt).toBeGreaterThanOrEqual(now + 4000);
    expect(await viewOf(harness, 't/g')).toMatchObject({ startedAt: expect.any(Number) });
  });

  it('a job that was never ready to start before waits from its due time', async () => {
    const harness = await open();
    const now = await harness.now();
    await fill(harness, group('/g'), [job('a', { notBefore: now + HOUR_MS })]);
    await harness.advance(HOUR_MS + 100);
    await harness.store.gate.dispatch(1);
    const [lease] = await new Instance(harness).exactly(1);
    expect(lease.waitedMs).toBeGreaterThanOrEqual(100);
    expect(lease.waitedMs).toBeLessThan(HOUR_MS / 2);
  });

  it('an empty ready gives nothing', async () => {
    const { store } = await open();
    expect(await store.leases.reserve({ instanceId: 'one', seq: 1, max: 10 })).toEqual({
      jobs: [],
      missing: [],
      rateDenied: 0,
    });
  });
}

/** `reserve` by several, and repeated. */
export function reservingAgain(open: OpenStore): void {
  it('gives at most what is asked, and no job to two instances', async () => {
    const harness = await open();
    const [one, two] = [new Instance(harness, 'one'), new Instance(harness, 'two')];
    await fill(harness, group('/g'), 10);
    await one.fetch();
    const mine = await one.reserve(3);
    const yours = await two.reserve(4);
    const rest = await one.reserve(100);
    expect([mine.length, yours.length, rest.length]).toEqual([3, 4, 3]);
    const all = [...mine, ...yours, ...rest];
    expect(new Set(all.map(({ jobId }) => jobId)).size).toBe(10);
    expect(new Set(all.map(({ token }) => token)).size).toBe(10);
  });

  it('the same number again gives the same answer, a lower one nothing', async () => {
    const harness = await open();
    const { leases } = harness.store;
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 6);
    await instance.fetch();
    const ask = (seq: number) => leases.reserve({ instanceId: 'one', seq, max: 3 });
    const first = await ask(5);
    expect(first.jobs).toHaveLength(3);
    const again = await ask(5);
    expect(again.jobs.map(({ token }) => token)).toEqual(first.jobs.map(({ token }) => token));
    expect(again.jobs.map(({ payload, attempt }) => [payload, attempt])).toEqual(
      first.jobs.map(({ payload, attempt }) => [payload, attempt]),
    );
    expect((await ask(4)).jobs).toEqual([]);
    expect(await countsOf(harness, '/g')).toMatchObject({ inFlight: 3, ready: 3 });
    await succeed(harness, first.jobs.slice(0, 1));
    await leases.giveBack(first.jobs.slice(1, 2));
    expect((await ask(5)).jobs.map(({ jobId }) => jobId)).toEqual(['j2']);
    // The numbers of another instance are its own.
    expect((await leases.reserve({ instanceId: 'two', seq: 1, max: 1 })).jobs).toHaveLength(1);
    expect((await ask(6)).jobs.length).toBeGreaterThanOrEqual(2);
  });

  it('an empty answer is an answer too', async () => {
    const harness = await open();
    const { leases } = harness.store;
    const ask = (seq: number) => leases.reserve({ instanceId: 'one', seq, max: 3 });
    expect((await ask(1)).jobs).toEqual([]);
    await fill(harness, group('/g'), 1);
    await harness.store.gate.fetch(1);
    expect((await ask(1)).jobs).toEqual([]);
    expect((await ask(2)).jobs).toHaveLength(1);
  });
}

/** `renew`. */
export function renewing(open: OpenStore): void {
  it('a renewed lease lasts on, the others expire', async () => {
    const harness = await open();
    const { leases } = harness.store;
    const { ackTimeoutMs } = harness.config.reliableQueue;
    await fill(harness, group('/g'), 2);
    const [a, b] = await new Instance(harness).exactly(2);
    for (let n = 0; n < 3; n++) {
      await harness.advance(ackTimeoutMs / 2);
      expect(await leases.renew([a])).toEqual(['ok']);
    }
    expect(await leases.recover([0, 0, 0])).toMatchObject({ recovered: 1, dead: [], more: false });
    expect(await leases.renew([b, a])).toEqual(['lost', 'ok']);
    expect(await placeOf(harness, '/g', 'j0')).toBe('IN_FLIGHT');
    await succeed(harness, [a]);
  });

  it('answers in the order asked: lost to another token, settled, unknown; cancelled', async () => {
    const harness = await open();
    const { leases, groups } = harness.store;
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 3);
    await fill(harness, group('/h'), 1);
    const [a, b, c, d] = await instance.exactly(4);
    const byKey = [a, b, c, d].filter(({ key }) => key === '/g');
    const other = [a, b, c, d].filter(({ key }) => key === '/h');
    const [one, two, three] = byKey as [typeof a, typeof a, typeof a];
    await settle(harness, success(one));
    await groups.cancel('/h');
    const asked = [
      three,
      one,
      ...other,
      { ...two, token: two.token + 1_000_000 },
      { ...two, jobId: 'none' },
      { ...two, key: '/none' },
      two,
    ];
    expect(await leases.renew(asked)).toEqual(['ok', 'lost', 'cancelled', 'lost', 'lost', 'lost', 'ok']);
    expect(await leases.renew([])).toEqual([]);
  });
}

/** `giveBack` and `giveBackAll`. */
export function givingBack(open: OpenStore): void {
  it('into ready when the gate lets it, with every count as it was', async () => {
    const harness = await open();
    const { leases } = harness.store;
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 1);
    await settle(harness, retry((await instance.exactly(1))[0], { delayMs: 1000 }));
    await harness.advance(1001);
    await harness.store.gate.dispatch(1);
    const [lease] = await instance.exactly(1);
    await instance.beat();
    expect(await leases.giveBack([lease])).toEqual(['ready']);
    expect(await jobOf(harness, '/g', 'j0')).toMatchObject({
      status: 'PENDING',
      place: 'READY',
      retryCount: 1,
      orphanCount: 0,
    });
    expect(await leases.renew([lease])).toEqual(['lost']);
    expect(await leases.settle([success(lease)])).toEqual([{ status: 'stale' }]);
    const [again] = await instance.reserve();
    expect(again).toMatchObject({ jobId: 'j0', retryCount: 1 });
    expect(again?.token).toBeGreaterThan(lease.token);
  });

  it('to the head of its lane when the gate refuses', async () => {
    const harness = await open({ backpressure: { readyQueueMaxSize: 2 } }, 'one shard');
    const { leases, groups } = harness.store;
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 3);
    const [lease] = await instance.exactly(1);
    await groups.pause('/g');
    expect(await leases.giveBack([lease])).toEqual(['lane']);
    expect(await placeOf(harness, '/g', 'j0')).toBe('LANE');
    await groups.resume('/g');
    const [again] = await instance.exactly(1);
    expect(again.jobId).toBe('j0');
    // Nobody else wants the turn: only ready, which is full, can refuse.
    expect(await instance.fetch()).toMatchObject({ ready: 2, room: false });
    expect(await leases.giveBack([again])).toEqual(['lane']);
    expect((await harness.store.views.queues()).ready).toBe(2);
    expect(await countsOf(harness, '/g')).toMatchObject({ registered: 3, pending: 3, inFlight: 0 });
  });
}

/** `giveBack` of what is not held, and `giveBackAll`. */
export function givingAllBack(open: OpenStore): void {
  it('answers in the order asked: stale, gone', async () => {
    const harness = await open();
    const { leases } = harness.store;
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 3);
    const [a, b, c] = await instance.exactly(3);
    await settle(harness, success(a));
    await instance.beat();
    const wrong = { ...b, token: b.token + 1_000_000 };
    const answers = await leases.giveBack([a, wrong, { ...b, jobId: 'none' }, { ...b, key: '/none' }, c]);
    expect(answers).toEqual(['stale', 'stale', 'gone', 'gone', 'ready']);
    expect(await leases.renew([b])).toEqual(['ok']);
    expect(await leases.giveBack([c])).toEqual(['stale']);
    expect(await countsOf(harness, '/g')).toMatchObject({ success: 1, inFlight: 1, ready: 1 });
  });

  it('giveBackAll returns what this instance holds, in bounded steps', async () => {
    const harness = await open();
    const { leases } = harness.store;
    const [one, two] = [new Instance(harness, 'one'), new Instance(harness, 'two')];
    await fill(harness, group('/g'), 8);
    await one.exactly(5);
    const theirs = await two.exactly(3);
    await one.beat();
    expect(await leases.giveBackAll('one', 3)).toEqual({ returned: 3, more: true });
    expect(await leases.giveBackAll('one', 3)).toEqual({ returned: 2, more: false });
    expect(await leases.giveBackAll('one', 3)).toEqual({ returned: 0, more: false });
    expect(await leases.giveBackAll('nobody', 3)).toEqual({ returned: 0, more: false });
    expect(await leases.renew(theirs)).toEqual(['ok', 'ok', 'ok']);
    expect(await countsOf(harness, '/g')).toMatchObject({ inFlight: 3, pending: 5 });
    const back = await one.take();
    expect(back.map(({ jobId }) => jobId).toSorted()).toEqual(['j0', 'j1', 'j2', 'j3', 'j4']);
    expect(back.every(({ retryCount }) => retryCount === 0)).toBe(true);
  });
}

/** `recover`. */
export function recovering(open: OpenStore): void {
  it('takes expired leases away, in bounded steps; nobody else is touched', async () => {
    const harness = await open();
    const { leases } = harness.store;
    const { ackTimeoutMs } = harness.config.reliableQueue;
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 5);
    const lost = await instance.exactly(3);
    expect(await leases.recover([0.5, 0.5])).toEqual({ recovered: 0, dead: [], more: false });
    await harness.advance(ackTimeoutMs - 5000);
    const fresh = await instance.exactly(2);
    await harness.advance(5001);
    expect(await leases.recover([0.1, 0.9])).toEqual({ recovered: 2, dead: [], more: true });
    expect(await leases.recover([0.5, 0.5])).toEqual({ recovered: 1, dead: [], more: false });
    const now = await harness.now();
    for (const { jobId } of lost) {
      const view = await jobOf(harness, '/g', jobId);
      expect(view).toMatchObject({
        status: 'PENDING',
        place: 'NON_READY',
        reason: 'ORPHANED',
        retryCount: 0,
        orphanCount: 1,
      });
      expect(view.dueAt).toBeLessThanOrEqual(now + harness.config.backpressure.maxBackoffMs);
    }
    expect(await leases.renew(fresh)).toEqual(['ok', 'ok']);
    expect((await harness.store.views.queues()).nonReadyByReason.ORPHANED).toBe(3);
  });

  it('who comes late with an old token changes nothing', async () => {
    const harness = await open();
    const { leases, gate } = harness.store;
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 1);
    const [old] = await instance.exactly(1);
    await harness.advance(harness.config.reliableQueue.ackTimeoutMs + 1);
    await leases.recover([0]);
    expect(await leases.settle([success(old)])).toEqual([{ status: 'stale' }]);
    expect(await leases.giveBack([old])).toEqual(['stale']);
    await harness.advance(harness.config.backpressure.maxBackoffMs);
    await gate.dispatch(1);
    const [lease] = await instance.exactly(1);
    expect(lease).toMatchObject({ attempt: 2, retryCount: 0 });
    expect(lease.token).toBeGreaterThan(old.token);
    expect(await leases.renew([old])).toEqual(['lost']);
    expect(await leases.settle([success(old)])).toEqual([{ status: 'stale' }]);
    expect(await leases.renew([lease])).toEqual(['ok']);
    await succeed(harness, [lease]);
    expect(await countsOf(harness, '/g')).toMatchObject({ success: 1, pending: 0, inFlight: 0 });
  });
}

/** `recover` at its edges. */
export function burying(open: OpenStore): void {
  it('a report that comes before the recovery still counts', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 1);
    const [lease] = await new Instance(harness).exactly(1);
    await harness.advance(harness.config.reliableQueue.ackTimeoutMs + 1);
    await succeed(harness, [lease]);
    expect(await harness.store.leases.recover([0])).toMatchObject({ recovered: 0, dead: [] });
    expect(await countsOf(harness, '/g')).toMatchObject({ success: 1, pending: 0 });
  });

  it('past maxOrphanCount a job is dead, and its neighbours are not', async () => {
    const harness = await open({ reliableQueue: { maxOrphanCount: 2 } });
    const { leases, gate, deadLetters, groups } = harness.store;
    const instance = new Instance(harness);
    await fill(harness, group('/g', { traceparent: 'the trace' }), [job('killer')]);
    await groups.seal('/g');
    for (let orphaned = 1; orphaned <= 3; orphaned++) {
      await instance.exactly(1);
      await harness.advance(harness.config.reliableQueue.ackTimeoutMs + 1);
      const answer = await leases.recover([0.5]);
      if (orphaned < 3) expect(answer).toEqual({ recovered: 1, dead: [], more: false });
      else expect(answer.dead).toEqual([{ key: '/g', jobId: 'killer', traceparent: 'the trace' }]);
      await harness.advance(harness.config.backpressure.maxBackoffMs);
      await gate.dispatch(1);
    }
    expect(await jobOf(harness, '/g', 'killer')).toMatchObject({
      status: 'FAILED',
      place: 'DEAD',
      retryCount: 0,
    });
    expect((await deadLetters.list({}, 10)).items).toMatchObject([
      { code: 'ORPHANED', job: { id: 'killer', groupId: 'g', payload: { id: 'killer' } } },
    ]);
    expect(await viewOf(harness, '/g')).toMatchObject({ status: 'COMPLETED', counts: { failed: 1 } });
  });

  it('no random number, no recovery', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 1);
    await new Instance(harness).exactly(1);
    await harness.advance(harness.config.reliableQueue.ackTimeoutMs + 1);
    expect(await harness.store.leases.recover([])).toMatchObject({ recovered: 0, dead: [] });
    expect(await countsOf(harness, '/g')).toMatchObject({ inFlight: 1 });
  });
}
