import { expect, it } from 'vitest';
import { FAILED_TRIES_KEPT } from '../../src/ports.js';
import {
  countsOf,
  deadly,
  expectAt,
  failure,
  fill,
  group,
  HOUR_MS,
  Instance,
  job,
  jobOf,
  jobs,
  type OpenStore,
  placeOf,
  retry,
  settle,
  success,
  viewOf,
} from './tools.js';

/** Outcomes. */
export function settling(open: OpenStore): void {
  it('success: counted, payload dropped, the last one ends the group', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 2);
    await harness.store.groups.seal('/g');
    const [a, b] = await new Instance(harness).exactly(2);
    expect((await viewOf(harness, '/g')).status).toBe('RUNNING');
    expect(await harness.store.leases.settle([success(a)])).toEqual([
      { status: 'accepted', jobStatus: 'COMPLETED', groupStatus: 'RUNNING' },
    ]);
    const view = await jobOf(harness, '/g', 'j0');
    expect(view).toMatchObject({ status: 'COMPLETED', place: 'DONE', attempts: 1 });
    expect(view.payload).toBeUndefined();
    expect(view.endedAt).toBeGreaterThanOrEqual(view.startedAt ?? Number.POSITIVE_INFINITY);
    expect(await harness.store.leases.settle([success(b)])).toEqual([
      { status: 'accepted', jobStatus: 'COMPLETED', groupStatus: 'COMPLETED' },
    ]);
    const ended = await viewOf(harness, '/g');
    expect(ended).toMatchObject({ status: 'COMPLETED', counts: { success: 2, pending: 0, inFlight: 0 } });
    expect(ended.endedAt).toBeGreaterThanOrEqual(ended.startedAt ?? Number.POSITIVE_INFINITY);
  });

  it('progress is a registration, a first start and a settlement', async () => {
    const harness = await open();
    const times: number[] = [];
    const note = async () => {
      times.push((await viewOf(harness, '/g')).progressAt);
      await harness.advance(5000);
    };
    await harness.store.groups.create(group('/g'));
    await note();
    await fill(harness, group('/g'), 1);
    await note();
    const [lease] = await new Instance(harness).exactly(1);
    await note();
    await harness.store.leases.renew([lease]);
    await note();
    await settle(harness, success(lease));
    await note();
    const steps = times.slice(1).map((time, n) => time > (times[n] ?? 0));
    expect(steps).toEqual([true, true, false, true]);
  });

  it('an open group does not end, however long registration takes', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 1);
    const [lease] = await new Instance(harness).exactly(1);
    expect(await settle(harness, success(lease))).toMatchObject({ groupStatus: 'CREATED' });
    expect(await harness.store.views.result('/g')).toBeUndefined();
  });
}

/** Outcomes that try again. */
export function retrying(open: OpenStore): void {
  it('retry: waits outside the fair queue until its time', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 1);
    const [first] = await instance.exactly(1);
    const now = await harness.now();
    expect(await settle(harness, retry(first, { delayMs: 7000 }))).toMatchObject({ jobStatus: 'PENDING' });
    const view = await jobOf(harness, '/g', 'j0');
    expect(view).toMatchObject({
      place: 'NON_READY',
      reason: 'TRANSIENT_ERROR',
      retryCount: 1,
      payload: { id: 'j0' },
      failedTries: [{ ms: 10, code: 'FLAKY', message: 'not this time' }],
    });
    expectAt(view.dueAt, now + 7000);
    expect(await countsOf(harness, '/g')).toMatchObject({ pending: 1, nonReady: 1, inFlight: 0 });
    expect(await instance.take()).toEqual([]);
    await harness.advance(7001);
    await harness.store.gate.dispatch(10);
    const [second] = await instance.exactly(1);
    expect(second).toMatchObject({ jobId: 'j0', retryCount: 1, attempt: 2, payload: first.payload });
    expect(second.token).toBeGreaterThan(first.token);
  });

  it.each(['API_THROTTLED', 'NO_PROCESSOR'] as const)('retry for %s spends no retry', async (reason) => {
    const harness = await open();
    await fill(harness, group('/g'), 1);
    const [lease] = await new Instance(harness).exactly(1);
    await settle(harness, retry(lease, { reason, spendsRetry: false, delayMs: 3000 }));
    expect(await jobOf(harness, '/g', 'j0')).toMatchObject({ reason, retryCount: 0, attempts: 1 });
    expect((await harness.store.views.queues()).nonReadyByReason[reason]).toBe(1);
    const throttled = reason === 'API_THROTTLED';
    expect(await viewOf(harness, '/g')).toMatchObject({ throttled: throttled ? 1 : 0 });
    if (throttled) expect((await viewOf(harness, '/g')).lastBackoffMs).toBe(3000);
  });
}

/** Outcomes that end a job as failed, and what is kept of its tries. */
export function failing(open: OpenStore): void {
  it('a retry is never due after the deadline of job or group', async () => {
    const harness = await open();
    const now = await harness.now();
    const soon = now + 20_000;
    await fill(harness, group('/g'), [job('j', { deadline: soon })]);
    await fill(harness, group('/h', { deadline: soon }), [job('j')]);
    for (const lease of await new Instance(harness).exactly(2)) {
      await settle(harness, retry(lease, { delayMs: HOUR_MS }));
      expect((await jobOf(harness, lease.key, 'j')).dueAt).toBeLessThanOrEqual(soon + 1);
    }
    await harness.advance(20_002);
    await harness.store.gate.dispatch(10);
    expect(await jobOf(harness, '/g', 'j')).toMatchObject({ status: 'FAILED', retryCount: 1 });
    expect(await placeOf(harness, '/h', 'j')).not.toBe('NON_READY');
  });

  it('failure: counted, FAILED; a dead one is kept as a letter', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 2);
    await harness.store.groups.seal('/g');
    const [a, b] = await new Instance(harness).exactly(2);
    expect(await settle(harness, failure(a))).toMatchObject({ jobStatus: 'FAILED', groupStatus: 'RUNNING' });
    expect(await settle(harness, deadly(b))).toMatchObject({ jobStatus: 'FAILED', groupStatus: 'COMPLETED' });
    const failed = { status: 'FAILED', failedTries: [{ code: 'BROKEN', message: 'never again' }] };
    expect(await jobOf(harness, '/g', 'j0')).toMatchObject({ ...failed, place: 'DONE' });
    expect(await jobOf(harness, '/g', 'j1')).toMatchObject({ ...failed, place: 'DEAD' });
    expect((await harness.store.deadLetters.list({}, 10)).items.map((letter) => letter.job.id)).toEqual([
      'j1',
    ]);
    expect(await viewOf(harness, '/g')).toMatchObject({ status: 'COMPLETED', counts: { failed: 2 } });
  });

  it(`the last ${FAILED_TRIES_KEPT} failed tries are kept, oldest first`, async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 1);
    for (let n = 1; n <= 8; n++) {
      const [lease] = await instance.exactly(1);
      await settle(harness, retry(lease, { delayMs: 1000, error: { code: `E${n}`, message: `try ${n}` } }));
      await harness.advance(1001);
      await harness.store.gate.dispatch(1);
    }
    const { failedTries, retryCount } = await jobOf(harness, '/g', 'j0');
    expect(failedTries.map(({ code }) => code)).toEqual(['E4', 'E5', 'E6', 'E7', 'E8']);
    expect(failedTries.map(({ at }) => at)).toEqual(failedTries.map(({ at }) => at).toSorted());
    expect(retryCount).toBe(8);
  });
}

/** Who may settle. */
export function fencing(open: OpenStore): void {
  it('answers in the order asked: accepted, stale, gone', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 2);
    const [a, b] = await new Instance(harness).exactly(2);
    const wrong = { ...success(b), token: b.token + 1_000_000 };
    const answers = await harness.store.leases.settle([
      wrong,
      success(a),
      { ...success(b), jobId: 'none' },
      { ...success(b), key: '/none' },
      failure(b),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['stale', 'accepted', 'gone', 'gone', 'accepted']);
    expect(answers[4]).toMatchObject({ jobStatus: 'FAILED' });
    expect(await countsOf(harness, '/g')).toMatchObject({ success: 1, failed: 1 });
    expect(await harness.store.leases.settle([])).toEqual([]);
  });

  it('the accepted token again answers as the first time and counts nothing, also in one batch', async () => {
    const harness = await open();
    const { leases } = harness.store;
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 4);
    const [a, b, c, d] = await instance.exactly(4);
    const reports = [success(a), failure(b), deadly(c), retry(d, { delayMs: 1000 })];
    const first = await leases.settle(reports);
    expect(first.map(({ status }) => status)).toEqual(Array(4).fill('accepted'));
    const counts = await countsOf(harness, '/g');
    const again = await leases.settle([...reports, ...reports]);
    expect(again.map(({ status, jobStatus }) => [status, jobStatus])).toEqual(
      [...first, ...first].map(({ status, jobStatus }) => [status, jobStatus]),
    );
    // What was counted first stands, whatever the repeat says.
    expect(await leases.settle([failure(a), success(b)])).toMatchObject([
      { status: 'accepted', jobStatus: 'COMPLETED' },
      { status: 'accepted', jobStatus: 'FAILED' },
    ]);
    expect(await countsOf(harness, '/g')).toEqual(counts);
    expect(counts).toMatchObject({ success: 1, failed: 2, nonReady: 1 });
    expect((await jobOf(harness, '/g', 'j3')).retryCount).toBe(1);

    await harness.advance(1001);
    await harness.store.gate.dispatch(1);
    const [next] = await instance.exactly(1);
    expect(['accepted', 'stale']).toContain((await leases.settle([retry(d)]))[0]?.status);
    expect(await leases.renew([next])).toEqual(['ok']);
    await settle(harness, success(next));
    expect(await leases.settle([retry(d)])).toEqual([{ status: 'stale' }]);
    expect(await countsOf(harness, '/g')).toMatchObject({ success: 2, failed: 2, nonReady: 0 });
  });
}

/** Who may not settle. */
export function fencingTheEnd(open: OpenStore): void {
  it('the repeat of the settlement that ended the group says so again', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 1);
    await harness.store.groups.seal('/g');
    const [lease] = await new Instance(harness).exactly(1);
    const first = await settle(harness, success(lease));
    expect(await settle(harness, success(lease))).toEqual(first);
    expect(first).toMatchObject({ groupStatus: 'COMPLETED' });
    expect(await harness.store.views.result('/g')).toMatchObject({ success: 1, durations: { count: 1 } });
  });

  it('a try of a round that has ended is not counted in the next one', async () => {
    const harness = await open();
    const { groups, deadLetters } = harness.store;
    await fill(harness, group('/g'), 3);
    const [dead, late] = await new Instance(harness).exactly(2);
    await settle(harness, deadly(dead));
    await groups.cancel('/g');
    expect(await deadLetters.redrive({ key: '/g' }, 10)).toEqual({ moved: 1, more: false });
    expect(await viewOf(harness, '/g')).toMatchObject({ status: 'RUNNING', round: 2 });
    expect(await harness.store.leases.settle([success(late)])).toEqual([{ status: 'cancelled' }]);
    expect(await countsOf(harness, '/g')).toMatchObject({
      success: 0,
      pending: 1,
      inFlight: 0,
      cancelled: 2,
    });
  });

  it('a job that never started cannot be settled', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 1);
    expect(await harness.store.leases.settle([success({ key: '/g', jobId: 'j0', token: 1 })])).toEqual([
      { status: 'stale' },
    ]);
    expect(await countsOf(harness, '/g')).toMatchObject({ success: 0, pending: 1 });
  });
}

/** The result of a round. */
export function resulting(open: OpenStore): void {
  it('adds up what was settled', async () => {
    const harness = await open();
    const { leases, groups, views } = harness.store;
    await fill(harness, group('/g'), 4);
    await groups.seal('/g');
    const [a, b, c, d] = await new Instance(harness).exactly(4);
    await harness.advance(10_000);
    const other = { error: { code: 'OTHER', message: 'of another kind' } };
    await leases.settle([success(a, 100), success(b, 300), failure(c), failure(d, other)]);
    const result = await views.result('/g');
    expect(result).toMatchObject({
      groupId: 'g',
      round: 1,
      status: 'COMPLETED',
      total: 4,
      success: 2,
      failed: 2,
      cancelled: 0,
      successRate: 0.5,
      averageDurationMs: 105,
      durations: { count: 4, sum: 420, min: 10, max: 300 },
      failedByCode: { BROKEN: 1, OTHER: 1 },
    });
    expect(result).not.toHaveProperty('code');
    expect(result?.failedJobs).toEqual([
      { jobId: c.jobId, code: 'BROKEN', message: 'never again' },
      { jobId: d.jobId, code: 'OTHER', message: 'of another kind' },
    ]);
    expect(result?.durationMs).toBeGreaterThanOrEqual(10_000);
    expect(await views.result('/g', 1)).toEqual(result);
    expect(await views.result('/g', 2)).toBeUndefined();
    expect(await views.result('/none')).toBeUndefined();
  });

  it('names failed jobs up to the maximum and counts all', async () => {
    const harness = await open({ aggregator: { failedDetailsMaxCount: 3 } });
    await fill(harness, group('/g'), jobs(10));
    await harness.store.groups.seal('/g');
    const leases = await new Instance(harness).exactly(10);
    await harness.store.leases.settle(leases.map((lease) => failure(lease)));
    const result = await harness.store.views.result('/g');
    expect(result).toMatchObject({ failed: 10, successRate: 0, failedByCode: { BROKEN: 10 } });
    expect(result?.failedJobs).toHaveLength(3);
  });

  it('a retry that succeeds leaves no failure in it', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 1);
    await harness.store.groups.seal('/g');
    await settle(harness, retry((await instance.exactly(1))[0], { delayMs: 1000 }));
    await harness.advance(1001);
    await harness.store.gate.dispatch(1);
    await instance.finish();
    expect(await harness.store.views.result('/g')).toMatchObject({
      success: 1,
      failed: 0,
      successRate: 1,
      failedByCode: {},
      failedJobs: [],
    });
  });
}
