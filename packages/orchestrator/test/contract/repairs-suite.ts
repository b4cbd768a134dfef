import { describe, expect, it } from 'vitest';
import { Outcome } from '../../src/outcome.js';
import { BACKED, CANCELLED, FAIL, LEASE_MS, OK, RELEASED, RETRY, type StoreSuite } from './home.js';

export const repairsSuite: StoreSuite = (home) => {
  describe('backings', () => backings(home, 'memory'));
  describe('cancel and finalize', () => cancellations(home, 'memory'));
  describe('reap and prune', () => reaping(home, 'memory'));
};

const BATCH = { kind: 'batch' } as const;

const backings: StoreSuite = (home) => {
  it('orchestrator FR-1: operations with work behind them are listed by kind and id', async () => {
    const refs = [];
    for (let n = 0; n < 3; n++) refs.push(await home().settled(BACKED, { kind: 'bulk', tenant: 'acme' }));
    await home().settled({ kind: 'backed', backing: { kind: 'batch', ref: 'b' } }, BATCH);
    await home().running({ kind: 'bulk' });
    const [first, second, third] = refs.map(({ opId }) => opId);
    const { repairs } = home().store;
    expect((await repairs.backed('bulk', undefined, 2)).map(({ opId }) => opId)).toEqual([first, second]);
    expect(await repairs.backed('bulk', second, 2)).toEqual([
      {
        opId: third,
        tenant: 'acme',
        domain: 'ORDER',
        eventType: 'PLACE',
        backing: { kind: 'bulk', ref: 'group-1' },
      },
    ]);
    await repairs.endBacked(second as never, OK);
    expect((await repairs.backed('bulk', undefined, 9)).map(({ opId }) => opId)).toEqual([first, third]);
    expect(await repairs.backed('mail', undefined, 9)).toEqual([]);
  });

  it('orchestrator FR-5: the end of the backing ends the operation, once', async () => {
    const { opId } = await home().settled(BACKED, { kind: 'bulk' });
    const first = await home().store.repairs.endBacked(opId, OK);
    const operation = await home().get(opId);
    expect(first).toEqual({ kind: 'settled', operation, waited: false });
    expect(operation).toMatchObject({
      state: 'COMPLETED',
      outcome: OK.outcome,
      backing: { kind: 'bulk', ref: 'group-1' },
    });
    await home().moveTime(5);
    expect(await home().store.repairs.endBacked(opId, OK)).toEqual(first);
    expect(await home().store.repairs.endBacked(opId, FAIL)).toEqual({ kind: 'refused', operation });
    expect(await home().get(opId)).toEqual(operation);
  });

  it('orchestrator FR-5: a backing may end before it was noted, and then the note comes too late', async () => {
    const ref = await home().pending(BATCH);
    const ended = await home().store.repairs.endBacked(ref.opId, OK);
    expect(ended).toMatchObject({ kind: 'settled', operation: { state: 'COMPLETED', owner: undefined } });
    expect(await home().store.runs.settle(ref, BACKED)).toEqual({
      kind: 'refused',
      operation: ended.operation,
    });
  });

  it('orchestrator FR-5: an operation without work behind it is not ended by one', async () => {
    const { opId } = await home().running();
    const operation = await home().get(opId);
    expect(await home().store.repairs.endBacked(opId, OK)).toEqual({ kind: 'refused', operation });
  });

  it('orchestrator FR-5: the end of a batch ends its operation in the same transaction, or not at all', async () => {
    const one = await home().settled(BACKED, BATCH);
    const answer = await home().transaction((tx) => home().store.repairs.endBacked(one.opId, OK, tx));
    expect(answer).toMatchObject({ kind: 'settled', operation: { state: 'COMPLETED' } });
    const two = await home().settled(BACKED, BATCH);
    const broken = home().transaction(async (tx) => {
      if (tx) await home().store.repairs.endBacked(two.opId, OK, tx);
      throw new Error('the batch did not end after all');
    });
    await expect(broken).rejects.toThrow('did not end');
    expect(await home().get(two.opId)).toMatchObject({ state: 'IN_PROGRESS' });
  });

  it('orchestrator FR-1: a backing that is gone lets the operation be tried again', async () => {
    const { opId } = await home().settled(BACKED, { kind: 'bulk' });
    const { repairs } = home().store;
    expect(await repairs.dropBacking(opId)).toBe(true);
    expect(await home().get(opId)).toMatchObject({ state: 'IN_PROGRESS', backing: undefined });
    expect(await repairs.dropBacking(opId)).toBe(false);
    expect(await repairs.backed('bulk', undefined, 9)).toEqual([]);
    const [again] = await home().claim();
    expect(again).toMatchObject({ opId, token: 2, attempt: 2 });
    await home().store.runs.settle({ opId, token: 2 }, BACKED);
    expect(await repairs.backed('bulk', undefined, 9)).toHaveLength(1);
  });

  it('orchestrator FR-1: nothing is dropped of what has ended, is cancelled, or has no backing', async () => {
    const ended = await home().settled(BACKED, { kind: 'bulk' });
    await home().store.repairs.endBacked(ended.opId, OK);
    const cancelled = await home().settled(BACKED, { kind: 'bulk' });
    await home().store.repairs.cancel(cancelled.opId, CANCELLED);
    const inline = await home().running();
    for (const { opId } of [ended, cancelled, inline]) {
      const before = await home().get(opId);
      expect(await home().store.repairs.dropBacking(opId)).toBe(false);
      expect(await home().get(opId)).toEqual(before);
    }
  });
};

const cancellations: StoreSuite = (home) => {
  it('orchestrator FR-5: an inline operation ends at once, wherever it is', async () => {
    for (const ref of [await home().pending(), await home().running(), await home().settled(RETRY)]) {
      await home().moveTime(4);
      const answer = await home().store.repairs.cancel(ref.opId, CANCELLED);
      const operation = await home().get(ref.opId);
      expect(answer).toEqual({ kind: 'cancelled', operation, waited: false });
      expect(operation).toMatchObject({
        state: 'FAILED',
        outcome: CANCELLED,
        deadLetter: false,
        owner: undefined,
        dueAt: undefined,
      });
      expect(operation.startedAt).toBeInstanceOf(Date);
      await home().moveTime(1);
      expect(await home().store.repairs.cancel(ref.opId, CANCELLED)).toEqual(answer);
      expect(await home().store.runs.settle(ref, OK)).toEqual({ kind: 'refused', operation });
      expect(await home().store.runs.extend([ref], 1)).toEqual(new Set([ref.opId]));
    }
    expect(await home().store.repairs.ahead(9)).toEqual([]);
  });

  it('orchestrator FR-5: what has ended in another way stays as it is', async () => {
    const { opId } = await home().settled(OK);
    const operation = await home().get(opId);
    expect(await home().store.repairs.cancel(opId, CANCELLED)).toEqual({ kind: 'ended', operation });
    expect(await home().get(opId)).toEqual(operation);
  });

  it('orchestrator FR-5: with work behind it the outcome is written ahead, then made final', async () => {
    const { opId } = await home().settled(BACKED, { kind: 'bulk' });
    const { repairs } = home().store;
    const answer = await repairs.cancel(opId, CANCELLED);
    const ahead = await home().get(opId);
    expect(answer).toEqual({ kind: 'ahead', operation: ahead });
    expect(ahead).toMatchObject({ state: 'IN_PROGRESS', outcome: CANCELLED, endedAt: undefined });
    await home().moveTime(3);
    expect(await repairs.cancel(opId, Outcome.fail('CANCELLED', 'again'))).toEqual(answer);
    expect(await repairs.ahead(9)).toEqual([ahead]);
    expect(await repairs.backed('bulk', undefined, 9)).toHaveLength(1);
    const settled = await repairs.finalize(opId);
    const operation = await home().get(opId);
    expect(settled).toEqual({ kind: 'settled', operation, waited: false });
    expect(operation).toMatchObject({ state: 'FAILED', outcome: CANCELLED, deadLetter: false });
    expect(await repairs.finalize(opId)).toEqual(settled);
    expect(await repairs.cancel(opId, CANCELLED)).toEqual({ kind: 'cancelled', operation, waited: false });
    expect(await repairs.ahead(9)).toEqual([]);
    expect(await repairs.endBacked(opId, OK)).toEqual({ kind: 'refused', operation });
  });

  it('orchestrator FR-5: nothing is made final that was not written ahead', async () => {
    const refs = [
      await home().pending(),
      await home().running(),
      await home().settled(RETRY),
      await home().settled(OK),
    ];
    for (const { opId } of refs) {
      const operation = await home().get(opId);
      expect(await home().store.repairs.finalize(opId)).toEqual({ kind: 'refused', operation });
      expect(await home().get(opId)).toEqual(operation);
    }
  });

  it('orchestrator NFR-2: while somebody hands it over, a cancelled operation is left to them', async () => {
    const ref = await home().running({ kind: 'bulk' });
    const { repairs, runs } = home().store;
    expect(await repairs.cancel(ref.opId, CANCELLED)).toMatchObject({
      kind: 'ahead',
      operation: { owner: 'one' },
    });
    expect(await repairs.ahead(9)).toEqual([]);
    expect(await repairs.finalize(ref.opId)).toMatchObject({
      kind: 'refused',
      operation: { outcome: CANCELLED },
    });
    expect(await runs.settle(ref, BACKED)).toMatchObject({
      kind: 'settled',
      operation: { outcome: CANCELLED, backing: { ref: 'group-1' } },
    });
    expect(await repairs.ahead(9)).toHaveLength(1);
    expect(await repairs.finalize(ref.opId)).toMatchObject({
      kind: 'settled',
      operation: { state: 'FAILED' },
    });
  });

  it('orchestrator NFR-2: an owner that dies while handing over leaves a cancelled operation to be made final', async () => {
    const { opId } = await home().running({ kind: 'bulk', onLost: 'fail', attemptsMax: 1 });
    await home().store.repairs.cancel(opId, CANCELLED);
    await home().moveTime(LEASE_MS);
    expect(await home().store.repairs.reap(9)).toMatchObject([
      { became: 'released', operation: { dueAt: undefined } },
    ]);
    expect(await home().claim()).toEqual([]);
    expect(await home().store.repairs.ahead(9)).toHaveLength(1);
  });

  it.each([
    ['final', OK, 'FAILED'],
    ['retry', RETRY, 'IN_PROGRESS'],
    ['released', RELEASED, 'IN_PROGRESS'],
  ] as const)(
    'orchestrator FR-5: an outcome written ahead stands whatever the try says: %s',
    async (_, settlement, state) => {
      const ref = await home().running({ kind: 'bulk' });
      await home().store.repairs.cancel(ref.opId, CANCELLED);
      const first = await home().store.runs.settle(ref, settlement);
      expect(first).toMatchObject({
        kind: 'settled',
        operation: { state, outcome: CANCELLED, dueAt: undefined, deadLetter: false },
      });
      expect(await home().store.runs.settle(ref, settlement)).toEqual(first);
      expect(await home().claim()).toEqual([]);
      expect(await home().store.repairs.finalize(ref.opId)).toMatchObject({
        kind: 'settled',
        operation: { state: 'FAILED' },
      });
    },
  );

  it('orchestrator FR-5: an outcome written ahead stands when the backing ends', async () => {
    const { opId } = await home().settled(BACKED, { kind: 'bulk' });
    await home().store.repairs.cancel(opId, CANCELLED);
    const first = await home().store.repairs.endBacked(opId, OK);
    expect(first).toMatchObject({ kind: 'settled', operation: { state: 'FAILED', outcome: CANCELLED } });
    expect(await home().store.repairs.endBacked(opId, OK)).toEqual(first);
  });

  it('orchestrator FR-5: an operation that waits to be handed over again is left to the Finalizer', async () => {
    const { opId } = await home().settled(RETRY, { kind: 'bulk' });
    expect(await home().store.repairs.cancel(opId, CANCELLED)).toMatchObject({
      kind: 'ahead',
      operation: { dueAt: undefined },
    });
    await home().moveTime(1e6);
    expect(await home().claim()).toEqual([]);
    expect((await home().store.repairs.ahead(9)).map((one) => one.opId)).toEqual([opId]);
  });

  it('orchestrator FR-5: the oldest first, at most as many as asked for', async () => {
    const refs = [];
    for (let n = 0; n < 3; n++) refs.push(await home().settled(BACKED, { kind: 'bulk' }));
    for (const { opId } of refs.toReversed()) await home().store.repairs.cancel(opId, CANCELLED);
    const ahead = await home().store.repairs.ahead(2);
    expect(ahead.map(({ opId }) => opId)).toEqual(refs.slice(0, 2).map(({ opId }) => opId));
    const [, second, third] = refs.map(({ opId }) => opId);
    expect((await home().store.repairs.ahead(2, second)).map(({ opId }) => opId)).toEqual([third]);
    expect(await home().store.repairs.ahead(2, third)).toEqual([]);
  });
};

const reaping: StoreSuite = (home) => {
  it('orchestrator NFR-2: an operation of a silent owner is due again, its try counted', async () => {
    const ref = await home().running();
    await home().moveTime(LEASE_MS - 1);
    expect(await home().store.repairs.reap(9)).toEqual([]);
    await home().moveTime(1);
    const [reaped, ...others] = await home().store.repairs.reap(9);
    const operation = await home().get(ref.opId);
    expect(others).toEqual([]);
    expect(reaped).toEqual({ operation, became: 'released', waited: false });
    expect(operation).toMatchObject({
      state: 'IN_PROGRESS',
      owner: undefined,
      attempts: 1,
      dueAt: operation.updatedAt,
    });
    expect(await home().store.repairs.reap(9)).toEqual([]);
    expect(await home().store.runs.settle(ref, OK)).toEqual({ kind: 'refused', operation });
    expect(await home().claim()).toMatchObject([{ opId: ref.opId, attempt: 2, token: 2 }]);
  });

  it('orchestrator NFR-2: at most once, and spent tries: FAILED as OPERATION_LOST, a dead letter', async () => {
    const wishes = [{ onLost: 'fail' }, { attemptsMax: 1 }] as const;
    for (const wish of wishes) {
      const { opId } = await home().pending(wish);
      await home().moveTime(LEASE_MS);
      expect(await home().store.repairs.reap(9)).toEqual([
        { operation: await home().get(opId), became: 'failed', waited: false },
      ]);
      expect(await home().get(opId)).toMatchObject({
        state: 'FAILED',
        deadLetter: true,
        outcome: { type: 'Fail', errorCode: 'OPERATION_LOST' },
      });
    }
    expect((await home().store.views.counts()).deadLetters).toBe(2);
  });

  it('orchestrator NFR-2: the longest silent first, at most as many as asked for', async () => {
    const late = await home().running({ leaseMs: 30 });
    const early = await home().running({ leaseMs: 10 });
    await home().running({ leaseMs: 100 });
    await home().moveTime(50);
    const ids = async () => (await home().store.repairs.reap(1)).map(({ operation }) => operation.opId);
    expect([await ids(), await ids(), await ids()]).toEqual([[early.opId], [late.opId], []]);
  });

  it('orchestrator NFR-2: many that reap at once free each operation once', async () => {
    const refs = await Promise.all(Array.from({ length: 30 }, () => home().running()));
    await home().moveTime(LEASE_MS);
    const reaped = await Promise.all(Array.from({ length: 4 }, () => home().store.repairs.reap(30)));
    const ids = reaped.flat().map(({ operation }) => operation.opId);
    expect(ids.sort()).toEqual(refs.map(({ opId }) => opId).sort());
  });

  it('orchestrator NFR-2: what ended long enough ago is deleted, the oldest first', async () => {
    const old = await home().settled(OK);
    await home().moveTime(10);
    const younger = await home().settled(FAIL);
    const open = await home().running();
    await home().moveTime(10);
    const { repairs, views } = home().store;
    expect(await repairs.prune(21, 9)).toBe(0);
    expect(await repairs.prune(0, 1)).toBe(1);
    expect(await views.get(old.opId)).toBeUndefined();
    expect(await repairs.prune(11, 9)).toBe(0);
    expect(await repairs.prune(10, 9)).toBe(1);
    expect(await views.get(younger.opId)).toBeUndefined();
    expect(await views.get(open.opId)).toBeDefined();
    expect(await views.counts()).toMatchObject({
      deadLetters: 0,
      byState: { FAILED: 0, COMPLETED: 0, IN_PROGRESS: 1 },
    });
  });

  it('orchestrator FR-1: the key of a deleted operation is free', async () => {
    await home().settled(OK, { idemKey: 'same' });
    await home().store.repairs.prune(0, 9);
    expect(await home().accept({ idemKey: 'same' })).toMatchObject({ kind: 'accepted' });
  });
};
