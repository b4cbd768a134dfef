import type { Outbox } from '@millrace/outbox';
import { until } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { BatchBacking, batch } from '../../src/batch/index.js';
import {
  ERRORS,
  MemoryOperationStore,
  type OperationStore,
  type OpId,
  type OrchestratorOptions,
  OrchestratorService,
  RouteExecutor,
  type SubmitOptions,
} from '../../src/index.js';
import { type BatchSuite, DEADLINE_MS, envelopeOf, type Orders } from './outbox-world.js';

const BUDGET_MS = 5_000;
const SHORT_MS = 150;

let keys = 0;

/** Asks for what will take longer. A machine that is too busy to confirm it in time is asked again, as callers do. */
async function submitSlow(
  orchestrator: OrchestratorService,
  command: ReturnType<typeof commandOf>,
  options: SubmitOptions = {},
): Promise<OpId> {
  const idemKey = `slow ${++keys}`;
  for (;;) {
    try {
      const handle = await orchestrator.submit({ ...command, idemKey }, SHORT_MS, options);
      expect(handle.statusUrlOrNull).toContain(handle.opId);
      return handle.opId;
    } catch (error) {
      if (!ERRORS.is(error, 'STORE_UNAVAILABLE')) throw error;
    }
  }
}

const commandOf = (payload: Orders, eventType = 'CLOSE') => ({
  domain: 'DAY',
  eventType,
  bizKey: 'today',
  payload,
});

/** A front door before an outbox. */
export async function openDoor({
  outbox,
  dag = 'settle',
  store,
  operations,
  ...more
}: Partial<OrchestratorOptions> & {
  readonly outbox: Outbox;
  readonly dag?: string;
  readonly store: OperationStore;
  /** In the outbox' database. */
  readonly operations?: OperationStore | undefined;
}) {
  const routes = { 'DAY.CLOSE': batch(dag), 'DAY.AGAIN': batch(dag, undefined, { idempotent: true }) };
  const adapter = new BatchBacking({ outbox, operations });
  const executor = new RouteExecutor({ routes, backings: [adapter], backoffBaseMs: 10 });
  const options = { watchIntervalMs: 50, finalizerIntervalMs: 50, reaperIntervalMs: 50, ...more };
  const orchestrator = new OrchestratorService({ ...options, executor, store });
  await orchestrator.start();
  const backed = (opId: string) =>
    until(async () => (await orchestrator.operations.get(opId)).backing, {
      what: 'the hand-over to be written',
      deadlineMs: DEADLINE_MS,
    });
  return { orchestrator, executor, adapter, backed };
}

/** Where the operations are, and whether the outbox ends them itself. */
export interface StoreKind {
  readonly isShared: boolean;
  /** A store; its owner stops it. */
  open(): Promise<OperationStore>;
}

/** Operations that live in this process, apart from the outbox. */
export const apart: StoreKind = { isShared: false, open: async () => new MemoryOperationStore() };

/** What batch routes promise, wherever the operations are. */
export const routesSuite =
  (kind: () => StoreKind): BatchSuite =>
  (home) => {
    const open = async (more: Partial<OrchestratorOptions> & { outbox?: Outbox; dag?: string } = {}) => {
      const store = more.store ?? (await kind().open());
      const operations = kind().isShared ? store : undefined;
      return { store, ...(await openDoor({ outbox: home().outbox, ...more, store, operations })) };
    };

    it('orchestrator FR-1: a batch that ends inside the budget is answered with its results', async () => {
      // Only hints: no look comes before the budget is over.
      const { orchestrator } = await open({ watchIntervalMs: 60_000, waitPollIntervalMs: 60_000 });
      await using _ = orchestrator;
      const handle = await orchestrator.submit(commandOf({}), BUDGET_MS, { tenant: 'acme' });
      expect(handle.responseBodyOrNull).toMatchObject({
        type: 'Ok',
        data: { results: { pay: { paid: 'x' } } },
      });
      expect(await orchestrator.operations.get(handle.opId)).toMatchObject({
        state: 'COMPLETED',
        outcome: handle.responseBodyOrNull,
      });
      expect(await home().world.effects(handle.opId)).toBe(1);
      const failed = await orchestrator.submit(commandOf({ fail: true }), BUDGET_MS);
      expect(failed.responseBodyOrNull).toMatchObject({
        type: 'Fail',
        errorCode: 'NON_RETRYABLE',
        cause: { task: 'pay' },
      });
      expect(await orchestrator.operations.get(failed.opId)).toMatchObject({
        state: 'FAILED',
        deadLetter: true,
      });
    });

    it('orchestrator FR-3: a slow batch is answered with a status URL, and its operation ends with it', async () => {
      const { orchestrator, backed } = await open();
      await using _ = orchestrator;
      const hold = home().world.newHold();
      const opId = await submitSlow(orchestrator, commandOf({ hold }));
      const { ref } = await backed(opId);
      expect(await orchestrator.operations.get(opId)).toMatchObject({
        state: 'IN_PROGRESS',
        owner: undefined,
      });
      home().world.mayEnd(hold).open();
      expect(await orchestrator.operations.waitForEnd(opId, DEADLINE_MS)).toMatchObject({
        state: 'COMPLETED',
        outcome: { data: { batchId: ref } },
      });
    });

    it('orchestrator NFR-2: after a crash between the hand-over and its note the work is handed over again; its effect happens once', async () => {
      const store = await kind().open();
      await store.start();
      const traits = { kind: 'batch', attemptsMax: 4, onLost: 'retry', idempotent: false } as const;
      const hold = home().world.newHold();
      const envelope = envelopeOf({ hold });
      const { opId } = envelope;
      const owned = { bodyHash: 'h', owner: 'dead', leaseMs: 1, keyTtlMs: 60_000 };
      await store.runs.accept({ envelope, traits, ...owned });
      // What the dead instance did last.
      await new BatchBacking({ outbox: home().outbox }).submit(envelope, batch('settle'));
      const { orchestrator, backed } = await open({ store });
      await using _ = orchestrator;
      await backed(opId);
      home().world.mayEnd(hold).open();
      expect(await orchestrator.operations.waitForEnd(opId, DEADLINE_MS)).toMatchObject({
        state: 'COMPLETED',
        attempts: 2,
      });
      expect(await home().world.effects(opId)).toBe(1);
    });

    it('orchestrator NFR-2: a batch that is gone is started again on an idempotent route, else its operation is lost', async () => {
      const { world, outbox } = home();
      const { schema } = outbox.options;
      const dag = `gone ${kind().isShared}`;
      const starter = world.outbox(dag, { schema, poll: false });
      await starter.start();
      const { orchestrator, backed } = await open({ outbox: starter, dag, watchIntervalMs: 200 });
      await using _ = orchestrator;
      const submit = (eventType: string) => submitSlow(orchestrator, commandOf({}, eventType));
      const [lost, again] = [await submit('CLOSE'), await submit('AGAIN')];
      const refs = [(await backed(lost)).ref, (await backed(again)).ref];
      await world.database.query(`DELETE FROM ${schema}.batch_instance WHERE id = ANY ($1::bigint[])`, [
        refs,
      ]);
      expect(await orchestrator.operations.waitForEnd(lost, DEADLINE_MS)).toMatchObject({
        state: 'FAILED',
        outcome: { type: 'Fail', errorCode: 'BACKING_LOST' },
      });
      await using runner = world.outbox(dag, { schema });
      await runner.start();
      expect(await orchestrator.operations.waitForEnd(again, DEADLINE_MS)).toMatchObject({
        state: 'COMPLETED',
      });
      expect([await world.effects(lost), await world.effects(again)]).toEqual([0, 1]);
    });

    it('orchestrator NFR-2: a cancellation ends the batch, too', async () => {
      const { orchestrator, backed } = await open();
      await using _ = orchestrator;
      const hold = home().world.newHold();
      const opId = await submitSlow(orchestrator, commandOf({ hold }), { tenant: 'acme' });
      const { ref } = await backed(opId);
      await orchestrator.operations.cancel(opId);
      expect(await orchestrator.operations.waitForEnd(opId, DEADLINE_MS)).toMatchObject({
        state: 'FAILED',
        outcome: { type: 'Fail', errorCode: 'CANCELLED' },
        deadLetter: false,
      });
      expect(await home().outbox.batches.get(ref)).toMatchObject({ status: 'ABORTED' });
    });
  };
