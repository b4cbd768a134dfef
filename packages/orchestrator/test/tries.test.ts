import { NonRetryableError, RateLimitedError, seededRng, sleep } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { defineRoutes, inline } from '../src/define-routes.js';
import { Outcome } from '../src/outcome.js';
import type { InlineHandler, InlineOptions } from '../src/routes.js';
import { answered, command, openWorld } from './world.js';

const routesOf = (run: InlineHandler, options?: InlineOptions) =>
  defineRoutes({ 'ORDER.PLACE': inline(run, options) });

describe('tries of inline work', () => {
  it('orchestrator NFR-2: a throw is tried again after the back-off, and the outcome is that of the try that worked', async () => {
    const world = openWorld();
    const tries: { attempt: number; atMs: number; left: number; key: string }[] = [];
    const { service } = await world.open(
      routesOf((_, { attempt, retriesLeft, idempotencyKey }) => {
        tries.push({ attempt, atMs: world.clock.monotonicMs(), left: retriesLeft, key: idempotencyKey });
        if (attempt < 3) throw new Error('not yet');
        return { made: attempt };
      }),
      {},
      { backoffJitter: 0 },
    );
    const handle = await answered(world.clock, service.submit(command('b')));
    expect(handle.completedFast).toBe(false);
    const waiting = await service.operations.get(handle.opId);
    expect(waiting).toMatchObject({ state: 'IN_PROGRESS', owner: undefined, attempts: 1 });
    expect(waiting.outcome).toEqual({
      type: 'Retry',
      reason: 'HANDLER_FAILED: not yet',
      attemptCount: 1,
      nextRetryAfterMs: 1_000,
    });
    await world.clock.advance(4_000);
    const ended = await service.operations.get(handle.opId);
    expect(ended).toMatchObject({ state: 'COMPLETED', attempts: 3, deadLetter: false });
    expect(ended.outcome).toEqual({ type: 'Ok', data: { made: 3 } });
    expect(tries.map(({ attempt, left }) => [attempt, left])).toEqual([
      [1, 3],
      [2, 2],
      [3, 1],
    ]);
    expect(new Set(tries.map(({ key }) => key)).size).toBe(1);
    expect(tries.map(({ atMs }) => atMs)).toEqual([0, 1_000, 3_000]);
    await service.stop();
  });

  it('orchestrator FR-5: whoever reads the changes hears that a further try has begun while it runs', async () => {
    const { clock, open } = openWorld();
    const run: InlineHandler = async (_, { attempt, signal }) => {
      if (attempt === 1) throw new Error('not yet');
      await sleep(clock, 60_000, signal);
    };
    const { service } = await open(routesOf(run), {}, { backoffJitter: 0 });
    const { opId } = await answered(clock, service.submit(command('b')));
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { attempts, owner } of service.operations.changes(opId)) {
        seen.push(`${attempts} ${owner ? 'runs' : 'waits'}`);
      }
    })();
    await clock.advance(1_100);
    expect(seen).toEqual(['1 waits', '2 runs']);
    await service.operations.cancel(opId);
    await reading;
    await service.stop();
  });

  it('orchestrator NFR-2: when retries are spent it is FAILED with the last Retry, and a dead letter', async () => {
    const world = openWorld();
    let runs = 0;
    const { service } = await world.open(
      routesOf(() => {
        runs++;
        return Outcome.retry({ reason: 'LATER', attemptCount: runs, nextRetryAfterMs: 50 });
      }),
    );
    const handle = await answered(world.clock, service.submit(command('b'), 1_000));
    const ended = await service.operations.get(handle.opId);
    expect(runs).toBe(4);
    expect(ended).toMatchObject({ state: 'FAILED', attempts: 4, deadLetter: true });
    expect(handle.completedFast).toBe(true);
    expect(handle.responseBodyOrNull).toEqual({
      type: 'Retry',
      reason: 'LATER',
      attemptCount: 4,
      nextRetryAfterMs: 50,
    });
    await service.stop();
  });

  it.each([
    ['NonRetryableError', () => new NonRetryableError('no such card'), 'NON_RETRYABLE'],
    [
      'an error that says so',
      () => Object.assign(new Error('no such card'), { code: 'CARD', retryable: false }),
      'CARD',
    ],
  ])('orchestrator NFR-2: %s fails at once', async (_, error, errorCode) => {
    const world = openWorld();
    const { service } = await world.open(
      routesOf(() => {
        throw error();
      }),
    );
    const handle = await answered(world.clock, service.submit(command('b')));
    expect(handle.responseBodyOrNull).toEqual({ type: 'Fail', errorCode, message: 'no such card' });
    expect(await service.operations.get(handle.opId)).toMatchObject({ state: 'FAILED', deadLetter: true });
    await service.stop();
  });

  it('orchestrator NFR-2: RateLimitedError names its own delay', async () => {
    const world = openWorld();
    const { service } = await world.open(
      routesOf((_, { attempt }) => {
        if (attempt === 1) throw new RateLimitedError({ retryAfterMs: 7_000 });
        return attempt;
      }),
    );
    const handle = await answered(world.clock, service.submit(command('b')));
    await world.clock.advance(6_500);
    expect((await service.operations.get(handle.opId)).state).toBe('IN_PROGRESS');
    await world.clock.advance(600);
    expect((await service.operations.get(handle.opId)).outcome).toEqual({ type: 'Ok', data: 2 });
    await service.stop();
  });

  it.each([
    ['undefined', undefined, 'HANDLER_FAILED: The handler threw undefined'],
    ['a text', 'oops', 'HANDLER_FAILED: The handler threw oops'],
    [
      'a proxy that throws on every access',
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('hostile');
          },
        },
      ),
      'HANDLER_FAILED: The handler threw an unprintable object',
    ],
  ])('orchestrator NFR-2: throwing %s is a failed try like any other', async (_, thrown, reason) => {
    const world = openWorld();
    const { service } = await world.open(
      routesOf(
        () => {
          throw thrown;
        },
        { retry: { retries: 0 } },
      ),
    );
    const handle = await answered(world.clock, service.submit(command('b')));
    expect(handle.responseBodyOrNull).toMatchObject({ type: 'Retry', reason });
    await service.stop();
  });

  it('orchestrator NFR-2: a delay without an end is not believed', async () => {
    const world = openWorld();
    const { service } = await world.open(
      routesOf((_, { attempt }) => {
        if (attempt === 1)
          throw Object.assign(new Error('never'), { retryAfterMs: Number.POSITIVE_INFINITY });
        return attempt;
      }),
      {},
      { backoffJitter: 0 },
    );
    const handle = await answered(world.clock, service.submit(command('b')));
    expect((await service.operations.get(handle.opId)).outcome).toMatchObject({ nextRetryAfterMs: 1_000 });
    await world.clock.advance(1_200);
    expect((await service.operations.get(handle.opId)).outcome).toEqual({ type: 'Ok', data: 2 });
    await service.stop();
  });

  it('orchestrator NFR-2: an executor that goes wrong by itself fails the operation, not the process', async () => {
    const world = openWorld();
    const rng = { ...seededRng('nonsense'), next: () => Number.NaN, integer: () => 0 };
    const hostile = () => {
      let reads = 0;
      const outcome = {
        get type() {
          if (++reads > 1) throw new Error('hostile');
          return 'Ok';
        },
      };
      return Object.defineProperty(outcome, Symbol.for('millrace.outcome'), { value: true });
    };
    const routes = routesOf(({ bizKey }) => {
      if (bizKey === 'hostile') return hostile();
      throw new Error('no');
    });
    const { service } = await world.open(routes, {}, { rng });
    for (const [bizKey, reason] of [
      ['no delay', 'nextRetryAfterMs must be'],
      ['hostile', 'hostile'],
    ] as const) {
      const handle = await answered(world.clock, service.submit(command(bizKey)));
      expect(handle.responseBodyOrNull).toMatchObject({
        type: 'Fail',
        errorCode: 'EXECUTOR_FAILED',
        message: expect.stringContaining(reason),
      });
    }
    await service.stop();
  });

  it('orchestrator NFR-2: work that takes longer than its timeout is told to stop and tried again', async () => {
    const world = openWorld();
    const reasons: unknown[] = [];
    const { service } = await world.open(
      routesOf(
        (_, { signal, attempt }) => {
          if (attempt === 2) return 'made it';
          return new Promise((__, reject) =>
            signal.addEventListener('abort', () => {
              reasons.push(signal.reason);
              reject(signal.reason);
            }),
          );
        },
        { timeoutMs: 300 },
      ),
    );
    const handle = await answered(world.clock, service.submit(command('b')));
    await world.clock.advance(200);
    expect((await service.operations.get(handle.opId)).outcome).toMatchObject({
      type: 'Retry',
      reason: 'TIMEOUT',
    });
    expect(reasons).toHaveLength(1);
    await world.clock.advance(2_000);
    expect((await service.operations.get(handle.opId)).outcome).toEqual({ type: 'Ok', data: 'made it' });
    await service.stop();
  });

  it('orchestrator FR-2: data that JSON cannot carry, or too much of it, is a Fail that says so', async () => {
    const world = openWorld();
    const results: unknown[] = [1n, 'x'.repeat(200), { toJSON: () => undefined }];
    const { service } = await world.open(
      routesOf((c) => results[(c.payload as { at: number }).at]),
      { outcomeBytesMax: 100 },
    );
    for (const [at] of results.entries()) {
      const handle = await answered(world.clock, service.submit(command('b', { payload: { at } })));
      expect(handle.responseBodyOrNull).toMatchObject({ type: 'Fail', errorCode: 'OUTCOME_INVALID' });
    }
    await service.stop();
  });

  it('orchestrator FR-2: data that looks like an outcome is data; a handler gets a copy of the payload of its own', async () => {
    const world = openWorld();
    const { service } = await world.open(
      routesOf((c) => {
        const payload = c.payload as { type: string; list: number[] };
        payload.list.push(9);
        return payload;
      }),
    );
    const payload = JSON.parse('{"type":"Fail","list":[1],"__proto__":{"polluted":true}}') as object;
    const handle = await answered(world.clock, service.submit(command('b', { payload })));
    expect(handle.responseBodyOrNull).toEqual({ type: 'Ok', data: { type: 'Fail', list: [1, 9] } });
    expect((payload as { list: number[] }).list).toEqual([1]);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    await service.stop();
  });

  it('orchestrator NFR-2: a back-off of the user is asked, and nonsense is not believed', async () => {
    const world = openWorld();
    const at: number[] = [];
    const delays = [40, Number.NaN, -5];
    const { service } = await world.open(
      routesOf(
        () => {
          at.push(world.clock.monotonicMs());
          throw new Error('no');
        },
        { retry: { retries: 3, jitter: 0, backoff: (attempt) => delays[attempt - 1] as number } },
      ),
    );
    await answered(world.clock, service.submit(command('b')));
    await world.clock.advance(10_000);
    expect(at).toEqual([0, 40, 2_040, 5_040]);
    await service.stop();
  });

  it('orchestrator FR-1: an unknown route is refused and nothing stored; routes are checked when they are made', async () => {
    const world = openWorld();
    const { service } = await world.open(routesOf(() => 1));
    await expect(service.submit(command('b', { route: 'ORDER.CANCEL' }))).rejects.toMatchObject({
      code: 'ROUTE_NOT_FOUND',
      status: 404,
      message: 'Route ORDER.CANCEL not found; known routes: ORDER.PLACE',
    });
    expect((await service.operations.list()).items).toEqual([]);
    await service.stop();
    expect(() => defineRoutes({ 'order.place': inline(() => 1) })).toThrow(/DOMAIN.EVENT_TYPE/);
    expect(() => defineRoutes({ 'A.B': inline(undefined as never) })).toThrow(/requires a function/);
    expect(() => defineRoutes({ 'A.B': null as never })).toThrow(/make it with inline/);
    await expect(world.open({ 'A.B': { kind: 'bulk', definition: {}, options: {} } })).rejects.toThrow(
      /nothing takes 'bulk' work over/,
    );
    await expect(world.open(routesOf(() => 1, { timeoutMs: 0 }))).rejects.toThrow(/timeoutMs must be/);
    await expect(world.open(routesOf(() => 1, { onLost: 'forget' as never }))).rejects.toThrow(/onLost/);
    await expect(world.open(routesOf(() => 1, { protect: { hedge: { delayMs: 5 } } }))).rejects.toThrow(
      /idempotent/,
    );
  });
});
