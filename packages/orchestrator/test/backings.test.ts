import { sleep } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { defineRoutes } from '../src/define-routes.js';
import type { Backing, Envelope } from '../src/model.js';
import type { OpId } from '../src/op-id.js';
import { Outcome } from '../src/outcome.js';
import type { BackedOperation, BackingLook, RoutedOperation } from '../src/ports.js';
import type { BackedRoute, BackingAdapter } from '../src/routes.js';
import { answered, command, openWorld } from './world.js';

/** Another part that takes work over: a table of what it was given, which a test fills in. */
class Ledger implements BackingAdapter {
  readonly kind = 'ledger';
  readonly given: OpId[] = [];
  readonly cancelled: OpId[] = [];
  readonly works = new Map<OpId, BackingLook>();
  onSubmit: (envelope: Envelope) => unknown = () => {};
  onCancel: (opId: OpId) => void = () => {};
  #listener: (opId: OpId, outcome: Outcome) => void = () => {};

  async submit(envelope: Envelope): Promise<Backing> {
    await this.onSubmit(envelope);
    this.given.push(envelope.opId);
    if (!this.works.has(envelope.opId)) this.works.set(envelope.opId, { kind: 'running' });
    return { kind: this.kind, ref: envelope.opId };
  }

  async look(operations: readonly BackedOperation[]): Promise<ReadonlyMap<OpId, BackingLook>> {
    return new Map(operations.map(({ opId }) => [opId, this.works.get(opId) ?? { kind: 'gone' }]));
  }

  async cancel({ opId }: RoutedOperation): Promise<void> {
    this.onCancel(opId);
    this.cancelled.push(opId);
  }

  onSettled(listener: (opId: OpId, outcome: Outcome) => void): () => void {
    this.#listener = listener;
    return () => {};
  }

  /** Ends a work. */
  end(opId: OpId, outcome: Outcome, { isHinted = true } = {}): void {
    this.works.set(opId, { kind: 'ended', outcome });
    if (isHinted) this.#listener(opId, outcome);
  }
}

const route = (options: BackedRoute['options'] = {}): BackedRoute => ({
  kind: 'ledger',
  definition: {},
  options,
});

async function open(options: BackedRoute['options'] = {}) {
  const world = openWorld();
  const ledger = new Ledger();
  const routes = defineRoutes({ 'ORDER.PLACE': route(options) });
  const { service } = await world.open(routes, {}, { backings: [ledger], backoffJitter: 0 });
  const repairs: string[] = [];
  service.events.on('repaired', ({ by, became }) => repairs.push(`${by}: ${became}`));
  return {
    ...world,
    ledger,
    service,
    routes,
    repairs,
    openAnother: () => world.open(routes, {}, { backings: [ledger] }),
  };
}

describe('work behind operations', () => {
  it('orchestrator FR-5: an end inside the budget is answered with its outcome; the operation has no lease meanwhile', async () => {
    const { clock, ledger, service } = await open();
    const call = service.submit(command('b'));
    await clock.advance(50);
    const [opId] = ledger.given as [OpId];
    expect(await service.operations.get(opId)).toMatchObject({
      state: 'IN_PROGRESS',
      owner: undefined,
      backing: { kind: 'ledger', ref: opId },
    });
    ledger.end(opId, Outcome.ok({ rows: 3 }));
    const handle = await answered(clock, call);
    expect(handle.responseBodyOrNull).toEqual({ type: 'Ok', data: { rows: 3 } });
    expect(clock.monotonicMs()).toBeLessThan(60);
    await service.stop();
  });

  it('orchestrator NFR-2: a hint that is lost costs one look', async () => {
    const { clock, ledger, service } = await open();
    const handle = await answered(clock, service.submit(command('b')));
    ledger.end(handle.opId, Outcome.fail('NO_MONEY', 'not enough'), { isHinted: false });
    await clock.advance(1_100);
    expect(await service.operations.get(handle.opId)).toMatchObject({
      state: 'FAILED',
      outcome: { type: 'Fail', errorCode: 'NO_MONEY' },
    });
    await service.stop();
  });

  it('orchestrator FR-5: work that has ended before its hand-over is written ends its operation all the same', async () => {
    const { clock, ledger, service } = await open();
    ledger.onSubmit = ({ opId }) => ledger.end(opId, Outcome.ok('at once'));
    const handle = await answered(clock, service.submit(command('b')));
    expect(handle.responseBodyOrNull).toEqual({ type: 'Ok', data: 'at once' });
    expect((await service.operations.get(handle.opId)).state).toBe('COMPLETED');
    await service.stop();
  });

  it('orchestrator NFR-2: work that is gone is handed over again on idempotent routes, and fails on others', async () => {
    const again = await open({ idempotent: true });
    const first = await answered(again.clock, again.service.submit(command('b')));
    again.ledger.works.clear();
    await again.clock.advance(1_500);
    expect(again.ledger.given).toEqual([first.opId, first.opId]);
    again.ledger.end(first.opId, Outcome.ok());
    await again.clock.advance(10);
    expect(await again.service.operations.get(first.opId)).toMatchObject({ state: 'COMPLETED', attempts: 2 });
    await again.service.stop();

    const lost = await open();
    const second = await answered(lost.clock, lost.service.submit(command('b')));
    lost.ledger.works.clear();
    await lost.clock.advance(1_500);
    expect(await lost.service.operations.get(second.opId)).toMatchObject({
      state: 'FAILED',
      outcome: { errorCode: 'BACKING_LOST' },
    });
    expect(lost.ledger.given).toHaveLength(1);
    await lost.service.stop();
  });

  it('orchestrator NFR-2: a hand-over that fails for a while is tried again, one that never can fails', async () => {
    const { clock, ledger, service } = await open();
    let isAway = true;
    ledger.onSubmit = ({ command: { bizKey } }) => {
      if (bizKey === 'bad')
        throw Object.assign(new Error('no such table'), { code: 'BAD_INPUT', retryable: false });
      if (isAway) throw Object.assign(new Error('away'), { code: 'BACKEND_UNAVAILABLE', retryable: true });
    };
    const bad = await answered(clock, service.submit(command('bad')));
    expect(bad.responseBodyOrNull).toMatchObject({ type: 'Fail', errorCode: 'BAD_INPUT' });
    const later = await answered(clock, service.submit(command('b')));
    expect((await service.operations.get(later.opId)).outcome).toMatchObject({
      type: 'Retry',
      reason: 'BACKEND_UNAVAILABLE: away',
    });
    isAway = false;
    await clock.advance(1_200);
    expect(ledger.given).toEqual([later.opId]);
    await service.stop();
  });

  it('orchestrator NFR-2: a hand-over whose turn did not come in time costs no try', async () => {
    const { clock, ledger, service } = await open({
      protect: {
        timeoutMs: 60,
        bulkhead: { concurrency: 1, queueMax: 2 },
        rateLimit: { rps: 1, burst: 2 },
      },
    });
    ledger.onSubmit = ({ command: { bizKey } }) => (bizKey === 'a' ? sleep(clock, 10) : undefined);
    const calls = ['a', 'b', 'c'].map((bizKey) => answered(clock, service.submit(command(bizKey))));
    const [, , third] = await Promise.all(calls);
    const opId = third?.opId as OpId;
    expect(ledger.given).toHaveLength(2);
    expect(await service.operations.get(opId)).toMatchObject({
      attempts: 0,
      refusals: 1,
      outcome: { type: 'Retry', reason: 'TIMEOUT' },
    });
    await clock.advance(5_000);
    expect(ledger.given.at(-1)).toBe(opId);
    expect(await service.operations.get(opId)).toMatchObject({ attempts: 1, backing: { ref: opId } });
    await service.stop();
  });

  it('orchestrator FR-1: a cancellation is passed on, then final; callers who wait get it', async () => {
    const { clock, ledger, service } = await open();
    const call = service.submit(command('b'), 5_000);
    await clock.advance(50);
    const [opId] = ledger.given as [OpId];
    const cancelled = await service.operations.cancel(opId);
    expect(ledger.cancelled).toEqual([opId]);
    expect(cancelled).toMatchObject({
      state: 'FAILED',
      outcome: { errorCode: 'CANCELLED' },
      deadLetter: false,
    });
    expect(await answered(clock, call)).toMatchObject({ responseBodyOrNull: { errorCode: 'CANCELLED' } });
    await service.stop();
  });

  it('orchestrator NFR-2: a cancellation that could not be passed on is finished by the Finalizer, of any instance', async () => {
    const { clock, ledger, service, repairs, openAnother } = await open();
    const { opId } = await answered(clock, service.submit(command('b')));
    ledger.onCancel = () => {
      throw new Error('away');
    };
    await expect(service.operations.cancel(opId)).rejects.toThrow('away');
    expect(await service.operations.get(opId)).toMatchObject({ state: 'IN_PROGRESS' });
    await service.stop();
    const other = await openAnother();
    other.service.events.on('repaired', ({ by, became }) => repairs.push(`${by}: ${became}`));
    ledger.onCancel = () => {};
    await clock.advance(5_000);
    expect(await other.service.operations.get(opId)).toMatchObject({
      state: 'FAILED',
      outcome: { errorCode: 'CANCELLED' },
    });
    expect(ledger.cancelled).toEqual([opId]);
    expect(repairs).toContain('finalizer: FAILED');
    await other.service.stop();
  });

  it('orchestrator NFR-2: cancellations that nobody can finish keep no other waiting, however many they are', async () => {
    const { clock, ledger, service, repairs } = await open();
    const opIds: OpId[] = [];
    for (let n = 0; n < 230; n++)
      opIds.push((await answered(clock, service.submit(command(`b${n}`), 50), 100)).opId);
    ledger.onCancel = () => {
      throw new Error('away');
    };
    for (const opId of opIds) await expect(service.operations.cancel(opId)).rejects.toThrow('away');
    const [last] = opIds.slice(-1) as [OpId];
    ledger.onCancel = (opId) => {
      if (opId !== last) throw new Error('away');
    };
    await clock.advance(5_000);
    expect(await service.operations.get(last)).toMatchObject({ state: 'FAILED' });
    expect(await service.operations.openCounts()).toMatchObject({ byState: { IN_PROGRESS: 229 } });
    expect(repairs.filter((repair) => repair === 'finalizer: FAILED')).toHaveLength(1);
    await service.stop();
  });

  it('orchestrator NFR-2: cancelled and ended at the same time: one outcome, the one that was written first', async () => {
    const { clock, ledger, service } = await open();
    const { opId } = await answered(clock, service.submit(command('b')));
    ledger.onCancel = () => ledger.end(opId, Outcome.ok('too late'));
    expect((await service.operations.cancel(opId)).outcome).toMatchObject({ errorCode: 'CANCELLED' });
    await clock.advance(2_000);
    expect((await service.operations.get(opId)).outcome).toMatchObject({ errorCode: 'CANCELLED' });
    await service.stop();
  });
});

describe('watching operations', () => {
  it('orchestrator FR-5: changes are told one by one until the end; a wait ends with it or with its time', async () => {
    const { clock, ledger, service } = await open();
    const { opId } = await answered(clock, service.submit(command('b')));
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { state } of service.operations.changes(opId)) seen.push(state);
    })();
    await clock.advance(10);
    const short = await answered(clock, service.operations.waitForEnd(opId, 100));
    expect(short.state).toBe('IN_PROGRESS');
    const long = service.operations.waitForEnd(opId, 10_000);
    await clock.advance(10);
    ledger.end(opId, Outcome.ok());
    expect((await answered(clock, long)).state).toBe('COMPLETED');
    await reading;
    expect(seen).toEqual(['IN_PROGRESS', 'COMPLETED']);
    expect((await service.operations.waitForEnd(opId, 10_000)).state).toBe('COMPLETED');
    await service.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('orchestrator FR-5: a reader that goes away, and a stop, end the watching', async () => {
    const { clock, service } = await open();
    const { opId } = await answered(clock, service.submit(command('b')));
    const gone = new AbortController();
    const read = async (signal?: AbortSignal) => {
      for await (const _ of service.operations.changes(opId, { signal }));
    };
    const [one, two] = [read(gone.signal), read()];
    await clock.advance(10);
    gone.abort();
    await one;
    await answered(clock, service.stop());
    await two;
  });

  it('orchestrator FR-5: what is foretold follows from what ended before', async () => {
    const { clock, ledger, service } = await open();
    const of = { domain: 'ORDER', eventType: 'PLACE' };
    expect(service.operations.estimate(of).retryAfterMs).toBe(1_000);
    const { opId } = await answered(clock, service.submit(command('b')));
    await clock.advance(3_800);
    ledger.end(opId, Outcome.ok());
    await clock.advance(0);
    expect(service.operations.estimate(of).retryAfterMs).toBe(4_000);
    const acceptedAt = new Date(clock.now() - 3_000);
    expect(service.operations.estimate({ ...of, acceptedAt })).toEqual({
      completionAt: new Date(clock.now() + 1_000),
      retryAfterMs: 1_000,
    });
    await service.stop();
  });
});
