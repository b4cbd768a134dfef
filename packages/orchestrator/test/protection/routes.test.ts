import { latch } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { defineRoutes, inline } from '../../src/define-routes.js';
import type { ProtectionOptions } from '../../src/protection/options.js';
import type { InlineHandler } from '../../src/routes.js';
import { answered, command, freezable, openWorld } from '../world.js';

const NAME = 'ORDER.PLACE';

/** One instance with one route, from the runner to the memory store. */
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
  const get = (opId: string) => service.operations.get(opId);
  const state = () => executor.protections()[NAME];
  return { clock, frozen, store: world.store, submit, get, state, stop: () => service.stop() };
}

it.each<[string, ProtectionOptions, delayMinMs: number]>([
  ['CB_OPEN', { circuitBreaker: { callsMin: 1, openMs: 3_000 } }, 2_500],
  ['BULKHEAD_FULL', { bulkhead: { concurrency: 1 } }, 1],
  ['RATE_LIMIT', { rateLimit: { rps: 0.5 } }, 1_500],
])(
  'orchestrator NFR-2: %s keeps the command with 202 and no attempt, and runs it later',
  async (...given) => {
    const [reason, protect, delayMinMs] = given;
    const mayEnd = latch('the first work may end');
    const runs: string[] = [];
    let isDown = reason === 'CB_OPEN';
    const work: InlineHandler = async ({ bizKey }) => {
      runs.push(bizKey);
      if (isDown) throw new Error('down');
      if (reason === 'BULKHEAD_FULL' && bizKey === 'a') await mayEnd.promise;
      return bizKey;
    };
    const { clock, submit, get, stop } = await openRoute(protect, work);
    const first = await submit('a');
    const { opId, ...second } = await submit('b');
    expect(second).toMatchObject({ completedFast: false, statusUrlOrNull: `/api/operations/${opId}/status` });
    const kept = await get(opId);
    expect(kept).toMatchObject({ state: 'IN_PROGRESS', attempts: 0, refusals: 1, owner: undefined });
    expect(kept.outcome).toMatchObject({ type: 'Retry', reason });
    expect((kept.outcome as { nextRetryAfterMs: number }).nextRetryAfterMs).toBeGreaterThan(delayMinMs);
    expect(runs).toEqual(['a']);
    isDown = false;
    mayEnd.open();
    await clock.advance(10_000);
    expect(await get(first.opId)).toMatchObject({ state: 'COMPLETED' });
    expect(await get(opId)).toMatchObject({ state: 'COMPLETED', attempts: 1, outcome: { data: 'b' } });
    await stop();
  },
);

it('orchestrator NFR-2: a timeout of the work is Retry TIMEOUT, and the next attempt may succeed', async () => {
  const work: InlineHandler = (_, { attempt }) => (attempt === 1 ? new Promise(() => {}) : 'v');
  const { clock, submit, get, stop } = await openRoute({ timeoutMs: 60 }, work);
  const { opId } = await submit('a');
  const outcome = { type: 'Retry', reason: 'TIMEOUT', attemptCount: 1 };
  expect(await get(opId)).toMatchObject({ attempts: 1, outcome });
  await clock.advance(2_000);
  expect(await get(opId)).toMatchObject({ state: 'COMPLETED', attempts: 2 });
  await stop();
});

it('orchestrator NFR-2: a timeout before the work begins is Retry TIMEOUT without an attempt', async () => {
  const mayEnd = latch('the first work may end');
  const work: InlineHandler = ({ bizKey }) => (bizKey === 'a' ? mayEnd.promise : bizKey);
  // Two may begin within a second. The third gets its slot, and no token in time.
  const bulkhead = { concurrency: 1, queueMax: 2 };
  const protect = { timeoutMs: 60, bulkhead, rateLimit: { rps: 1, burst: 2 } };
  const { clock, submit, get, stop } = await openRoute(protect, work);
  const calls = ['a', 'b', 'c'].map((bizKey) => submit(bizKey));
  await clock.advance(10);
  mayEnd.open();
  const opId = (await Promise.all(calls)).at(-1)?.opId as string;
  const outcome = { type: 'Retry', reason: 'TIMEOUT' };
  expect(await get(opId)).toMatchObject({ state: 'IN_PROGRESS', attempts: 0, refusals: 1, outcome });
  await clock.advance(5_000);
  expect(await get(opId)).toMatchObject({ state: 'COMPLETED', attempts: 1 });
  await stop();
});

it('orchestrator NFR-2: a hedge answers within the budget if the first attempt hangs', async () => {
  const signals: AbortSignal[] = [];
  const work: InlineHandler = (_, { signal }) =>
    signals.push(signal) === 1 ? new Promise(() => {}) : `run ${signals.length}`;
  const { submit, stop } = await openRoute({ hedge: { delayMs: 40 } }, work, true);
  expect((await submit('a')).responseBodyOrNull).toEqual({ type: 'Ok', data: 'run 2' });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  await stop();
});

it('orchestrator NFR-2: with onRefused reject a refusal stores nothing, and a repeated key takes no token', async () => {
  const protect = { rateLimit: { rps: 1, burst: 2 }, onRefused: 'reject' } as const;
  const { clock, submit, store, stop } = await openRoute(protect, () => 'v');
  for (const key of ['once', 'once', 'twice'])
    expect(await submit('a', key)).toMatchObject({ completedFast: true });
  const error = await submit('b').catch((thrown) => thrown);
  expect(error).toMatchObject({ code: 'RATE_LIMIT', status: 429, retryable: true });
  expect((await store.views.list({}, 100, undefined)).items).toHaveLength(2);
  await clock.advance(error.retryAfterMs);
  expect(await submit('b')).toMatchObject({ completedFast: true });
  await stop();
});

it('orchestrator NFR-2: holds the place of a command until its work has run, if the store confirms late', async () => {
  const protect = { bulkhead: { concurrency: 1 }, onRefused: 'reject' } as const;
  const { submit, frozen, store, state, stop, clock } = await openRoute(protect, () => 'v');
  frozen.freeze();
  await expect(submit('a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  expect(state()?.running).toBe(1);
  await expect(submit('b')).rejects.toMatchObject({ code: 'BULKHEAD_FULL', status: 503 });
  frozen.thaw();
  await clock.advance(100);
  expect((await store.views.list({}, 100, undefined)).items).toHaveLength(1);
  expect(state()?.running).toBe(0);
  expect(await submit('b')).toMatchObject({ completedFast: true });
  await stop();
});
