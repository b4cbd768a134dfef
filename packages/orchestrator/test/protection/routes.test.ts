import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { defineRoutes, inline } from '../../src/define-routes.js';
import type { ProtectionOptions } from '../../src/protection/options.js';
import type { InlineHandler } from '../../src/routes.js';
import { answered, command, freezable, openWorld } from '../world.js';

const NAME = 'ORDER.PLACE';

/** One instance with one route; everything goes through the real runner, on the memory store. */
async function openRoute(protect: ProtectionOptions, run: InlineHandler, idempotent = false) {
  const world = openWorld();
  const frozen = freezable(world.store);
  const { service, executor } = await world.open(
    defineRoutes({ [NAME]: inline(run, { protect, idempotent, retry: { retries: 9 } }) }),
    { store: frozen.store },
    { backoffJitter: 0 },
  );
  const { clock } = world;
  const submit = (bizKey: string, idemKey?: string) =>
    answered(clock, service.submit(command(bizKey, idemKey === undefined ? {} : { idemKey }), 100));
  const refused = (bizKey: string) =>
    submit(bizKey).then(
      () => expect.fail('was taken'),
      (error) => error,
    );
  const stored = async () => (await world.store.views.list({}, 100, undefined)).items.length;
  const get = (opId: string) => service.operations.get(opId);
  const state = () => executor.protections()[NAME];
  return { clock, frozen, submit, refused, stored, get, state, stop: () => service.stop() };
}

/** Work that goes wrong until it is told to go well. */
function brokenWork() {
  let broken = true;
  const runs: string[] = [];
  const run: InlineHandler = ({ bizKey }) => {
    runs.push(bizKey);
    if (broken) throw new Error('down');
    return bizKey;
  };
  const mend = () => {
    broken = false;
  };
  return { run, runs, mend };
}

const CIRCUIT = { callsMin: 1, openMs: 3_000 };

describe('orchestrator NFR-2: what a caller sees of a protection that keeps', () => {
  it('orchestrator NFR-2: circuit open → 202, kept with Retry CB_OPEN without a try, COMPLETED when it has closed', async () => {
    const { run, runs, mend } = brokenWork();
    const { clock, submit, get, state, stop } = await openRoute({ circuitBreaker: CIRCUIT }, run);
    await submit('a');
    expect(state()?.circuit).toBe('open');
    const handle = await submit('b');
    expect(handle).toMatchObject({
      completedFast: false,
      statusUrlOrNull: `/api/operations/${handle.opId}/status`,
    });
    expect(await get(handle.opId)).toMatchObject({
      state: 'IN_PROGRESS',
      attempts: 0,
      refusals: 1,
      owner: undefined,
      outcome: { type: 'Retry', reason: 'CB_OPEN' },
    });
    expect(runs).toEqual(['a']);
    mend();
    await clock.advance(10_000);
    expect(await get(handle.opId)).toMatchObject({
      state: 'COMPLETED',
      attempts: 1,
      outcome: { type: 'Ok', data: 'b' },
    });
    expect(state()?.circuit).toBe('closed');
    await stop();
  });

  it('orchestrator NFR-2: bulkhead full → 202, kept with Retry BULKHEAD_FULL, COMPLETED when there is room', async () => {
    const end = latch<string>('the first work ends');
    const work: InlineHandler = ({ bizKey }) => (bizKey === 'a' ? end.promise : bizKey);
    const { clock, submit, get, stop } = await openRoute({ bulkhead: { concurrency: 1 } }, work);
    const first = await submit('a');
    const second = await submit('b');
    expect(second.completedFast).toBe(false);
    expect((await get(second.opId)).outcome).toMatchObject({ type: 'Retry', reason: 'BULKHEAD_FULL' });
    end.open('a');
    await clock.advance(5_000);
    for (const { opId } of [first, second]) expect(await get(opId)).toMatchObject({ state: 'COMPLETED' });
    await stop();
  });

  it('orchestrator NFR-2: rate limit reached → 202, kept with Retry RATE_LIMIT, COMPLETED when a token is there', async () => {
    const { clock, submit, get, stop } = await openRoute({ rateLimit: { rps: 0.5 } }, ({ bizKey }) => bizKey);
    expect(await submit('a')).toMatchObject({ completedFast: true });
    const second = await submit('b');
    const { outcome } = await get(second.opId);
    expect(outcome).toMatchObject({ type: 'Retry', reason: 'RATE_LIMIT', attemptCount: 1 });
    expect((outcome as { nextRetryAfterMs: number }).nextRetryAfterMs).toBeGreaterThan(1_500);
    await clock.advance(1_000);
    expect((await get(second.opId)).state).toBe('IN_PROGRESS');
    await clock.advance(2_000);
    expect(await get(second.opId)).toMatchObject({ state: 'COMPLETED', attempts: 1 });
    await stop();
  });

  it('orchestrator NFR-2: a timeout is Retry TIMEOUT, the work is told to stop, and the next try may go well', async () => {
    const signals: AbortSignal[] = [];
    const work: InlineHandler = (_, { attempt, signal }) => {
      signals.push(signal);
      return attempt === 1 ? new Promise(() => {}) : 'v';
    };
    const { clock, submit, get, state, stop } = await openRoute({ timeoutMs: 60 }, work);
    const handle = await submit('a');
    expect(handle.completedFast).toBe(false);
    expect(signals[0]?.reason).toMatchObject({ code: 'OPERATION_TIMEOUT' });
    expect(await get(handle.opId)).toMatchObject({
      attempts: 1,
      outcome: { type: 'Retry', reason: 'TIMEOUT', attemptCount: 1 },
    });
    await clock.advance(2_000);
    expect(await get(handle.opId)).toMatchObject({ state: 'COMPLETED', attempts: 2 });
    expect(state()?.running).toBe(0);
    await stop();
  });

  it('orchestrator NFR-2: the time is over before the turn comes → Retry TIMEOUT without a try, COMPLETED when there is room', async () => {
    const runs: string[] = [];
    const mayEnd = latch('the first work may end');
    const work: InlineHandler = async ({ bizKey }) => {
      runs.push(bizKey);
      if (bizKey === 'a') await mayEnd.promise;
      return bizKey;
    };
    // Two may begin within a second: the third has its slot, and its turn does not come in time.
    const protect = {
      timeoutMs: 60,
      bulkhead: { concurrency: 1, queueMax: 2 },
      rateLimit: { rps: 1, burst: 2 },
    };
    const { clock, submit, get, state, stop } = await openRoute(protect, work);
    const calls = ['a', 'b', 'c'].map((bizKey) => submit(bizKey));
    await clock.advance(10);
    mayEnd.open();
    const [, , third] = await Promise.all(calls);
    const opId = third?.opId as string;
    expect(runs).toEqual(['a', 'b']);
    expect(await get(opId)).toMatchObject({
      state: 'IN_PROGRESS',
      attempts: 0,
      refusals: 1,
      outcome: { type: 'Retry', reason: 'TIMEOUT' },
    });
    await clock.advance(5_000);
    expect(await get(opId)).toMatchObject({ state: 'COMPLETED', attempts: 1 });
    expect(state()).toMatchObject({ running: 0, queued: 0 });
    await stop();
  });

  it('orchestrator NFR-2: a hedge answers within the budget when the first try hangs, whose signal aborts', async () => {
    const signals: AbortSignal[] = [];
    const work: InlineHandler = (_, { signal }) =>
      signals.push(signal) === 1 ? new Promise(() => {}) : `try ${signals.length}`;
    const { submit, state, stop } = await openRoute({ hedge: { delayMs: 40 } }, work, true);
    const handle = await submit('a');
    expect(handle.responseBodyOrNull).toEqual({ type: 'Ok', data: 'try 2' });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect(state()?.running).toBe(0);
    await stop();
  });

  it('orchestrator NFR-2: a hedge on a route that is not idempotent is refused at construction', async () => {
    await expect(openRoute({ hedge: { delayMs: 40 } }, () => 'v')).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining('idempotent: true'),
    });
  });
});

describe("orchestrator NFR-2: what a caller sees with onRefused: 'reject'", () => {
  it('orchestrator NFR-2: CB_OPEN 503 until it is half open, and nothing is stored', async () => {
    const { run, runs, mend } = brokenWork();
    const protect = { circuitBreaker: CIRCUIT, onRefused: 'reject' } as const;
    const { clock, submit, refused, stored, stop } = await openRoute(protect, run);
    await submit('a');
    const error = await refused('b');
    expect(error).toMatchObject({ code: 'CB_OPEN', status: 503, retryable: true });
    expect(error.retryAfterMs).toBeGreaterThan(2_000);
    expect(error.retryAfterMs).toBeLessThanOrEqual(3_000);
    expect(await stored()).toBe(1);
    expect(runs).toEqual(['a']);
    mend();
    await clock.advance(error.retryAfterMs);
    expect(await submit('b')).toBeDefined();
    await stop();
  });

  it('orchestrator NFR-2: RATE_LIMIT 429 until the next token; a repeated key gives its token back', async () => {
    const protect = { rateLimit: { rps: 1, burst: 2 }, onRefused: 'reject' } as const;
    const { clock, submit, refused, stored, state, stop } = await openRoute(protect, () => 'v');
    await submit('a', 'once');
    expect((await submit('a', 'once')).completedFast).toBe(true);
    expect(state()?.tokens).toBeGreaterThanOrEqual(1);
    await submit('b');
    const error = await refused('c');
    expect(error).toMatchObject({ code: 'RATE_LIMIT', status: 429 });
    expect(error.retryAfterMs).toBeLessThanOrEqual(1_000);
    expect(await stored()).toBe(2);
    await clock.advance(error.retryAfterMs);
    expect(await submit('c')).toMatchObject({ completedFast: true });
    await stop();
  });

  it('orchestrator NFR-2: BULKHEAD_FULL 503, and nothing is stored; a place that was given is kept for its operation', async () => {
    const end = latch<string>('the first work ends');
    const protect = { bulkhead: { concurrency: 1 }, onRefused: 'reject' } as const;
    const { submit, refused, stored, get, state, stop, clock } = await openRoute(protect, () => end.promise);
    const first = await submit('a');
    const error = await refused('b');
    expect(error).toMatchObject({ code: 'BULKHEAD_FULL', status: 503 });
    expect(error.retryAfterMs).toBeGreaterThan(0);
    expect(await stored()).toBe(1);
    end.open('v');
    await clock.advance(0);
    expect(await get(first.opId)).toMatchObject({ state: 'COMPLETED' });
    expect(state()?.running).toBe(0);
    await stop();
  });

  it('orchestrator NFR-2: a store that confirms late: the place is held until the work has run', async () => {
    const protect = { bulkhead: { concurrency: 1 }, onRefused: 'reject' } as const;
    const { submit, refused, stored, frozen, state, stop, clock } = await openRoute(protect, () => 'v');
    frozen.freeze();
    expect(await refused('a')).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(state()?.running).toBe(1);
    expect(await refused('b')).toMatchObject({ code: 'BULKHEAD_FULL' });
    frozen.thaw();
    await clock.advance(100);
    expect(await stored()).toBe(1);
    expect(state()?.running).toBe(0);
    expect(await submit('b')).toMatchObject({ completedFast: true });
    await stop();
  });
});
