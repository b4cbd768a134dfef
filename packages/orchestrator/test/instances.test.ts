import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { defineRoutes, inline } from '../src/define-routes.js';
import { answered, command, freezable, openWorld } from './world.js';

describe('the same key', () => {
  it('orchestrator FR-1: 100 at once run the work once and get the same operation, with its outcome', async () => {
    const world = openWorld();
    let runs = 0;
    const routes = defineRoutes({
      'ORDER.PLACE': inline(async () => {
        runs++;
        await new Promise<void>((resolve) => world.clock.setTimer(50, resolve));
        return { runs };
      }),
    });
    const instances = await Promise.all([1, 2, 3, 4].map(() => world.open(routes)));
    const calls = Array.from({ length: 100 }, (_, index) =>
      (instances[index % 4] as (typeof instances)[0]).service.submit(
        // The order of keys is no difference.
        command('b', { idemKey: 'k', payload: index % 2 ? { a: 1, b: 2 } : { b: 2, a: 1 } }),
      ),
    );
    const handles = await answered(world.clock, Promise.all(calls));
    expect(runs).toBe(1);
    expect(new Set(handles.map(({ opId }) => opId)).size).toBe(1);
    expect(handles.every(({ completedFast }) => completedFast)).toBe(true);
    expect(new Set(handles.map(({ responseBodyOrNull }) => JSON.stringify(responseBodyOrNull)))).toEqual(
      new Set(['{"type":"Ok","data":{"runs":1}}']),
    );
    await Promise.all(instances.map(({ service }) => service.stop()));
  });

  it('orchestrator FR-1: another body is a conflict, the stored outcome comes after the end, strict refuses while it runs', async () => {
    const world = openWorld();
    const gate = latch('the work may end');
    const routes = defineRoutes({ 'ORDER.PLACE': inline(() => gate.promise.then(() => 'done')) });
    const { service } = await world.open(routes);
    const strict = (await world.open(routes, { idempotency: 'strict' })).service;
    const first = await answered(world.clock, service.submit(command('b', { idemKey: 'k', payload: 1 })));
    expect(first.completedFast).toBe(false);
    await expect(service.submit(command('b', { idemKey: 'k', payload: 2 }))).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
      status: 422,
    });
    await expect(strict.submit(command('b', { idemKey: 'k', payload: 1 }))).rejects.toMatchObject({
      code: 'OPERATION_RUNNING',
      status: 409,
    });
    const attached = service.submit(command('b', { idemKey: 'k', payload: 1 }));
    gate.open();
    const second = await answered(world.clock, attached);
    expect(second).toMatchObject({
      opId: first.opId,
      completedFast: true,
      responseBodyOrNull: { data: 'done' },
    });
    for (const door of [service, strict]) {
      const again = await answered(world.clock, door.submit(command('b', { idemKey: 'k', payload: 1 })));
      expect(again).toMatchObject({
        opId: first.opId,
        completedFast: true,
        responseBodyOrNull: { data: 'done' },
      });
    }
    // Another business key, another tenant: another operation.
    const other = await answered(world.clock, service.submit(command('c', { idemKey: 'k', payload: 1 })));
    const tenant = await answered(
      world.clock,
      service.submit(command('b', { idemKey: 'k', payload: 1 }), 200, { tenant: 't' }),
    );
    expect(new Set([first.opId, other.opId, tenant.opId]).size).toBe(3);
    await expect(service.operations.get(tenant.opId, { tenant: 'u' })).rejects.toMatchObject({
      code: 'OPERATION_NOT_FOUND',
    });
    await service.stop();
    await strict.stop();
  });

  it('orchestrator FR-1: a key is forgotten after its time, and the work may be ordered again', async () => {
    const world = openWorld();
    let runs = 0;
    const { service } = await world.open(defineRoutes({ 'ORDER.PLACE': inline(() => ++runs) }), {
      idempotencyTtlMs: 2_000,
      retentionMs: 10_000,
    });
    const first = await answered(world.clock, service.submit(command('b', { idemKey: 'k' })));
    await world.clock.advance(1_900);
    const same = await answered(world.clock, service.submit(command('b', { idemKey: 'k' })));
    expect(same.opId).toBe(first.opId);
    await world.clock.advance(101);
    const second = await answered(world.clock, service.submit(command('b', { idemKey: 'k' })));
    expect(second.opId).not.toBe(first.opId);
    expect(runs).toBe(2);
    await service.stop();
  });
});

describe('several instances', () => {
  it('orchestrator NFR-3: an end on another instance ends the wait early', async () => {
    const world = openWorld();
    const routes = defineRoutes({
      'ORDER.PLACE': inline(() => new Promise((resolve) => world.clock.setTimer(60, () => resolve('there')))),
    });
    const [one, two] = await Promise.all([world.open(routes), world.open(routes)]);
    const running = one.service.submit(command('b', { idemKey: 'k' }));
    await world.clock.advance(10);
    const attached = two.service.submit(command('b', { idemKey: 'k' }));
    const handle = await answered(world.clock, attached);
    expect(handle.responseBodyOrNull).toEqual({ type: 'Ok', data: 'there' });
    expect(world.clock.monotonicMs()).toBeLessThan(70);
    await running;
    await Promise.all([one, two].map(({ service }) => service.stop()));
  });

  it('orchestrator NFR-3: without notices the poll finds the end', async () => {
    const world = openWorld();
    const deaf = { tell: () => {}, hear: () => () => {} };
    const { runs, repairs, views } = world.store;
    const store = { runs, repairs, views, notices: deaf, start: async () => {}, stop: async () => {} };
    const routes = defineRoutes({
      'ORDER.PLACE': inline(() => new Promise((resolve) => world.clock.setTimer(60, () => resolve('there')))),
    });
    const [one, two] = await Promise.all([world.open(routes, { store }), world.open(routes, { store })]);
    void one.service.submit(command('b', { idemKey: 'k' }));
    await world.clock.advance(10);
    const handle = await answered(world.clock, two.service.submit(command('b', { idemKey: 'k' })));
    expect(handle.responseBodyOrNull).toEqual({ type: 'Ok', data: 'there' });
    expect(world.clock.monotonicMs()).toBeLessThan(200);
    await Promise.all([one, two].map(({ service }) => service.stop()));
  });

  it('orchestrator NFR-2: what a silent instance ran is freed, run by another one, and ends once', async () => {
    const world = openWorld();
    const runs: string[] = [];
    const routesOf = (name: string) =>
      defineRoutes({
        'ORDER.PLACE': inline((_, { signal }) => {
          runs.push(name);
          return name === 'dying'
            ? new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
            : name;
        }),
      });
    const frozen = freezable(world.store);
    const dying = await world.open(routesOf('dying'), { store: frozen.store });
    const handle = await answered(world.clock, dying.service.submit(command('b')));
    expect(handle.completedFast).toBe(false);
    frozen.freeze();
    const other = await world.open(routesOf('living'));
    const repairs: unknown[] = [];
    other.service.events.on('repaired', ({ by, became }) => repairs.push(`${by}: ${became}`));
    await world.clock.advance(61_000);
    const ended = await other.service.operations.get(handle.opId);
    expect(ended).toMatchObject({ state: 'COMPLETED', attempts: 2, outcome: { data: 'living' } });
    expect(runs).toEqual(['dying', 'living']);
    expect(repairs).toEqual(['reaper: released', 'runner: try 2']);
    // It wakes, and what it says about the operation changes nothing.
    frozen.thaw();
    await world.clock.advance(1_000);
    expect(await other.service.operations.get(handle.opId)).toEqual(ended);
    await Promise.all([dying, other].map(({ service }) => answered(world.clock, service.stop(), 20_000)));
  });

  it('orchestrator NFR-2: at most once: what a silent instance ran fails as lost, and so does what was tried too often', async () => {
    const world = openWorld();
    let runs = 0;
    const never = () => {
      runs++;
      return new Promise(() => {});
    };
    const routes = defineRoutes({
      'ORDER.PLACE': inline(never, { onLost: 'fail' }),
      'ORDER.SPENT': inline(never, { retry: { retries: 0 } }),
    });
    const frozen = freezable(world.store);
    const dying = await world.open(routes, { store: frozen.store });
    const once = await answered(world.clock, dying.service.submit(command('a')));
    const spent = await answered(world.clock, dying.service.submit(command('b', { route: 'ORDER.SPENT' })));
    frozen.freeze();
    const other = await world.open(routes);
    await world.clock.advance(61_000);
    for (const { opId } of [once, spent])
      expect(await other.service.operations.get(opId)).toMatchObject({
        state: 'FAILED',
        attempts: 1,
        deadLetter: true,
        outcome: { type: 'Fail', errorCode: 'OPERATION_LOST' },
      });
    expect(runs).toBe(2);
    frozen.thaw();
    await Promise.all([dying, other].map(({ service }) => answered(world.clock, service.stop(), 20_000)));
  });

  it('orchestrator NFR-2: the lease of long work is kept, so nobody else runs it', async () => {
    const world = openWorld();
    let runs = 0;
    const routes = defineRoutes({
      'ORDER.PLACE': inline(
        async () => {
          runs++;
          await new Promise<void>((resolve) => world.clock.setTimer(100_000, resolve));
        },
        { timeoutMs: 200_000 },
      ),
    });
    const [one, two] = await Promise.all([world.open(routes), world.open(routes)]);
    const handle = await answered(world.clock, one.service.submit(command('b')));
    await world.clock.advance(101_000);
    expect(await two.service.operations.get(handle.opId)).toMatchObject({ state: 'COMPLETED', attempts: 1 });
    expect(runs).toBe(1);
    await Promise.all([one, two].map(({ service }) => service.stop()));
  });
});

describe('a store that does not answer', () => {
  it('orchestrator NFR-2: an acceptance that is not confirmed in the budget is 503; it is run when it comes, and its key finds it', async () => {
    const world = openWorld();
    let runs = 0;
    const frozen = freezable(world.store);
    const { service } = await world.open(defineRoutes({ 'ORDER.PLACE': inline(() => ++runs) }), {
      store: frozen.store,
    });
    frozen.freeze();
    const call = service.submit(command('b', { idemKey: 'k' }));
    await expect(answered(world.clock, call)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      status: 503,
      retryable: true,
      retryAfterMs: 1_000,
    });
    expect(world.clock.monotonicMs()).toBe(200);
    expect(runs).toBe(0);
    frozen.thaw();
    await world.clock.advance(10);
    expect(runs).toBe(1);
    const again = await answered(world.clock, service.submit(command('b', { idemKey: 'k' })));
    expect(again).toMatchObject({ completedFast: true, responseBodyOrNull: { data: 1 } });
    expect(runs).toBe(1);
    await service.stop();
  });

  it('orchestrator NFR-2: an end that cannot be written is answered 202 at the budget, and written when the store is back', async () => {
    const world = openWorld();
    const frozen = freezable(world.store);
    const routes = defineRoutes({
      'ORDER.PLACE': inline(() => {
        frozen.freeze();
        return 'done';
      }),
    });
    const { service } = await world.open(routes, { store: frozen.store });
    const handle = await answered(world.clock, service.submit(command('b')));
    expect([handle.completedFast, world.clock.monotonicMs()]).toEqual([false, 200]);
    frozen.thaw();
    await world.clock.advance(10);
    expect((await service.operations.get(handle.opId)).outcome).toEqual({ type: 'Ok', data: 'done' });
    await service.stop();
  });
});

describe('cancelling', () => {
  it('orchestrator FR-1: running work is told to stop, on whichever instance it runs; waiting callers get the outcome', async () => {
    const world = openWorld();
    const stopped: unknown[] = [];
    const routes = defineRoutes({
      'ORDER.PLACE': inline(
        (_, { signal }) =>
          new Promise((__, reject) =>
            signal.addEventListener('abort', () => {
              stopped.push(true);
              reject(signal.reason);
            }),
          ),
      ),
    });
    const [one, two] = await Promise.all([world.open(routes), world.open(routes)]);
    const call = one.service.submit(command('b'), 5_000);
    await world.clock.advance(30);
    const [{ opId = '' } = {}] = (await one.service.operations.list()).items;
    const cancelled = await two.service.operations.cancel(opId);
    expect(cancelled).toMatchObject({
      state: 'FAILED',
      deadLetter: false,
      outcome: { errorCode: 'CANCELLED' },
    });
    const handle = await answered(world.clock, call);
    expect(handle).toMatchObject({
      completedFast: true,
      responseBodyOrNull: { type: 'Fail', errorCode: 'CANCELLED' },
    });
    expect(world.clock.monotonicMs()).toBeLessThan(100);
    expect(stopped).toHaveLength(1);
    // Again, and after an end: as it is.
    expect(await one.service.operations.cancel(opId)).toEqual(cancelled);
    await expect(one.service.operations.cancel('01900000-0000-7000-8000-000000000000')).rejects.toMatchObject(
      {
        code: 'OPERATION_NOT_FOUND',
      },
    );
    await expect(one.service.operations.cancel('nonsense')).rejects.toMatchObject({ code: 'ID_INVALID' });
    await Promise.all([one, two].map(({ service }) => service.stop()));
  });

  it('orchestrator FR-1: what waits for a retry never runs again', async () => {
    const world = openWorld();
    let runs = 0;
    const { service } = await world.open(
      defineRoutes({
        'ORDER.PLACE': inline(() => {
          runs++;
          throw new Error('no');
        }),
      }),
    );
    const { opId } = await answered(world.clock, service.submit(command('b')));
    await service.operations.cancel(opId);
    await world.clock.advance(10_000);
    expect(runs).toBe(1);
    expect((await service.operations.get(opId)).attempts).toBe(1);
    await service.stop();
  });
});

describe('stopping', () => {
  it('orchestrator NFR-2: callers get 202, work that ends in the grace period is kept, the rest is given back', async () => {
    const world = openWorld();
    const runs: string[] = [];
    const routesOf = (name: string) =>
      defineRoutes({
        'ORDER.PLACE': inline(({ bizKey }, { signal }) => {
          runs.push(`${bizKey} by ${name}`);
          if (bizKey === 'quick')
            return new Promise((resolve) => world.clock.setTimer(300, () => resolve('kept')));
          if (name === 'two') return 'by two';
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        }),
        'ORDER.ONCE': inline(() => new Promise(() => {}), { onLost: 'fail' }),
      });
    const one = await world.open(routesOf('one'), { gracePeriodMs: 1_000 });
    const calls = Promise.all([
      one.service.submit(command('quick'), 5_000),
      one.service.submit(command('slow'), 5_000),
      one.service.submit(command('deaf', { route: 'ORDER.ONCE' }), 5_000),
    ]);
    await world.clock.advance(100);
    const stopping = one.service.stop();
    const handles = await answered(world.clock, calls);
    expect(world.clock.monotonicMs()).toBeLessThanOrEqual(101);
    expect(handles.map(({ completedFast }) => completedFast)).toEqual([false, false, false]);
    const before = world.clock.monotonicMs();
    await answered(world.clock, stopping);
    expect(world.clock.monotonicMs() - before).toBeLessThanOrEqual(1_000);
    const two = await world.open(routesOf('two'));
    const [quick, slow, once] = handles.map(({ opId }) => opId);
    await world.clock.advance(200);
    expect(await two.service.operations.get(quick as string)).toMatchObject({
      outcome: { data: 'kept' },
      attempts: 1,
    });
    // Given back: the try that its instance broke off is not counted.
    expect(await two.service.operations.get(slow as string)).toMatchObject({
      outcome: { data: 'by two' },
      attempts: 1,
    });
    expect(await two.service.operations.get(once as string)).toMatchObject({
      outcome: { errorCode: 'OPERATION_LOST' },
    });
    expect(runs).toEqual(['quick by one', 'slow by one', 'slow by two']);
    await two.service.stop();
    expect(world.clock.pendingTimers).toBe(0);
  });

  it('orchestrator NFR-2: what is accepted while the instance ends is given back at once', async () => {
    const world = openWorld();
    const frozen = freezable(world.store);
    const ran: string[] = [];
    const routesOf = (name: string) => defineRoutes({ 'ORDER.PLACE': inline(() => ran.push(name)) });
    const one = await world.open(routesOf('one'), { store: frozen.store, gracePeriodMs: 100 });
    frozen.freeze();
    const call = one.service.submit(command('b'), 5_000);
    await answered(world.clock, one.service.stop());
    frozen.thaw();
    expect((await answered(world.clock, call)).completedFast).toBe(false);
    expect(ran).toEqual([]);
    const two = await world.open(routesOf('two'));
    await world.clock.advance(200);
    const [operation] = (await two.service.operations.list()).items;
    expect(operation).toMatchObject({ state: 'COMPLETED', attempts: 1 });
    expect(ran).toEqual(['two']);
    await two.service.stop();
  });
});
