import type { Tx } from '@millrace/postgres';
import { latch, until } from '@millrace/testkit';
import { beforeAll, expect, it } from 'vitest';
import { BatchBacking, batch } from '../../src/batch/index.js';
import { type Envelope, type Operation, type OperationStore, OpId } from '../../src/index.js';
import { type BatchSuite, DEADLINE_MS, envelopeOf } from './outbox-world.js';
import { openDoor } from './routes-suite.js';

const LEASE_MS = 60_000;
const TRAITS = { kind: 'batch', attemptsMax: 4, onLost: 'retry', idempotent: false } as const;

/** What is promised where outbox and operations are in one database. */
export const sharedSuite =
  (store: () => OperationStore, open: () => Promise<OperationStore>): BatchSuite =>
  (home, kind) => {
    const route = batch('settle');
    const refused = new Set<string>();
    let refusals = 0;
    let adapter: BatchBacking;
    beforeAll(() => {
      const { repairs, notices } = store();
      const endBacked: typeof repairs.endBacked = async (opId, ending, tx) => {
        const answer = await repairs.endBacked(opId, ending, tx);
        if (!refused.has(opId)) return answer;
        refusals++;
        throw new Error('as the test wants');
      };
      const operations = { repairs: Object.assign(Object.create(repairs), { endBacked }), notices };
      adapter = new BatchBacking({ outbox: home().outbox, operations });
      adapter.check('DAY.CLOSE', route);
    });
    /** Somebody who never answers has accepted an operation. */
    const accept = async (envelope: Envelope) => {
      const owned = { bodyHash: 'h', owner: 'elsewhere', leaseMs: LEASE_MS, keyTtlMs: 60_000 };
      const answer = await store().runs.accept({ envelope, traits: TRAITS, ...owned });
      if (answer.kind !== 'accepted') throw new Error(`expected a new operation, got ${answer.kind}`);
      return { opId: envelope.opId, token: answer.token };
    };
    const get = async (opId: string) => (await store().views.get(OpId.of(opId))) as Operation;

    it('orchestrator NFR-2: a batch that has ended has ended its operation, also when nobody has noted yet what stands behind it', async () => {
      const { world, outbox } = home();
      for (const isNoted of [true, false]) {
        const hold = world.newHold();
        const envelope = envelopeOf({ hold }, { tenant: 'acme' });
        const { opId } = envelope;
        const ref = await accept(envelope);
        const backing = await adapter.submit(envelope, route);
        if (isNoted) await store().runs.settle(ref, { kind: 'backed', backing });
        world.mayEnd(hold).open();
        await world.ended(outbox, backing.ref);
        expect(await get(opId)).toMatchObject({
          state: 'COMPLETED',
          outcome: { type: 'Ok', data: { batchId: backing.ref, results: { pay: { paid: 'x' } } } },
        });
        expect(await world.effects(opId)).toBe(1);
      }
    });

    it('orchestrator NFR-2: what keeps a batch from ending keeps its operation from it, and the other way round', async () => {
      const { world, outbox } = home();
      const told: string[] = [];
      const unlisten = adapter.onSettled((opId) => void told.push(opId));
      const envelope = envelopeOf({});
      await accept(envelope);
      const inside: (string | undefined)[] = [];
      // After the operation's own listener: what that has written is taken back.
      const remove = outbox.onBatchEnd(async (tx: Tx) => {
        const { rows } = await tx.query<{ state: string }>(
          `SELECT state FROM ${outbox.options.schema}.operation WHERE op_id = $1`,
          [envelope.opId],
        );
        inside.push(rows[0]?.state);
        throw new Error('not now');
      });
      const { ref } = await adapter.submit(envelope, route);
      await until(() => inside.length > 0, { what: 'the end to be refused', deadlineMs: DEADLINE_MS });
      expect(inside[0]).toBe('COMPLETED');
      expect(await outbox.batches.get(ref)).toMatchObject({ status: 'RUNNING' });
      expect(await get(envelope.opId)).toMatchObject({ state: 'PENDING', outcome: undefined });
      expect(told).toEqual([]);
      remove();
      await world.ended(outbox, ref);
      expect(await get(envelope.opId)).toMatchObject({ state: 'COMPLETED' });
      await until(() => told.length > 0, { what: 'the end to be told', deadlineMs: DEADLINE_MS });
      expect(told).toEqual([envelope.opId]);
      unlisten();
    });

    it('orchestrator NFR-2: a store that refuses keeps the batch open', async () => {
      const { world, outbox } = home();
      const envelope = envelopeOf({});
      await accept(envelope);
      refused.add(envelope.opId);
      const { ref } = await adapter.submit(envelope, route);
      await until(() => refusals > 0, { what: 'the store to refuse', deadlineMs: DEADLINE_MS });
      expect(await outbox.batches.get(ref)).toMatchObject({ status: 'RUNNING' });
      expect(await get(envelope.opId)).toMatchObject({ state: 'PENDING' });
      refused.clear();
      await world.ended(outbox, ref);
      expect(await get(envelope.opId)).toMatchObject({ state: 'COMPLETED' });
    });

    it("orchestrator NFR-2: batches that are no operation's end, and operations of others stay as they are", async () => {
      const { world, outbox } = home();
      const [theirs, inline, ofOtherDag, known] = [{ tenant: 'acme' }, {}, {}, {}].map((more) =>
        envelopeOf({}, more),
      ) as [Envelope, Envelope, Envelope, Envelope];
      for (const envelope of [theirs, known]) await accept(envelope);
      const owned = { bodyHash: 'h', owner: 'elsewhere', leaseMs: LEASE_MS, keyTtlMs: 60_000 };
      await store().runs.accept({ envelope: inline, traits: { ...TRAITS, kind: 'inline' }, ...owned });
      const otherRoute = { ...ofOtherDag, command: { ...ofOtherDag.command, eventType: 'OPEN' } };
      await store().runs.accept({ envelope: otherRoute, traits: TRAITS, ...owned });
      const backing = { kind: 'batch', ref: '999999999' };
      await store().runs.settle({ opId: known.opId, token: 1 }, { kind: 'backed', backing });
      const started = await Promise.all(
        [
          theirs.opId,
          inline.opId,
          ofOtherDag.opId,
          known.opId,
          'no id',
          '01980000-ffff-7000-8000-000000000000',
        ].map((bizKey) => outbox.pusher.start('settle', bizKey, {}, { tenant: 'mallory' })),
      );
      const mine = await Promise.all(
        [inline.opId, ofOtherDag.opId, known.opId].map((bizKey) => outbox.pusher.start('settle', bizKey, {})),
      );
      for (const { id } of [...started, ...mine])
        expect(await world.ended(outbox, id)).toMatchObject({ status: 'DONE' });
      for (const { opId } of [theirs, inline, ofOtherDag, known])
        expect(await get(opId)).toMatchObject({ outcome: undefined, endedAt: undefined });
    });

    it('orchestrator FR-1: an operation that has ended stays as it is when its batch is retried', async () => {
      const { world, outbox } = home();
      const envelope = envelopeOf({ fail: true });
      await accept(envelope);
      const { ref } = await adapter.submit(envelope, route);
      await world.ended(outbox, ref);
      const ended = await get(envelope.opId);
      expect(ended).toMatchObject({
        state: 'FAILED',
        outcome: { errorCode: 'NON_RETRYABLE', cause: { batchId: ref } },
      });
      await outbox.batches.retry(ref);
      await outbox.batches.abort(ref);
      expect(await world.ended(outbox, ref)).toMatchObject({
        status: expect.stringMatching(/FAILED|ABORTED/),
      });
      expect(await get(envelope.opId)).toEqual(ended);
    });

    it('orchestrator NFR-3: whoever waits at another instance is told after the commit', async () => {
      const { world } = home();
      const hold = world.newHold();
      const envelope = envelopeOf({ hold });
      await accept(envelope);
      const heard = latch<string>('the notice');
      const unhear = store().notices.hear((opId) => {
        if (opId === envelope.opId) heard.open(opId);
      });
      await adapter.submit(envelope, route);
      await store().views.watch([envelope.opId], 60_000);
      world.mayEnd(hold).open();
      await heard.wait(DEADLINE_MS);
      expect(await get(envelope.opId)).toMatchObject({ state: 'COMPLETED' });
      unhear();
    });

    it('orchestrator NFR-3: a front door that runs no tasks answers inside the budget, by the notice of the instance that ended the batch', async () => {
      const { world, outbox } = home();
      const front = world.outbox('settle', { schema: outbox.options.schema, poll: false });
      await front.start();
      const operations = await open();
      // Neither a look at the batch nor one at the operation comes before the budget is over.
      const { orchestrator } = await openDoor({
        outbox: front,
        store: operations,
        operations,
        watchIntervalMs: 60_000,
        waitPollIntervalMs: 60_000,
      });
      await using _ = orchestrator;
      const command = { domain: 'DAY', eventType: 'CLOSE', bizKey: 'today', payload: {} };
      const handle = await orchestrator.submit(command, 5_000);
      expect(handle.responseBodyOrNull).toMatchObject({
        type: 'Ok',
        data: { results: { pay: { paid: 'x' } } },
      });
      expect(await world.effects(handle.opId)).toBe(1);
    });

    if (kind === 'postgres')
      it('orchestrator NFR-2: the connection dies between the two ends: neither happens, then both', async () => {
        const { world, outbox } = home();
        const envelope = envelopeOf({});
        await accept(envelope);
        const inside = latch<string>('both ends are written, not committed');
        const mayGoOn = latch('the transaction may go on');
        const remove = outbox.onBatchEnd(async (tx: Tx) => {
          if (inside.opened) return;
          const { rows } = await tx.query<{ pid: string }>('SELECT pg_backend_pid()::text AS pid');
          inside.open(rows[0]?.pid ?? '');
          await mayGoOn.promise;
        });
        const { ref } = await adapter.submit(envelope, route);
        const pid = await inside.wait(DEADLINE_MS);
        expect(await outbox.batches.get(ref)).toMatchObject({ status: 'RUNNING' });
        expect(await get(envelope.opId)).toMatchObject({ state: 'PENDING' });
        await world.database.query('SELECT pg_terminate_backend($1::integer)', [pid]);
        mayGoOn.open();
        remove();
        await world.ended(outbox, ref);
        expect(await get(envelope.opId)).toMatchObject({ state: 'COMPLETED' });
        expect(await world.effects(envelope.opId)).toBe(1);
      });
  };
