import { expect, it } from 'vitest';
import { Outcome } from '../../src/outcome.js';
import { BACKED, CANCELLED, FAIL, OK, OWNER, REFUSED, RELEASED, RETRY, type StoreSuite } from './home.js';

export const settleSuite: StoreSuite = (home) => {
  it('orchestrator FR-2: a try begins once, and only for its owner', async () => {
    const ref = await home().pending();
    await home().moveTime(5);
    await home().store.runs.begin([{ ...ref, token: 2 }]);
    expect(await home().get(ref.opId)).toMatchObject({ state: 'PENDING' });
    await home().store.runs.begin([ref, { ...ref, opId: home().nextId() }]);
    const begun = await home().get(ref.opId);
    expect(begun).toMatchObject({ state: 'IN_PROGRESS', attempts: 1, owner: OWNER });
    expect(begun.startedAt).toEqual(new Date(begun.acceptedAt.getTime() + 5));
    await home().moveTime(5);
    await home().store.runs.begin([ref]);
    expect(await home().get(ref.opId)).toEqual(begun);
  });

  it.each([
    ['COMPLETED with Ok', OK],
    ['FAILED with Fail', FAIL],
    [
      'FAILED with the last Retry',
      {
        kind: 'final',
        state: 'FAILED',
        deadLetter: true,
        outcome: Outcome.retry({ reason: 'BUSY', attemptCount: 3, nextRetryAfterMs: 9 }),
      } as const,
    ],
  ])('orchestrator FR-5: outcome and final state are written together: %s', async (_, ending) => {
    const ref = await home().running();
    await home().moveTime(7);
    const answer = await home().store.runs.settle(ref, ending);
    const operation = await home().get(ref.opId);
    expect(answer).toEqual({ kind: 'settled', operation, waited: false });
    const { state, outcome, deadLetter } = ending;
    expect(operation).toMatchObject({ state, outcome, deadLetter, owner: undefined, attempts: 1 });
    expect(operation.endedAt).toEqual(new Date(operation.acceptedAt.getTime() + 7));
    expect(Outcome.is(operation.outcome)).toBe(true);
  });

  it('orchestrator FR-5: what ends before it began passes through IN_PROGRESS', async () => {
    const ref = await home().pending();
    await home().store.runs.settle(ref, FAIL);
    const { startedAt, endedAt } = await home().get(ref.opId);
    expect(startedAt).toEqual(endedAt);
  });

  it.each([
    ['COMPLETED', FAIL.outcome],
    ['FAILED', OK.outcome],
  ] as const)(
    'orchestrator FR-5: %s does not go with its outcome: refused, nothing changed',
    async (state, outcome) => {
      const ref = await home().running();
      const before = await home().get(ref.opId);
      const bad = { kind: 'final', state, outcome, deadLetter: false } as const;
      await expect(home().store.runs.settle(ref, bad)).rejects.toMatchObject({ code: 'OUTCOME_INVALID' });
      expect(await home().get(ref.opId)).toEqual(before);
    },
  );

  it.each([
    ['a try that failed is counted', RETRY, { state: 'IN_PROGRESS', attempts: 1, refusals: 0 }],
    ['a refusal is no try', REFUSED, { state: 'IN_PROGRESS', attempts: 0, refusals: 1 }],
  ] as const)(
    'orchestrator NFR-2: %s, and the operation waits without an owner',
    async (_, settlement, wanted) => {
      const ref = await home().running();
      const { operation } = await home().store.runs.settle(ref, settlement);
      const outcome = settlement.kind === 'retry' ? settlement.outcome : undefined;
      expect(operation).toMatchObject({ ...wanted, outcome, owner: undefined, endedAt: undefined });
      expect(operation?.dueAt).toEqual(new Date((operation?.updatedAt.getTime() ?? 0) + 500));
    },
  );

  it('orchestrator NFR-2: what an ending instance gives back is due at once and not counted', async () => {
    for (const ref of [await home().running(), await home().pending()]) {
      const before = await home().get(ref.opId);
      const { operation } = await home().store.runs.settle(ref, RELEASED);
      expect(operation).toMatchObject({
        state: before.state,
        attempts: 0,
        owner: undefined,
        dueAt: before.updatedAt,
      });
    }
  });

  it('orchestrator FR-1: an operation with work behind it has no owner and no lease', async () => {
    const ref = await home().running({ kind: 'bulk' });
    const { operation } = await home().store.runs.settle(ref, BACKED);
    expect(operation).toMatchObject({
      state: 'IN_PROGRESS',
      owner: undefined,
      dueAt: undefined,
      backing: { kind: 'bulk', ref: 'group-1' },
    });
    await home().moveTime(1e9);
    expect(await home().store.repairs.reap(10)).toEqual([]);
    expect(await home().claim()).toEqual([]);
  });

  it.each([
    ['final', OK],
    ['retry', RETRY],
    ['refusal', REFUSED],
    ['backed', BACKED],
    ['released', RELEASED],
  ] as const)(
    'orchestrator NFR-2: a %s repeated after a lost reply is answered as the first time',
    async (_, settlement) => {
      const ref = await home().running();
      const first = await home().store.runs.settle(ref, settlement);
      await home().moveTime(3);
      expect(await home().store.runs.settle(ref, settlement)).toEqual(first);
      expect(await home().get(ref.opId)).toEqual(first.operation);
    },
  );

  it('orchestrator NFR-2: a repetition is known although somebody else has the operation by now', async () => {
    const ref = await home().settled(RELEASED);
    const [claimed] = await home().claim();
    expect(claimed?.token).toBe(2);
    const again = await home().store.runs.settle(ref, RELEASED);
    expect(again).toMatchObject({ kind: 'settled', operation: { owner: 'two', attempts: 1 } });
    expect(await home().store.runs.settle(ref, OK)).toMatchObject({ kind: 'refused' });
  });

  it('orchestrator NFR-2: a second, other end is refused and changes nothing', async () => {
    const ref = await home().settled(OK);
    const before = await home().get(ref.opId);
    const others = [
      FAIL,
      RETRY,
      BACKED,
      RELEASED,
      { ...OK, outcome: Outcome.ok({ paid: false }) },
      { ...OK, deadLetter: true },
    ] as const;
    for (const other of others)
      expect(await home().store.runs.settle(ref, other)).toEqual({ kind: 'refused', operation: before });
    expect(await home().get(ref.opId)).toEqual(before);
  });

  it('orchestrator NFR-2: a stale token changes nothing', async () => {
    const ref = await home().settled(RELEASED);
    await home().claim();
    const before = await home().get(ref.opId);
    for (const token of [0, 1, 3]) {
      const stale = { ...ref, token };
      for (const settlement of [OK, FAIL, RETRY, REFUSED, BACKED])
        expect(await home().store.runs.settle(stale, settlement)).toEqual({
          kind: 'refused',
          operation: before,
        });
      await home().store.runs.begin([stale]);
      expect(await home().store.runs.extend([stale], 99_999)).toEqual(new Set([ref.opId]));
    }
    expect(await home().get(ref.opId)).toEqual(before);
  });

  it('orchestrator FR-5: nothing is known of an operation that is not there', async () => {
    const opId = home().nextId();
    expect(await home().store.runs.settle({ opId, token: 1 }, OK)).toEqual({
      kind: 'refused',
      operation: undefined,
    });
    expect(await home().store.repairs.endBacked(opId, OK)).toEqual({ kind: 'refused', operation: undefined });
    expect(await home().store.repairs.finalize(opId)).toEqual({ kind: 'refused', operation: undefined });
    expect(await home().store.repairs.cancel(opId, CANCELLED)).toEqual({ kind: 'unknown' });
    expect(await home().store.repairs.dropBacking(opId)).toBe(false);
    expect(await home().store.runs.extend([{ opId, token: 1 }], 1)).toEqual(new Set([opId]));
    expect(await home().store.views.get(opId)).toBeUndefined();
    expect(await home().store.views.watch([opId], 1)).toEqual([]);
  });

  it('orchestrator NFR-2: crossed settlements of one try: exactly one is taken', async () => {
    const ref = await home().running();
    const answers = await Promise.all(
      [OK, FAIL, RETRY, RELEASED].map((one) => home().store.runs.settle(ref, one)),
    );
    expect(answers.filter(({ kind }) => kind === 'settled')).toHaveLength(1);
  });

  it('orchestrator AC-5: 250 operations at once are kept apart', async () => {
    const refs = await Promise.all(Array.from({ length: 250 }, () => home().pending()));
    await home().store.runs.begin(refs);
    const answers = await Promise.all(
      refs.map((ref, n) => home().store.runs.settle(ref, { ...OK, outcome: Outcome.ok({ n }) })),
    );
    answers.forEach((answer, n) => {
      expect(answer).toMatchObject({
        kind: 'settled',
        operation: { opId: refs[n]?.opId, outcome: { type: 'Ok', data: { n } } },
      });
    });
    expect((await home().store.views.counts()).byState).toEqual({
      PENDING: 0,
      IN_PROGRESS: 0,
      COMPLETED: 250,
      FAILED: 0,
    });
  });

  it('orchestrator NFR-2: delays without measure are brought within limits', async () => {
    for (const delayMs of [Number.POSITIVE_INFINITY, 1e300, Number.NaN, -1]) {
      const ref = await home().running();
      const { operation } = await home().store.runs.settle(ref, { ...RETRY, delayMs });
      const waits = (operation?.dueAt?.getTime() ?? Number.NaN) - (operation?.updatedAt.getTime() ?? 0);
      expect(waits).toBe(delayMs === -1 ? 0 : 31 * 86_400_000);
    }
  });
};
