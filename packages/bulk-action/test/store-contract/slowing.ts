import { expect, it } from 'vitest';
import type { LeasedJob, Settlement } from '../../src/lease.js';
import { explainJob } from '../../src/rules/explain.js';
import {
  fill,
  group,
  Instance,
  type OpenStore,
  placeOf,
  retry,
  type StoreHarness,
  success,
} from './tools.js';

/** As the pool reports a 429. */
export const refused = (lease: LeasedJob, retryAfterMs?: number): Settlement =>
  retry(lease, {
    reason: 'API_THROTTLED',
    spendsRetry: false,
    delayMs: 1000,
    throttle: { random: 0, ...(retryAfterMs !== undefined && { retryAfterMs }) },
  });

/** Takes turns for so many slots, in steps of 10 ms; `answer` says what the service does with each. */
class Caller {
  #seq = 0;
  readonly starts: { readonly key: string; readonly at: number }[] = [];

  constructor(
    readonly harness: StoreHarness,
    public answer: (lease: LeasedJob) => Settlement,
  ) {}

  async run(forMs: number, max = 10): Promise<void> {
    const { leases } = this.harness.store;
    for (let passed = 0; passed < forMs; passed += 10) {
      this.#seq += 1;
      const { jobs } = await leases.reserve({ instanceId: 'one', seq: this.#seq, max, turns: max });
      const at = await this.harness.now();
      for (const { key } of jobs) this.starts.push({ key, at });
      await this.harness.advance(10);
      if (jobs.length > 0) await leases.settle(jobs.map((lease) => this.answer(lease)));
    }
  }

  /** Starts per second of a group (all of them) in the last so many milliseconds. */
  rate(lastMs: number, now: number, key?: string): number {
    const recent = this.starts.filter(
      (start) => start.at > now - lastMs && (key === undefined || start.key === key),
    );
    return (recent.length * 1000) / lastMs;
  }
}

const beat = (harness: StoreHarness) => new Instance(harness, 'one', 10).beat({ processorTypes: ['work'] });

/** Congestion control. */
export function slowing(open: OpenStore): void {
  it('no limit until the service refuses; then about what it accepts', async () => {
    const harness = await open();
    await beat(harness);
    for (const id of ['a', 'b', 'c', 'd']) await fill(harness, group(`${id}/g`), 900);
    let tokens = 0;
    let filledAt = await harness.now();
    let now = filledAt;
    // Accepts 100 a second.
    const caller = new Caller(harness, (lease) => {
      tokens = Math.min(10, tokens + ((now - filledAt) * 100) / 1000);
      filledAt = now;
      if (tokens < 1) return refused(lease);
      tokens -= 1;
      return success(lease);
    });
    for (let step = 0; step < 600; step += 1) {
      await caller.run(10);
      now = await harness.now();
    }
    expect(caller.rate(3000, now)).toBeGreaterThan(60);
    expect(caller.rate(3000, now)).toBeLessThan(130);
    const { throttled } = (await harness.store.views.group('a/g')) ?? { throttled: 0 };
    expect(throttled).toBeGreaterThan(0);
  });

  it('one group that is refused is slowed alone', async () => {
    const harness = await open();
    await beat(harness);
    for (const id of ['a', 'b', 'c', 'd', 'e']) await fill(harness, group(`${id}/g`), 900);
    const caller = new Caller(harness, (lease) => (lease.key === 'a/g' ? refused(lease) : success(lease)));
    await caller.run(3000);
    const now = await harness.now();
    expect(caller.rate(1000, now, 'a/g')).toBeLessThan(20);
    expect(caller.rate(1000, now, 'b/g')).toBeGreaterThan(200);
  });

  it('a pause that the service asks for is kept by everybody', async () => {
    const harness = await open();
    await beat(harness);
    await fill(harness, group('/g'), 100);
    let asked = false;
    const caller = new Caller(harness, (lease) => {
      if (asked) return success(lease);
      asked = true;
      return refused(lease, 2000);
    });
    await caller.run(20, 5);
    const before = caller.starts.length;
    await caller.run(1900, 5);
    expect(caller.starts).toHaveLength(before);
    await caller.run(500, 5);
    expect(caller.starts.length).toBeGreaterThan(before);
  });

  it('a refused job waits by rule, longer the more wait, also without congestion control', async () => {
    for (const enabled of [true, false]) {
      const harness = await open({ congestion: { enabled, baseBackoffMs: 500 } });
      await beat(harness);
      await fill(harness, group('/g'), 9);
      const leases = await new Instance(harness).exactly(9);
      await harness.store.leases.settle(leases.map((lease) => refused(lease)));
      expect(await placeOf(harness, '/g', 'j0')).toBe('NON_READY');
      const first = await harness.store.views.job('/g', 'j0');
      expect(first?.dueAt).toBe((await harness.now()) + 500);
      const last = await harness.store.views.job('/g', 'j8');
      expect(last?.dueAt).toBeGreaterThan((await harness.now()) + 500);
    }
  });

  it('statistics of a resource: what is allowed, calls and refusals, and how they went', async () => {
    const harness = await open(
      {
        congestion: { statsRetentionMs: 10_000 },
        resources: { other: { rps: 5 } },
      },
      'one shard',
    );
    await beat(harness);
    await fill(harness, group('a/g'), 900);
    const { views } = harness.store;
    const caller = new Caller(harness, success);
    await caller.run(2000, 1);
    const [other, work, ...rest] = await views.resources();
    expect(rest).toEqual([]);
    expect(other).toMatchObject({ resource: 'other', rate: 0, limit: 5, starts: 0, history: [] });
    expect(work).toMatchObject({
      resource: 'work',
      limit: null,
      concurrency: null,
      throttles: 0,
      starts: 200,
    });
    expect(work?.rate).toBeGreaterThan(90);
    const began = work?.history[0]?.at ?? 0;
    expect(work?.history.map(({ at }) => at - began)).toEqual([0, 1000]);

    const refusedAt = await harness.now();
    caller.answer = (lease) => refused(lease, 1500);
    await caller.run(10, 4);
    caller.answer = success;
    const [, slowed] = await views.resources();
    expect(slowed).toMatchObject({ starts: 204, throttles: 4, frozenForMs: 1500 });
    expect(slowed?.limit).toBeGreaterThan(50);
    await caller.run(4000, 1);
    const { history = [] } = (await views.resources())[1] ?? {};
    expect(history.reduce((sum, { throttles }) => sum + throttles, 0)).toBe(4);
    const after = history.filter(({ at }) => at > refusedAt + 1000);
    expect(after.length).toBeGreaterThan(1);
    for (const { limit } of after) expect(limit).toBeGreaterThan(50);

    await harness.advance(10_000);
    expect((await views.resources())[1]).toMatchObject({ rate: 0, history: [] });
  });

  it('statistics of a group: from its first throttle to its end', async () => {
    const harness = await open({ congestion: { statsRetentionMs: 10_000, baseBackoffMs: 200 } });
    await beat(harness);
    for (const id of ['a', 'b', 'c', 'd', 'e']) await fill(harness, group(`${id}/g`), id === 'a' ? 3 : 900);
    const { views, groups } = harness.store;
    const caller = new Caller(harness, (lease) => (lease.key === 'a/g' ? refused(lease) : success(lease)));
    await caller.run(500);
    const slowed = await views.slowness('a/g');
    expect(slowed).toMatchObject({ groupId: 'a/g', frozenForMs: 0, done: 0 });
    expect(slowed?.throttles).toBeGreaterThanOrEqual(2);
    expect(slowed?.limit).toBeGreaterThanOrEqual(1);
    expect(slowed?.lastBackoffMs).toBeGreaterThanOrEqual(200);
    expect(slowed?.history[0]).toMatchObject({ throttles: 1, backoffMs: 200, nonReadyCount: 0 });
    expect(await views.slowness('b/g')).toMatchObject({
      throttles: 0,
      limit: null,
      lastBackoffMs: 0,
      history: [],
    });
    expect(await views.slowness('nobody/g')).toBeUndefined();
    await groups.cancel('a/g');
    expect(await views.slowness('a/g')).toBeUndefined();
    expect((await views.group('a/g'))?.lastBackoffMs).toBe(0);
  });

  it('a job of a group that is slowed alone says so', async () => {
    const harness = await open({ congestion: { baseBackoffMs: 0 } });
    await beat(harness);
    for (const id of ['a', 'b', 'c', 'd', 'e']) await fill(harness, group(`${id}/g`), id === 'a' ? 40 : 900);
    const caller = new Caller(harness, (lease) =>
      lease.key === 'a/g' ? refused(lease, 700) : success(lease),
    );
    await caller.run(100);
    const facts = await harness.store.views.explain('a/g', 'j39');
    expect(facts?.group.slow?.frozenForMs).toBeGreaterThan(600);
    expect(facts?.group.slow?.bucket?.rps).toBeGreaterThanOrEqual(1);
    if (!facts) throw new Error('expected facts');
    const gates = explainJob(facts).gates.map(({ gate }) => gate);
    expect(gates).toContain('GROUP_FROZEN');
    const other = await harness.store.views.explain('b/g', 'j899');
    expect(other?.group.slow).toBeUndefined();
  });

  it('congestion control begins anew with a group', async () => {
    const harness = await open({ congestion: { baseBackoffMs: 200 } });
    await beat(harness);
    for (const id of ['a', 'b', 'c', 'd', 'e']) await fill(harness, group(`${id}/g`), 900);
    const { groups, views } = harness.store;
    const caller = new Caller(harness, (lease) =>
      lease.key === 'a/g' ? refused(lease, 60_000) : success(lease),
    );
    await caller.run(100);
    expect((await views.slowness('a/g'))?.frozenForMs).toBeGreaterThan(50_000);
    caller.answer = success;
    await caller.run(100);
    const before = caller.starts.filter(({ key }) => key === 'a/g').length;
    expect(await groups.forgetSlowness('a/g')).toMatchObject({ kind: 'done', changed: true });
    expect(await views.slowness('a/g')).toMatchObject({
      frozenForMs: 0,
      limit: null,
      throttles: 0,
      lastBackoffMs: 0,
      history: [],
    });
    await caller.run(100);
    expect(caller.starts.filter(({ key }) => key === 'a/g').length).toBeGreaterThan(before + 5);
    expect(await groups.forgetSlowness('b/g')).toMatchObject({ kind: 'done', changed: false });
    expect(await groups.forgetSlowness('nobody/g')).toMatchObject({ kind: 'not-found' });
    await groups.cancel('a/g');
    expect(await groups.forgetSlowness('a/g')).toMatchObject({ kind: 'ended' });
  });
}
