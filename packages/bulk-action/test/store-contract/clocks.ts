import { expect, it } from 'vitest';
import { INSTANCE_TTL_MS } from '../../src/ports.js';
import {
  countsOf,
  DAY_MS,
  fill,
  group,
  HOUR_MS,
  Instance,
  job,
  type OpenStore,
  placeOf,
  retry,
  settle,
  succeed,
  success,
  sweepAll,
  viewOf,
} from './tools.js';

/** The store's clock is set back. */
export function setBack(open: OpenStore): void {
  it('a lease still ends after its own length', async () => {
    const harness = await open();
    const { leases } = harness.store;
    await fill(harness, group('/g'), 1);
    const [lease] = await new Instance(harness).exactly(1);
    await harness.jump(-DAY_MS);
    expect(await leases.renew([lease])).toEqual(['ok']);
    await harness.jump(-DAY_MS);
    await leases.recover([0]);
    await harness.advance(harness.config.reliableQueue.ackTimeoutMs + 1);
    expect(await leases.recover([0])).toMatchObject({ recovered: 1 });
  });

  it('a retry still comes after the longest back-off', async () => {
    const harness = await open();
    const { backpressure, congestion } = harness.config;
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 1);
    await settle(harness, retry((await instance.exactly(1))[0]));
    await harness.jump(-DAY_MS);
    const { nextInMs } = await harness.store.gate.dispatch(10);
    const longest = Math.max(backpressure.maxBackoffMs, congestion.maxBackoffMs);
    expect(nextInMs).toBeLessThanOrEqual(longest);
    await harness.advance(longest + 1);
    await harness.store.gate.dispatch(10);
    expect((await instance.finish()).length).toBe(1);
  });

  it('a scheduled job comes, at the latest when the clock shows its time again', async () => {
    const harness = await open();
    const notBefore = (await harness.now()) + HOUR_MS;
    await fill(harness, group('/g'), [job('later', { notBefore })]);
    await harness.jump(-DAY_MS);
    await harness.store.gate.dispatch(10);
    expect(await placeOf(harness, '/g', 'later')).toBe('NON_READY');
    await harness.advance(DAY_MS + HOUR_MS + 1);
    await harness.store.gate.dispatch(10);
    expect(await new Instance(harness).finish()).toHaveLength(1);
  });

  it('what has ended goes after its retention', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 1);
    await harness.store.groups.seal('/g');
    await new Instance(harness).finish();
    await harness.jump(-30 * DAY_MS);
    await harness.advance(DAY_MS + HOUR_MS);
    await sweepAll(harness);
    await harness.advance(DAY_MS);
    await sweepAll(harness);
    expect(await harness.store.views.job('/g', 'j0')).toBeUndefined();
    expect(await harness.store.views.group('/g')).toBeUndefined();
  });
}

/** Limits and registries when the clock is set back. */
export function setBackLimits(open: OpenStore): void {
  it('a rate does not freeze', async () => {
    const harness = await open({ limits: { costMax: 5 }, backpressure: { globalRps: 1 } });
    const instance = new Instance(harness);
    await harness.store.groups.updateTenant('t', { rps: 1 });
    await fill(harness, group('t/g', { rps: 1 }), 3);
    await instance.exactly(1);
    await harness.jump(-DAY_MS);
    const { nextInMs } = await instance.fetch();
    if (nextInMs !== undefined) expect(nextInMs).toBeLessThanOrEqual(6001);
    await harness.advance(6001);
    expect((await instance.take()).length).toBeGreaterThan(0);
  });

  it('an instance is not immortal', async () => {
    const harness = await open();
    const { instances } = harness.store;
    await new Instance(harness, 'one').beat();
    await harness.jump(-DAY_MS);
    for (const { silentMs } of await instances.list()) expect(silentMs).toBeGreaterThanOrEqual(0);
    await harness.advance(INSTANCE_TTL_MS + 1);
    expect(await instances.list()).toEqual([]);
  });

  it('a once-only lease goes to the next after its own length', async () => {
    const harness = await open();
    const { once } = harness.store;
    await once.begin('k', 'a', 30_000);
    await harness.jump(-DAY_MS);
    const busy = await once.begin('k', 'b', 30_000);
    if (busy.kind === 'busy') expect(busy.retryInMs).toBeLessThanOrEqual(30_000);
    await harness.advance(30_001);
    expect(await once.begin('k', 'b', 30_000)).toEqual({ kind: 'run' });
  });

  it('work goes on, in order, and every job once', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 20);
    await harness.store.groups.seal('/g');
    await succeed(harness, await instance.exactly(5));
    await harness.jump(-DAY_MS);
    const rest = await instance.finish();
    expect(rest.map(({ jobId }) => jobId)).toEqual(Array.from({ length: 15 }, (_, n) => `j${n + 5}`));
    const view = await viewOf(harness, '/g');
    expect(view).toMatchObject({ status: 'COMPLETED', counts: { success: 20 } });
    expect((await harness.store.views.result('/g'))?.durationMs).toBeGreaterThanOrEqual(0);
  });
}

/** The store's clock is set forward; a store may go by a clock that does not notice. */
export function setForward(open: OpenStore): void {
  it('whether a lease ends early or not, its job is done once', async () => {
    const harness = await open();
    const { leases, gate } = harness.store;
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 1);
    const [old] = await instance.exactly(1);
    await harness.jump(DAY_MS);
    const { recovered } = await leases.recover([0]);
    expect(await leases.renew([old])).toEqual([recovered === 0 ? 'ok' : 'lost']);
    await harness.jump(-DAY_MS);
    await harness.advance(harness.config.reliableQueue.ackTimeoutMs + 1);
    expect((await leases.recover([0])).recovered).toBe(1 - recovered);
    await harness.advance(harness.config.congestion.maxBackoffMs + 1);
    await gate.dispatch(10);
    expect(await instance.finish()).toHaveLength(1);
    expect(await leases.settle([success(old)])).toEqual([{ status: 'stale' }]);
    expect(await countsOf(harness, '/g')).toMatchObject({ success: 1 });
  });

  it('what waits becomes due, at the latest after its own delay', async () => {
    const harness = await open();
    const notBefore = (await harness.now()) + HOUR_MS;
    await fill(harness, group('/g'), [job('later', { notBefore })]);
    await harness.jump(DAY_MS);
    await harness.advance(HOUR_MS + 1);
    expect(await harness.store.gate.dispatch(10)).toMatchObject({ moved: 1 });
    expect(await new Instance(harness).finish()).toHaveLength(1);
  });
}
