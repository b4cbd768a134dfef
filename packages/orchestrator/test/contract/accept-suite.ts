import { expect, it } from 'vitest';
import { KEY_TTL_MS, OK, OWNER, RETRY, type StoreSuite } from './home.js';

export const acceptSuite: StoreSuite = (home) => {
  it('orchestrator FR-1: a new operation is PENDING, owned, and in its first try', async () => {
    const { opId, token } = await home().pending({
      tenant: 'acme',
      traceparent: '00-a-b-01',
      bizKey: 'k',
      idemKey: 'i',
    });
    expect(token).toBe(1);
    const operation = await home().get(opId);
    expect(operation).toMatchObject({
      opId,
      tenant: 'acme',
      traceparent: '00-a-b-01',
      domain: 'ORDER',
      eventType: 'PLACE',
      bizKey: 'k',
      idemKey: 'i',
      state: 'PENDING',
      outcome: undefined,
      attempts: 1,
      attemptsMax: 3,
      refusals: 0,
      owner: OWNER,
      dueAt: undefined,
      backing: undefined,
      deadLetter: false,
      startedAt: undefined,
      endedAt: undefined,
    });
    expect(operation.acceptedAt).toBeInstanceOf(Date);
    expect(operation.updatedAt).toEqual(operation.acceptedAt);
  });

  it('orchestrator NFR-2: accepted again after a lost reply it answers as the first time, whatever became of it', async () => {
    const given = home().wish();
    const first = { kind: 'accepted', token: 1 };
    expect(await home().store.runs.accept(given)).toEqual(first);
    expect(await home().store.runs.accept(given)).toEqual(first);
    await home().store.runs.settle({ opId: given.envelope.opId, token: 1 }, OK);
    expect(await home().store.runs.accept(given)).toEqual(first);
    expect((await home().store.views.counts()).byState).toMatchObject({ PENDING: 0, COMPLETED: 1 });
  });

  it('orchestrator NFR-2: the id of another request is refused, and nothing is changed', async () => {
    const { opId } = await home().pending({ tenant: 'acme' });
    const before = await home().get(opId);
    expect(await home().accept({ opId, tenant: 'other' })).toEqual({ kind: 'conflict', opId });
    expect(await home().get(opId)).toEqual(before);
  });

  it('orchestrator FR-1: the same key and body lead to the operation, running or ended', async () => {
    const ref = await home().pending({ idemKey: 'same' });
    const again = await home().accept({ idemKey: 'same' });
    expect(again).toEqual({ kind: 'known', operation: await home().get(ref.opId) });
    await home().store.runs.settle(ref, OK);
    const after = await home().accept({ idemKey: 'same' });
    expect(after).toMatchObject({ kind: 'known', operation: { state: 'COMPLETED', outcome: OK.outcome } });
  });

  it('orchestrator FR-1: the same key and another body is a conflict', async () => {
    const { opId } = await home().pending({ idemKey: 'same' });
    expect(await home().accept({ idemKey: 'same', bodyHash: 'other' })).toEqual({ kind: 'conflict', opId });
  });

  it('orchestrator FR-1: every part of the key counts, and no two keys run into each other', async () => {
    const parts = [
      {},
      { tenant: 'a' },
      { domain: 'MAIL' },
      { eventType: 'SEND' },
      { bizKey: 'b' },
      { tenant: 'a', bizKey: '","' },
      { tenant: 'a","', bizKey: '' },
      { bizKey: 'x/y', idemKey: 'z' },
      { bizKey: 'x', idemKey: 'y/z' },
    ];
    for (const part of parts)
      expect(await home().accept({ idemKey: 'same', ...part })).toMatchObject({ kind: 'accepted' });
  });

  it('orchestrator FR-1: a key is free again when it is old and its operation has ended, not before', async () => {
    const ref = await home().pending({ idemKey: 'same' });
    await home().moveTime(KEY_TTL_MS + 1);
    expect(await home().accept({ idemKey: 'same' })).toMatchObject({ kind: 'known' });
    await home().store.runs.settle(ref, OK);
    const next = await home().pending({ idemKey: 'same', bodyHash: 'other' });
    expect(next.opId).not.toBe(ref.opId);
    // The key leads to the new one, and the old one is still there.
    expect(await home().accept({ idemKey: 'same', bodyHash: 'other' })).toMatchObject({
      kind: 'known',
      operation: { opId: next.opId },
    });
    expect(await home().get(ref.opId)).toMatchObject({ state: 'COMPLETED', idemKey: 'same' });
  });

  it('orchestrator FR-1: a key of an ended operation is kept until its time is over', async () => {
    await home().settled(OK, { idemKey: 'same' });
    await home().moveTime(KEY_TTL_MS - 1);
    expect(await home().accept({ idemKey: 'same' })).toMatchObject({ kind: 'known' });
    await home().moveTime(1);
    expect(await home().accept({ idemKey: 'same' })).toMatchObject({ kind: 'accepted' });
  });

  it('orchestrator NFR-3: of 100 accepts of one key at once one is accepted, the others know it', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => home().accept({ idemKey: 'same' })));
    const kinds = answers.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'accepted')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'known')).toHaveLength(99);
    expect((await home().store.views.counts()).byState.PENDING).toBe(1);
  });

  it('orchestrator NFR-3: of 50 accepts of one expired key at once one is accepted', async () => {
    await home().settled(OK, { idemKey: 'same' });
    await home().moveTime(KEY_TTL_MS);
    const answers = await Promise.all(Array.from({ length: 50 }, () => home().accept({ idemKey: 'same' })));
    expect(answers.filter(({ kind }) => kind === 'accepted')).toHaveLength(1);
    expect(answers.filter(({ kind }) => kind === 'known')).toHaveLength(49);
  });

  it('orchestrator FR-1: an operation that waits for a retry keeps its key', async () => {
    await home().settled(RETRY, { idemKey: 'same' });
    await home().moveTime(KEY_TTL_MS * 2);
    expect(await home().accept({ idemKey: 'same' })).toMatchObject({ kind: 'known' });
  });
};
