import { expect, it } from 'vitest';
import type { LeasedJob } from '../../src/lease.js';
import {
  countsOf,
  deadly,
  failure,
  fill,
  group,
  Instance,
  job,
  jobOf,
  jobs,
  listed,
  type OpenStore,
  placeOf,
  retry,
  SLACK_MS,
  type StoreHarness,
  settle,
  succeed,
  viewOf,
} from './tools.js';

/** Registers a sealed group of which the last `dead` jobs are dead letters, the first `alive` succeeded. */
async function withDead(
  harness: StoreHarness,
  key: string,
  dead: number,
  { alive = 0, signature = 'work BROKEN never again', sealed = true } = {},
): Promise<void> {
  await fill(harness, group(key), jobs(alive + dead));
  if (sealed) await harness.store.groups.seal(key);
  const leases = await new Instance(harness, `kills ${key}`).take(alive + dead);
  await succeed(harness, leases.slice(0, alive));
  for (const lease of leases.slice(alive)) {
    await settle(harness, deadly(lease, signature));
    await harness.advance(10);
  }
}

/** `list` and `signatures`. */
export function listingLetters(open: OpenStore): void {
  it('a letter holds a full copy of the job', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('t/g', { traceparent: 'trace' }), 1);
    await settle(harness, retry((await instance.exactly(1))[0], { delayMs: 1000 }));
    await harness.advance(1001);
    await harness.store.gate.dispatch(1);
    const [lease] = await instance.exactly(1);
    await settle(harness, deadly(lease));
    const { items } = await harness.store.deadLetters.list({}, 10);
    expect(items).toMatchObject([
      {
        error: 'never again',
        code: 'BROKEN',
        signature: 'work BROKEN never again',
        retryCount: 1,
        job: {
          id: 'j0',
          groupId: 't/g',
          tenant: 't',
          processorType: 'work',
          payload: { id: 'j0' },
          status: 'FAILED',
          place: 'DEAD',
          attempts: 2,
          traceparent: 'trace',
          failedTries: [{ code: 'FLAKY' }, { code: 'BROKEN' }],
        },
      },
    ]);
    expect(items[0]?.failedAt).toBeLessThanOrEqual(await harness.now());
    expect((await harness.store.views.queues()).deadLetters).toBe(1);
  });

  it('newest first, in pages, by group, job, signature and namespace', async () => {
    const harness = await open();
    const { deadLetters } = harness.store;
    await withDead(harness, 'a/g', 7, { signature: 'one' });
    await withDead(harness, 'b/g', 5, { signature: 'two' });
    const ids = async (filter: Parameters<typeof deadLetters.list>[0], limit = 3) =>
      (await listed((cursor) => deadLetters.list(filter, limit, cursor))).map(
        ({ job }) => `${job.groupId} ${job.id}`,
      );
    const a = jobs(7)
      .map(({ id }) => `a/g ${id}`)
      .toReversed();
    const b = jobs(5)
      .map(({ id }) => `b/g ${id}`)
      .toReversed();
    expect(await ids({})).toEqual([...b, ...a]);
    expect(await ids({}, 100)).toEqual([...b, ...a]);
    expect(await ids({ key: 'a/g' })).toEqual(a);
    expect(await ids({ tenant: 'b' })).toEqual(b);
    expect(await ids({ signature: 'one' })).toEqual(a);
    expect(await ids({ key: 'a/g', jobId: 'j2' })).toEqual(['a/g j2']);
    expect(await ids({ key: 'a/g', signature: 'two' })).toEqual([]);
    expect(await ids({ tenant: '' })).toEqual([]);
    expect(await ids({ key: '/none' })).toEqual([]);
    expect((await deadLetters.list({}, 4)).items.length).toBeLessThanOrEqual(4);
  });
}

/** `signatures`. */
export function signing(open: OpenStore): void {
  it('signatures: the most frequent first', async () => {
    const harness = await open();
    const { deadLetters } = harness.store;
    await withDead(harness, 'a/g', 2, { signature: 'rare' });
    await withDead(harness, 'a/h', 5, { signature: 'often' });
    await withDead(harness, 'b/g', 4, { signature: 'rare' });
    const names = (list: readonly { signature: string; count: number }[]) =>
      list.map(({ signature, count }) => [signature, count]);
    const all = await deadLetters.signatures({}, 10);
    expect(names(all)).toEqual([
      ['rare', 6],
      ['often', 5],
    ]);
    expect(all[0]?.lastFailedAt).toBeGreaterThan(all[1]?.lastFailedAt ?? Number.POSITIVE_INFINITY);
    expect(names(await deadLetters.signatures({}, 1))).toEqual([['rare', 6]]);
    expect(names(await deadLetters.signatures({ tenant: 'a' }, 10))).toEqual([
      ['often', 5],
      ['rare', 2],
    ]);
    expect(names(await deadLetters.signatures({ key: 'b/g' }, 10))).toEqual([['rare', 4]]);
    expect(await deadLetters.signatures({ tenant: 'none' }, 10)).toEqual([]);
  });

  it('signatures: first and last failure, and the last one as a sample', async () => {
    const harness = await open();
    const { leases, deadLetters, groups } = harness.store;
    const began = await harness.now();
    await fill(harness, group('a/g'), [job('j0'), job('j1', { processorType: 'mail' }), job('j2')]);
    const instance = new Instance(harness);
    const die = async (id: string, message: string) => {
      const lease = taken.find(({ jobId }) => jobId === id) as LeasedJob;
      const error = { code: `CODE_${id}`, message };
      await leases.settle([failure(lease, { dead: true, signature: 'same', error })]);
      await harness.advance(10_000);
    };
    const taken = await instance.take(3);
    await die('j2', 'the first');
    await die('j0', 'the second');
    await die('j1', 'grün "3"');
    const cause = async () => (await deadLetters.signatures({}, 10))[0];
    expect(await cause()).toMatchObject({
      ...{ signature: 'same', count: 3, processorType: 'mail', code: 'CODE_j1' },
      sample: { groupId: 'a/g', jobId: 'j1', message: 'grün "3"' },
    });
    const first = await cause();
    expect((first?.firstFailedAt ?? 0) - began).toBeLessThan(SLACK_MS);
    expect((first?.lastFailedAt ?? 0) - (first?.firstFailedAt ?? 0)).toBeGreaterThanOrEqual(20_000);
    expect((first?.lastFailedAt ?? 0) - (first?.firstFailedAt ?? 0)).toBeLessThan(20_000 + SLACK_MS);
    // What is no longer there does not count.
    await groups.pause('a/g');
    await deadLetters.redrive({ key: 'a/g', jobId: 'j2' }, 1);
    await deadLetters.purge({ key: 'a/g', jobId: 'j1' }, 1);
    const left = await cause();
    expect(left).toMatchObject({ count: 1, code: 'CODE_j0', sample: { jobId: 'j0', message: 'the second' } });
    expect(left?.firstFailedAt).toBe(left?.lastFailedAt);
  });

  it('signatures: more letters than one step looks at', async () => {
    const harness = await open();
    const { deadLetters, leases } = harness.store;
    await fill(harness, group('a/g'), 508);
    const taken = await new Instance(harness).take(508);
    await leases.settle(taken.map((lease) => deadly(lease, 'often')));
    await harness.advance(10);
    await withDead(harness, 'a/h', 3, { signature: 'rare' });
    await withDead(harness, 'b/g', 2, { signature: 'often' });
    expect(await deadLetters.signatures({}, 10)).toMatchObject([
      { signature: 'often', count: 510, sample: { groupId: 'b/g' } },
      { signature: 'rare', count: 3, sample: { groupId: 'a/h' } },
    ]);
    expect(await deadLetters.signatures({ tenant: 'a' }, 1)).toMatchObject([{ count: 508 }]);
  });
}

/** `redrive`. */
export function redriving(open: OpenStore): void {
  it('an ended group opens its next round; the earlier result stays readable', async () => {
    const harness = await open();
    const { deadLetters, views } = harness.store;
    await withDead(harness, '/g', 2, { alive: 3 });
    const first = await views.result('/g');
    expect(first).toMatchObject({ round: 1, success: 3, failed: 2 });
    expect(await deadLetters.redrive({ key: '/g' }, 10)).toEqual({ moved: 2, more: false });
    expect(await viewOf(harness, '/g')).toMatchObject({
      status: 'RUNNING',
      round: 2,
      sealed: true,
      counts: { registered: 5, success: 3, failed: 0, pending: 2 },
    });
    expect(await viewOf(harness, '/g')).not.toHaveProperty('endedAt');
    expect(await views.result('/g')).toEqual(first);
    expect(await jobOf(harness, '/g', 'j3')).toMatchObject({
      status: 'PENDING',
      place: 'LANE',
      retryCount: 0,
      orphanCount: 0,
      payload: { id: 'j3' },
    });
    expect((await deadLetters.list({}, 10)).items).toEqual([]);

    const [a, b] = await new Instance(harness).exactly(2);
    expect(a).toMatchObject({ retryCount: 0 });
    await succeed(harness, [a]);
    await settle(harness, failure(b));
    expect(await views.result('/g')).toMatchObject({
      round: 2,
      status: 'COMPLETED',
      total: 5,
      success: 4,
      failed: 1,
      failedByCode: { BROKEN: 1 },
      failedJobs: [{ jobId: b.jobId, code: 'BROKEN' }],
    });
    expect(await views.result('/g', 2)).toEqual(await views.result('/g'));
    expect(await views.result('/g', 1)).toEqual(first);
    expect((await viewOf(harness, '/g')).round).toBe(2);
  });

  it('a group counts a hundred error codes by name and all others together; what is redriven is taken back', async () => {
    const harness = await open();
    const { deadLetters, leases, views } = harness.store;
    await fill(harness, group('/g'), jobs(103));
    await harness.store.groups.seal('/g');
    const taken = await new Instance(harness).exactly(103);
    const failed = taken.map((lease, n) => {
      const code = `CODE_${Math.min(n, 101)}`;
      return failure(lease, { dead: true, signature: code, error: { code, message: 'never again' } });
    });
    await leases.settle(failed);
    const byCode = async () => (await views.result('/g'))?.failedByCode ?? {};
    const named = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`CODE_${n}`, 1]));
    expect(await byCode()).toEqual({ ...named, OTHER_CODES: 3 });

    for (const signature of ['CODE_0', 'CODE_1', 'CODE_100']) await deadLetters.redrive({ signature }, 10);
    await succeed(harness, await new Instance(harness, 'again').exactly(3));
    const { CODE_0: _, CODE_1: __, ...left } = named;
    expect(await byCode()).toEqual({ ...left, OTHER_CODES: 2 });

    // There is room for a name again.
    await deadLetters.redrive({ signature: 'CODE_101' }, 1);
    const [again] = await new Instance(harness, 'fails').exactly(1);
    const error = { code: 'NEW', message: 'never again' };
    await settle(harness, failure(again as LeasedJob, { dead: true, signature: 'NEW', error }));
    expect(await byCode()).toEqual({ ...left, OTHER_CODES: 1, NEW: 1 });
  });

  it('in a group that has not ended the job goes on in the same round', async () => {
    const harness = await open();
    await withDead(harness, '/g', 1, { alive: 1, sealed: false });
    expect(await harness.store.deadLetters.redrive({}, 10)).toEqual({ moved: 1, more: false });
    expect(await viewOf(harness, '/g')).toMatchObject({
      status: 'CREATED',
      round: 1,
      counts: { failed: 0, pending: 1 },
    });
    await harness.store.groups.seal('/g');
    await new Instance(harness).finish();
    expect(await harness.store.views.result('/g')).toMatchObject({ round: 1, success: 2, failed: 0 });
  });
}

/** `redrive` by filter, and of what was cancelled. */
export function redrivingSome(open: OpenStore): void {
  it('one job, one signature, one namespace, in bounded steps', async () => {
    const harness = await open();
    const { deadLetters } = harness.store;
    await withDead(harness, 'a/g', 4, { signature: 'one' });
    await withDead(harness, 'b/g', 4, { signature: 'two' });
    expect(await deadLetters.redrive({ key: 'a/g', jobId: 'j1' }, 10)).toEqual({ moved: 1, more: false });
    expect(await placeOf(harness, 'a/g', 'j1')).toBe('LANE');
    expect(await deadLetters.redrive({ key: 'a/g', jobId: 'j1' }, 10)).toEqual({ moved: 0, more: false });
    expect(await deadLetters.redrive({ signature: 'two' }, 3)).toEqual({ moved: 3, more: true });
    expect(await deadLetters.redrive({ signature: 'two' }, 3)).toEqual({ moved: 1, more: false });
    expect(await deadLetters.redrive({ tenant: 'b' }, 3)).toEqual({ moved: 0, more: false });
    expect(await deadLetters.redrive({ tenant: 'a' }, 10)).toEqual({ moved: 3, more: false });
    // A round is opened once, however many steps it takes to fill it.
    expect(await viewOf(harness, 'a/g')).toMatchObject({ round: 2, counts: { pending: 4 } });
    expect(await viewOf(harness, 'b/g')).toMatchObject({ round: 2, counts: { pending: 4 } });
  });

  it('does not bring the rest of a cancelled round back', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 5);
    const [dead, running] = await instance.exactly(2);
    await settle(harness, deadly(dead));
    await harness.store.groups.cancel('/g');
    expect(await harness.store.deadLetters.redrive({}, 10)).toEqual({ moved: 1, more: false });
    expect(await viewOf(harness, '/g')).toMatchObject({
      status: 'RUNNING',
      round: 2,
      counts: { registered: 5, failed: 0, cancelled: 4, pending: 1 },
    });
    expect(await harness.store.leases.renew([running])).toEqual(['cancelled']);
    const started = await instance.take();
    expect(started.map(({ jobId }) => jobId)).toEqual(['j0']);
    await succeed(harness, started);
    expect(
      await harness.store.leases.settle([{ ...running, durationMs: 1, outcome: { kind: 'success' } }]),
    ).toEqual([{ status: 'cancelled' }]);
    expect(await viewOf(harness, '/g')).toMatchObject({
      status: 'COMPLETED',
      counts: { success: 1, cancelled: 4, pending: 0, inFlight: 0 },
    });
    expect((await jobOf(harness, '/g', 'j4')).status).toBe('CANCELLED');
    expect(await harness.store.views.result('/g', 1)).toMatchObject({ status: 'CANCELLED', cancelled: 4 });
  });
}

/** What `redrive` makes of a job. */
export function redrivingAfresh(open: OpenStore): void {
  it('retries and lost leases of the past are forgotten', async () => {
    const harness = await open();
    const { gate, leases, deadLetters } = harness.store;
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 1);
    await settle(harness, retry((await instance.exactly(1))[0]));
    await harness.advance(5001);
    await gate.dispatch(1);
    await instance.exactly(1);
    await harness.advance(harness.config.reliableQueue.ackTimeoutMs + 1);
    await leases.recover([0]);
    await harness.advance(harness.config.backpressure.maxBackoffMs);
    await gate.dispatch(1);
    await settle(harness, deadly((await instance.exactly(1))[0]));
    expect(await jobOf(harness, '/g', 'j0')).toMatchObject({ retryCount: 1, orphanCount: 1 });
    await deadLetters.redrive({}, 10);
    expect(await jobOf(harness, '/g', 'j0')).toMatchObject({ retryCount: 0, orphanCount: 0 });
    expect((await instance.exactly(1))[0]).toMatchObject({ retryCount: 0 });
  });

  it('a redriven job may die again', async () => {
    const harness = await open();
    const { deadLetters } = harness.store;
    await withDead(harness, '/g', 1);
    await deadLetters.redrive({}, 10);
    await settle(harness, deadly((await new Instance(harness).exactly(1))[0], 'second'));
    expect((await deadLetters.list({}, 10)).items).toMatchObject([{ signature: 'second' }]);
    expect(await viewOf(harness, '/g')).toMatchObject({
      status: 'COMPLETED',
      round: 2,
      counts: { failed: 1 },
    });
    await deadLetters.redrive({}, 10);
    expect((await viewOf(harness, '/g')).round).toBe(3);
  });
}

/** `purge`. */
export function purging(open: OpenStore): void {
  it('removes letters only, by filter, in bounded steps', async () => {
    const harness = await open();
    const { deadLetters } = harness.store;
    await withDead(harness, 'a/g', 5);
    await withDead(harness, 'b/g', 2);
    const before = await countsOf(harness, 'a/g');
    expect(await deadLetters.purge({ key: 'a/g' }, 3)).toEqual({ moved: 3, more: true });
    expect(await deadLetters.purge({ key: 'a/g' }, 3)).toEqual({ moved: 2, more: false });
    expect(await deadLetters.purge({ key: 'a/g' }, 3)).toEqual({ moved: 0, more: false });
    expect(await countsOf(harness, 'a/g')).toEqual(before);
    expect((await jobOf(harness, 'a/g', 'j0')).status).toBe('FAILED');
    expect((await deadLetters.list({}, 10)).items.map(({ job }) => job.groupId)).toEqual(['b/g', 'b/g']);
    expect(await deadLetters.redrive({ key: 'a/g' }, 10)).toEqual({ moved: 0, more: false });
    expect(await deadLetters.signatures({}, 10)).toMatchObject([{ count: 2 }]);
  });
}
