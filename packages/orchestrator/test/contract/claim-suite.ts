import { expect, it } from 'vitest';
import { BACKED, LEASE_MS, OK, RELEASED, RETRY, type StoreSuite } from './home.js';

export const claimSuite: StoreSuite = (home) => {
  it('orchestrator NFR-3: what is due is taken with all that its try needs, and once', async () => {
    const wish = {
      tenant: 'acme',
      traceparent: '00-a-b-01',
      bizKey: 'k',
      idemKey: 'i',
      payload: { deep: [1, null, 'x'] },
      idempotent: true,
    };
    const { opId } = await home().settled(RETRY, wish);
    await home().moveTime(499);
    expect(await home().claim()).toEqual([]);
    await home().moveTime(1);
    const claimed = await home().claim();
    const { acceptedAt } = await home().get(opId);
    expect(claimed).toEqual([
      {
        opId,
        token: 2,
        attempt: 2,
        refusals: 0,
        traits: { kind: 'inline', attemptsMax: 3, onLost: 'retry', idempotent: true },
        envelope: {
          opId,
          tenant: 'acme',
          traceparent: '00-a-b-01',
          acceptedAt,
          command: { domain: 'ORDER', eventType: 'PLACE', bizKey: 'k', idemKey: 'i', payload: wish.payload },
        },
      },
    ]);
    expect(await home().claim()).toEqual([]);
    expect(await home().get(opId)).toMatchObject({
      owner: 'two',
      attempts: 2,
      dueAt: undefined,
      outcome: { type: 'Retry', reason: 'BUSY' },
    });
    expect(await home().store.runs.settle({ opId, token: 2 }, OK)).toMatchObject({ kind: 'settled' });
  });

  it('orchestrator NFR-3: the longest waiting first, at most as many as asked for', async () => {
    const late = await home().settled({ ...RETRY, delayMs: 30 });
    const early = await home().settled({ ...RETRY, delayMs: 10 });
    const middle = await home().settled({ ...RETRY, delayMs: 20 });
    await home().moveTime(100);
    const first = await home().claim(2);
    expect(first.map(({ opId }) => opId)).toEqual([early.opId, middle.opId]);
    expect((await home().claim(2)).map(({ opId }) => opId)).toEqual([late.opId]);
    expect(await home().claim(0)).toEqual([]);
  });

  it('orchestrator NFR-3: only routes that the instance has, the longest waiting of all of them first', async () => {
    const order = await home().settled({ ...RETRY, delayMs: 10 });
    const mail = await home().settled({ ...RETRY, delayMs: 5 }, { domain: 'MAIL', eventType: 'SEND' });
    const other = await home().settled({ ...RETRY, delayMs: 1 }, { domain: 'MAIL', eventType: 'DROP' });
    await home().moveTime(10);
    expect(await home().claim(10, [])).toEqual([]);
    expect(await home().claim(10, ['MAIL.PLACE'])).toEqual([]);
    const taken = await home().claim(10, ['ORDER.PLACE', 'MAIL.SEND']);
    expect(taken.map(({ opId }) => opId)).toEqual([mail.opId, order.opId]);
    expect((await home().claim()).map(({ opId }) => opId)).toEqual([other.opId]);
  });

  it('orchestrator NFR-3: nothing owned, backed or ended is taken', async () => {
    await home().pending();
    await home().settled(BACKED);
    await home().settled(OK);
    await home().moveTime(1e9);
    expect(await home().claim()).toEqual([]);
  });

  it('orchestrator NFR-3: many that claim at once never get the same', async () => {
    const wanted = 60;
    await Promise.all(Array.from({ length: wanted }, () => home().settled(RELEASED)));
    const taken: string[] = [];
    while (taken.length < wanted) {
      const claims = await Promise.all(Array.from({ length: 8 }, () => home().claim(5)));
      const got = claims.flat().map(({ opId }) => opId);
      expect(got.length).toBeGreaterThan(0);
      taken.push(...got);
    }
    expect(new Set(taken).size).toBe(wanted);
    expect(await home().claim()).toEqual([]);
  });

  it('orchestrator NFR-2: a lease that is extended holds', async () => {
    const ref = await home().running();
    await home().moveTime(LEASE_MS - 1);
    expect(await home().store.runs.extend([ref], LEASE_MS)).toEqual(new Set());
    await home().moveTime(LEASE_MS - 1);
    expect(await home().store.repairs.reap(10)).toEqual([]);
    await home().moveTime(1);
    expect(await home().store.repairs.reap(10)).toHaveLength(1);
    expect(await home().store.runs.extend([ref], LEASE_MS)).toEqual(new Set([ref.opId]));
  });

  it('orchestrator NFR-2: an ended lease holds until somebody frees the operation', async () => {
    const ref = await home().running();
    await home().moveTime(LEASE_MS * 2);
    expect(await home().store.runs.extend([ref], LEASE_MS)).toEqual(new Set());
    expect(await home().store.repairs.reap(10)).toEqual([]);
    expect(await home().store.runs.settle(ref, OK)).toMatchObject({ kind: 'settled' });
  });

  it('orchestrator NFR-2: a clock that is set back keeps nobody waiting longer than was meant', async () => {
    const waiting = await home().settled(RETRY);
    const owned = await home().running();
    await home().moveTime(-3_600_000);
    await home().store.repairs.reap(10);
    await home().moveTime(500);
    expect((await home().claim()).map(({ opId }) => opId)).toEqual([waiting.opId]);
    await home().moveTime(LEASE_MS - 500);
    const reaped = await home().store.repairs.reap(10);
    expect(reaped.map(({ operation }) => operation.opId)).toEqual([owned.opId]);
  });
};
