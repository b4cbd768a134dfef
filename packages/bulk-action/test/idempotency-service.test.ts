import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { ERRORS } from '../src/errors.js';
import { code, onMemory } from './on-memory.js';

describe('IdempotencyService', () => {
  it('bulk-action BA-15: runs once and gives the result to everybody after it', async () => {
    const { idempotency } = onMemory();
    let runs = 0;
    const charge = () => idempotency.runOnce('invoice 1', async () => ({ receipt: ++runs }));
    expect(await charge()).toEqual({ receipt: 1 });
    expect(await charge()).toEqual({ receipt: 1 });
    expect(await idempotency.runOnce('invoice 2', () => 'another')).toBe('another');
    expect(runs).toBe(1);
  });

  it('bulk-action BA-15: of 100 callers at once one runs, the others are told when to come back', async () => {
    const { idempotency } = onMemory();
    const gate = latch('the effect may end');
    let runs = 0;
    const calls = Array.from({ length: 100 }, () =>
      idempotency.runOnce('k', async () => {
        runs += 1;
        await gate.promise;
        return runs;
      }),
    );
    const losers = Promise.allSettled(calls);
    gate.open();
    const answers = await losers;
    expect(runs).toBe(1);
    expect(answers.filter(({ status }) => status === 'fulfilled')).toEqual([
      { status: 'fulfilled', value: 1 },
    ]);
    for (const answer of answers)
      if (answer.status === 'rejected')
        expect(answer.reason).toMatchObject(
          code('IDEMPOTENCY_BUSY', { status: 409, retryable: true, retryAfterMs: 40_000 }),
        );
    expect(await idempotency.runOnce('k', () => 99)).toBe(1);
  });

  it('bulk-action BA-15: an effect that fails may run again, at once', async () => {
    const { idempotency } = onMemory();
    const failure = new Error('declined');
    await expect(
      idempotency.runOnce('k', () => {
        throw failure;
      }),
    ).rejects.toBe(failure);
    await expect(idempotency.runOnce('k', () => Promise.reject(failure))).rejects.toBe(failure);
    expect(await idempotency.runOnce('k', () => 'done')).toBe('done');
  });

  it('bulk-action BA-15: the lease is kept while the effect runs, however long', async () => {
    const { idempotency, clock } = onMemory();
    const gate = latch('the effect may end');
    const first = idempotency.runOnce('k', () => gate.promise.then(() => 'slow'), { leaseMs: 900 });
    await clock.advance(10_000);
    const second = idempotency.runOnce('k', () => 'stolen');
    await expect(second).rejects.toMatchObject(code('IDEMPOTENCY_BUSY'));
    gate.open();
    expect(await first).toBe('slow');
    expect(clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-15: after a crash the next caller runs it, when the lease has expired', async () => {
    const { idempotency, store, clock } = onMemory();
    // A process that took the lease and died.
    await store.once.begin('k', 'dead process', 900);
    await expect(idempotency.runOnce('k', () => 1)).rejects.toMatchObject(
      code('IDEMPOTENCY_BUSY', { retryAfterMs: 900 }),
    );
    await clock.advance(900);
    expect(await idempotency.runOnce('k', () => 2)).toBe(2);
  });

  it('bulk-action BA-15: who lost the lease gets its own result, but the holder keeps its one', async () => {
    const { idempotency, store, clock } = onMemory();
    const renew = store.once.renew.bind(store.once);
    let reachable = false;
    Object.assign(store.once, {
      renew: (...args: Parameters<typeof renew>) =>
        reachable ? renew(...args) : Promise.reject(ERRORS.create('BACKEND_UNAVAILABLE', { reason: 'test' })),
    });
    const gate = latch('the first effect may end');
    let aborted = false;
    const first = idempotency.runOnce(
      'k',
      async ({ signal }) => {
        signal.addEventListener('abort', () => {
          aborted = true;
        });
        await gate.promise;
        return 'first';
      },
      { leaseMs: 900 },
    );
    await clock.advance(899);
    expect(aborted).toBe(false);
    // Nobody could say that the lease is lost, but it cannot last any longer.
    await clock.advance(2);
    expect(aborted).toBe(true);
    expect(await idempotency.runOnce('k', () => 'second')).toBe('second');
    reachable = true;
    gate.open();
    expect(await first).toBe('first');
    expect(await idempotency.runOnce('k', () => 'third')).toBe('second');
  });

  it('bulk-action BA-15: a store that is away when the effect has happened is told of it when it is back', async () => {
    const { idempotency, store, clock } = onMemory();
    const finish = store.once.finish.bind(store.once);
    let reachable = false;
    Object.assign(store.once, {
      finish: (...args: Parameters<typeof finish>) =>
        reachable
          ? finish(...args)
          : Promise.reject(ERRORS.create('BACKEND_UNAVAILABLE', { reason: 'test' })),
    });
    const first = idempotency.runOnce('k', () => 'first', { leaseMs: 1_000 });
    await clock.advance(500);
    reachable = true;
    await clock.advance(100);
    expect(await first).toBe('first');
    expect(await idempotency.runOnce('k', () => 'second')).toBe('first');
    reachable = false;
    const failed = idempotency.runOnce('gone', () => 1, { leaseMs: 1_000 }).catch((error) => error);
    await clock.advance(1_100);
    expect(await failed).toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
  });

  it('bulk-action BA-15: a result is kept for idempotencyTtlMs', async () => {
    const { idempotency, clock } = onMemory({ reliableQueue: { idempotencyTtlMs: 5000 } });
    await idempotency.runOnce('k', () => 1);
    await clock.advance(4999);
    expect(await idempotency.runOnce('k', () => 2)).toBe(1);
    await clock.advance(1);
    expect(await idempotency.runOnce('k', () => 2)).toBe(2);
  });

  it.each([undefined, null, 0, '', false, [], {}, 'text', { deep: [1, { two: null }] }])(
    'bulk-action BA-15: the result %j comes back as it was',
    async (value) => {
      const { idempotency } = onMemory();
      expect(await idempotency.runOnce('k', () => value)).toEqual(value);
      expect(await idempotency.runOnce('k', () => 'other')).toEqual(value);
    },
  );

  it('bulk-action BA-15: 64 KiB are kept; one byte more fails, each time, and the effect is not repeated', async () => {
    const { idempotency } = onMemory();
    const fits = 'é'.repeat(32_767);
    expect(await idempotency.runOnce('fits', () => fits)).toBe(fits);
    expect(await idempotency.runOnce('fits', () => 'other')).toBe(fits);
    let runs = 0;
    for (let call = 0; call < 3; call++)
      await expect(idempotency.runOnce('large', () => `${fits}${'x'.repeat(++runs)}`)).rejects.toMatchObject(
        code('IDEMPOTENCY_RESULT_TOO_LARGE', {
          status: 413,
          message: expect.stringContaining('has 65537 bytes as JSON, at most 65536'),
        }),
      );
    expect(runs).toBe(1);
  });

  it('bulk-action BA-15: a result that is no JSON fails, each time, and the effect is not repeated', async () => {
    const { idempotency } = onMemory();
    let runs = 0;
    for (let call = 0; call < 2; call++)
      await expect(idempotency.runOnce('k', () => BigInt(++runs))).rejects.toMatchObject(
        code('PAYLOAD_INVALID', { message: expect.stringContaining('the result of k') }),
      );
    expect(runs).toBe(1);
  });

  it('what the effect threw is told even when the store cannot take the lease back', async () => {
    const { idempotency, store } = onMemory();
    Object.assign(store.once, {
      release: () => Promise.reject(ERRORS.create('BACKEND_UNAVAILABLE', { reason: 'test' })),
    });
    const failure = new Error('declined');
    await expect(idempotency.runOnce('k', () => Promise.reject(failure))).rejects.toBe(failure);
  });

  it.each([
    ['', 'ID_INVALID'],
    ['x'.repeat(513), 'ID_INVALID'],
    [5, 'ID_INVALID'],
    [null, 'ID_INVALID'],
    [undefined, 'ID_INVALID'],
    [{}, 'ID_INVALID'],
    ['\ud800', 'ID_INVALID'],
  ])('the key %j is refused', async (key, expected) => {
    const { idempotency } = onMemory();
    let runs = 0;
    const failure = await idempotency.runOnce(key as string, () => ++runs).catch((error: Error) => error);
    expect(failure).toMatchObject({ code: expected });
    expect((failure as Error).message.length).toBeLessThan(400);
    expect(runs).toBe(0);
  });

  it('any other text is a key', async () => {
    const { idempotency } = onMemory();
    const keys = ['x'.repeat(512), 'a b', 'ключ', '🙂', '\u0000', '__proto__', 'a\nb', '/'];
    for (const key of keys) expect(await idempotency.runOnce(key, () => key)).toBe(key);
    for (const key of keys) expect(await idempotency.runOnce(key, () => 'other')).toBe(key);
  });

  it('refuses what is no function and a lease that is none', async () => {
    const { idempotency } = onMemory();
    await expect(idempotency.runOnce('k', 'x' as never)).rejects.toMatchObject(code('OPTION_INVALID'));
    for (const leaseMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5'])
      await expect(idempotency.runOnce('k', () => 1, { leaseMs: leaseMs as number })).rejects.toMatchObject(
        code('OPTION_INVALID', { message: expect.stringContaining('runOnce: leaseMs must be') }),
      );
    await expect(idempotency.runOnce('k', () => 1, { lease: 5 } as never)).rejects.toMatchObject(
      code('OPTION_UNKNOWN', { message: expect.stringContaining("did you mean 'leaseMs'?") }),
    );
  });
});
