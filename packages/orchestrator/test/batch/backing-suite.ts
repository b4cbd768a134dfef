import { until } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { BatchBacking, batch } from '../../src/batch/index.js';
import type { Backing, Envelope, Outcome } from '../../src/index.js';
import { type BatchSuite, DEADLINE_MS, envelopeOf } from './outbox-world.js';

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const route = batch('settle', ({ payload }) => payload);
const routed = ({ opId, tenant, command: { domain, eventType } }: Envelope) => ({
  opId,
  tenant,
  domain,
  eventType,
});

/** What the adapter alone promises, on a started outbox. */
export const backingSuite: BatchSuite = (home) => {
  const open = (more: { outcomeBytesMax?: number } = {}) => {
    const adapter = new BatchBacking({ outbox: home().outbox, ...more });
    adapter.check('DAY.CLOSE', route);
    return adapter;
  };
  const lookAt = async (adapter: BatchBacking, envelope: Envelope, backing: Backing) =>
    (await adapter.look([{ ...routed(envelope), backing }])).get(envelope.opId);

  it('orchestrator FR-1: a command starts a batch of its tenant, whose last results are the outcome; its effect happens once', async () => {
    const adapter = open();
    const envelope = envelopeOf({}, { tenant: 'acme', traceparent });
    const [backing, again] = await Promise.all([1, 2].map(() => adapter.submit(envelope, route)));
    expect(again).toEqual(backing);
    const { ref } = backing as Backing;
    expect(await home().world.ended(home().outbox, ref)).toMatchObject({
      tenant: 'acme',
      dag: 'settle',
      bizKey: envelope.opId,
      traceparent,
      payload: {},
    });
    expect(await adapter.submit(envelope, route)).toEqual(backing);
    expect(await lookAt(adapter, envelope, { kind: 'batch', ref })).toEqual({
      kind: 'ended',
      outcome: { type: 'Ok', data: { batchId: ref, results: { pay: { paid: 'x' }, wait: null } } },
    });
    expect(await home().world.effects(envelope.opId)).toBe(1);
  });

  it('orchestrator FR-1: batches that fail, are aborted, are gone, or give too much', async () => {
    const adapter = open({ outcomeBytesMax: 2_000 });
    const [failed, aborted, large, gone] = [
      envelopeOf({ fail: true }),
      envelopeOf({ hold: home().world.newHold() }),
      envelopeOf({ size: 3_000 }),
      envelopeOf({}),
    ] as const;
    const backings = await Promise.all([failed, aborted, large].map((each) => adapter.submit(each, route)));
    const [ofFailed, ofAborted, ofLarge] = backings as [Backing, Backing, Backing];
    expect(await lookAt(adapter, aborted, ofAborted)).toEqual({ kind: 'running' });
    for (let time = 0; time < 2; time++) await adapter.cancel(routed(aborted));
    await adapter.cancel(routed(gone));
    await adapter.cancel({ ...routed(gone), backing: { kind: 'batch', ref: '999999999' } });
    for (const { ref } of backings) await home().world.ended(home().outbox, ref);
    const ofGone = { kind: 'batch', ref: '999999999' };
    const looks = await adapter.look([
      { ...routed(failed), backing: ofFailed },
      { ...routed(aborted), backing: ofAborted },
      { ...routed(large), backing: ofLarge },
      { ...routed(gone), backing: ofGone },
    ]);
    expect(looks.get(failed.opId)).toEqual({
      kind: 'ended',
      outcome: {
        type: 'Fail',
        errorCode: 'NON_RETRYABLE',
        message: 'as the test wants',
        cause: { batchId: ofFailed.ref, task: 'pay' },
      },
    });
    expect(looks.get(aborted.opId)).toMatchObject({
      kind: 'ended',
      outcome: { type: 'Fail', errorCode: 'CANCELLED', cause: { batchId: ofAborted.ref } },
    });
    expect(looks.get(large.opId)).toEqual({
      kind: 'ended',
      outcome: { type: 'Ok', data: { reference: ofLarge } },
    });
    expect(looks.get(gone.opId)).toEqual({ kind: 'gone' });
    // Not even read when it is far too large.
    expect(await lookAt(open({ outcomeBytesMax: 100 }), large, ofLarge)).toEqual(looks.get(large.opId));
  });

  it("orchestrator FR-1: another run of the same key is not the operation's", async () => {
    const adapter = open();
    const envelope = envelopeOf({ fail: true });
    const backing = await adapter.submit(envelope, route);
    await home().world.ended(home().outbox, backing.ref);
    const outcome = await lookAt(adapter, envelope, backing);
    const rerun = await home().outbox.pusher.start('settle', envelope.opId, {}, { ifEnded: 'rerun' });
    expect(await home().world.ended(home().outbox, rerun.id)).toMatchObject({ runNo: 2, status: 'DONE' });
    expect(await lookAt(adapter, envelope, backing)).toEqual(outcome);
  });

  it('orchestrator NFR-2: a batch that cannot be looked at does not hide the others; only when none can be, it says so', async () => {
    const { world, outbox } = home();
    const envelopes = Array.from({ length: 25 }, () => envelopeOf({}));
    const adapter = open();
    const backed = await Promise.all(
      envelopes.map(async (each) => ({ ...routed(each), backing: await adapter.submit(each, route) })),
    );
    for (const { backing } of backed) await world.ended(outbox, backing.ref);
    const broken = new Error('cannot be read');
    const breaking = (isBroken: (id: string) => boolean) => {
      const endings: typeof outbox.batches.endings = async (ids, options) => {
        if (ids.some(isBroken)) throw broken;
        return outbox.batches.endings(ids, options);
      };
      const { pusher, events } = outbox;
      const batches = { endings } as typeof outbox.batches;
      return new BatchBacking({ outbox: { pusher, events, batches, onBatchEnd: () => () => {} } });
    };
    const [first, ...others] = backed as [(typeof backed)[number], ...typeof backed];
    const looks = await breaking((id) => id === first.backing.ref).look(backed);
    expect([...looks.keys()].toSorted()).toEqual(others.map(({ opId }) => opId).toSorted());
    for (const look of looks.values()) expect(look).toMatchObject({ kind: 'ended' });
    await expect(breaking(() => true).look(backed)).rejects.toBe(broken);
    expect(await breaking(() => true).look([])).toEqual(new Map());
  });

  it('orchestrator FR-4: tells of ends of what was handed over here, and of nothing else', async () => {
    const adapter = open();
    const told: [string, Outcome][] = [];
    const stop = adapter.onSettled((opId, outcome) => void told.push([opId, outcome]));
    const envelope = envelopeOf({}, { tenant: 'acme' });
    const foreign = await home().outbox.pusher.start('settle', envelope.opId, {}, { tenant: 'mallory' });
    await home().world.ended(home().outbox, foreign.id);
    const { ref } = await adapter.submit(envelope, route);
    await until(() => told.length > 0, { what: 'the end to be told', deadlineMs: DEADLINE_MS });
    expect(told).toMatchObject([[envelope.opId, { type: 'Ok', data: { batchId: ref } }]]);
    stop();
  });

  it('orchestrator FR-1: a DAG that nobody has registered, and what no payload can be, are final', async () => {
    const adapter = open();
    await expect(adapter.submit(envelopeOf({}), batch('no such dag'))).rejects.toMatchObject({
      code: 'DAG_NOT_FOUND',
      retryable: false,
    });
    await expect(
      adapter.submit(
        envelopeOf({}),
        batch('settle', () => 10n),
      ),
    ).rejects.toMatchObject({ retryable: false });
    for (const wrong of [batch('', () => {}), batch('settle', 'payload' as never)])
      expect(() => adapter.check('DAY.CLOSE', wrong)).toThrow(
        expect.objectContaining({ code: 'ROUTE_INVALID' }),
      );
  });
};
