import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BulkBacking, bulk } from '../../src/bulk/index.js';
import {
  type Command,
  MemoryOperationStore,
  OpId,
  type OrchestratorOptions,
  OrchestratorService,
  RouteExecutor,
  type Routes,
} from '../../src/index.js';
import { BulkWorld, DEADLINE_MS, toGroup } from './bulk-engine.js';

const BUDGET_MS = 5_000;
const SHORT_MS = 50;
const commandOf = (payload: unknown, eventType = 'CAMPAIGN') => ({
  domain: 'MAIL',
  eventType,
  bizKey: 'spring',
  payload,
});

describe('bulk routes', () => {
  const world = new BulkWorld();
  beforeAll(() => world.engine.start());
  afterAll(() => world.engine.stop());

  const routes: Routes = {
    'MAIL.CAMPAIGN': bulk(toGroup),
    'MAIL.AGAIN': bulk(toGroup, { idempotent: true }),
    'MAIL.WRONG': bulk(() => ({ jobs: [{ processorType: 'mail' } as never] })),
  };

  /** A front door before an engine. */
  async function open(engine = world.engine, more: Partial<OrchestratorOptions> = {}, of = routes) {
    const store = more.store ?? new MemoryOperationStore();
    const executor = new RouteExecutor({
      routes: of,
      backings: [new BulkBacking({ service: engine.service })],
      backoffBaseMs: 10,
    });
    const orchestrator = new OrchestratorService({
      watchIntervalMs: 20,
      finalizerIntervalMs: 20,
      ...more,
      executor,
      store,
    });
    await orchestrator.start();
    return { store, executor, orchestrator };
  }
  const finished = (orchestrator: OrchestratorService, opId: string) =>
    orchestrator.operations.waitForEnd(opId, DEADLINE_MS);

  it('orchestrator FR-1: a group that ends inside the budget is answered with its result', async () => {
    // Only hints: no look comes before the budget is over.
    const { orchestrator } = await open(world.engine, { watchIntervalMs: 60_000 });
    await using _ = orchestrator;
    const handle = await orchestrator.submit(commandOf([{}, {}]), BUDGET_MS, { tenant: 'acme' });
    expect(handle.completedFast).toBe(true);
    expect(handle.responseBodyOrNull).toMatchObject({ type: 'Ok', data: { success: 2, data: ['x', 'x'] } });
    expect(await orchestrator.operations.get(handle.opId)).toMatchObject({
      state: 'COMPLETED',
      outcome: handle.responseBodyOrNull,
    });
  });

  it('orchestrator FR-3: a slow group is answered with a status URL, and its operation ends with it', async () => {
    const { orchestrator } = await open();
    await using _ = orchestrator;
    const { opId, statusUrlOrNull } = await orchestrator.submit(commandOf([{ hold: true }]), SHORT_MS);
    expect(statusUrlOrNull).toContain(opId);
    await until(async () => (await orchestrator.operations.get(opId)).backing !== undefined, {
      what: 'the hand-over to be written',
      deadlineMs: DEADLINE_MS,
    });
    expect(await orchestrator.operations.get(opId)).toMatchObject({
      state: 'IN_PROGRESS',
      owner: undefined,
      backing: { kind: 'bulk', ref: opId },
    });
    world.mayEnd.open();
    expect(await finished(orchestrator, opId)).toMatchObject({
      state: 'COMPLETED',
      outcome: { data: { success: 1 } },
    });
  });

  it('orchestrator NFR-2: after a crash between the hand-over and its note the work is handed over again, and runs once', async () => {
    const store = new MemoryOperationStore();
    const before = await open(world.engine, { store });
    await before.orchestrator.stop();
    const opId = OpId.of('01980000-0000-7000-9000-000000000001');
    const command: Command = { ...commandOf([{}, {}]), idemKey: 'k' };
    const envelope = { opId, tenant: '', traceparent: undefined, command, acceptedAt: new Date() };
    await store.runs.accept({
      envelope,
      traits: before.executor.traits(command),
      bodyHash: 'h',
      owner: 'dead',
      leaseMs: 1,
      keyTtlMs: 60_000,
    });
    // What the dead instance did last.
    await new BulkBacking({ service: world.engine.service }).submit(envelope, bulk(toGroup));
    const { orchestrator } = await open(world.engine, { store, reaperIntervalMs: 20 });
    await using _ = orchestrator;
    expect(await finished(orchestrator, opId)).toMatchObject({ state: 'COMPLETED', attempts: 2 });
    expect(world.ran.filter((job) => job.startsWith(opId))).toHaveLength(2);
  });

  it('orchestrator NFR-2: a group that is gone is made again on an idempotent route, else its operation is lost', async () => {
    const store = new MemoryOperationStore();
    const first = new BulkWorld();
    await first.engine.start();
    const before = await open(first.engine, { store, gracePeriodMs: 0 });
    const submit = (eventType: string) =>
      before.orchestrator.submit(commandOf([{ hold: true }], eventType), SHORT_MS);
    const [lost, again] = [await submit('CAMPAIGN'), await submit('AGAIN')];
    for (const { opId } of [lost, again])
      await until(async () => (await store.views.get(opId))?.backing !== undefined, {
        what: 'the hand-over to be written',
        deadlineMs: DEADLINE_MS,
      });
    await before.orchestrator.stop();
    first.mayEnd.open();
    await first.engine.stop();
    // The engine lived in the memory of a process that is no more.
    await using second = new BulkWorld().engine;
    await second.start();
    const { orchestrator } = await open(
      second,
      { store },
      {
        ...routes,
        'MAIL.AGAIN': bulk(() => ({ jobs: [{ id: 'j0', processorType: 'mail' }] }), { idempotent: true }),
      },
    );
    await using _ = orchestrator;
    expect(await finished(orchestrator, lost.opId)).toMatchObject({
      state: 'FAILED',
      outcome: { type: 'Fail', errorCode: 'BACKING_LOST' },
    });
    expect(await finished(orchestrator, again.opId)).toMatchObject({
      state: 'COMPLETED',
      outcome: { type: 'Ok', data: { success: 1 } },
    });
  });

  it('orchestrator NFR-2: a cancellation ends the group, too', async () => {
    const engine = new BulkWorld({ config: { workerPool: { workerCount: 1 } } as never }).engine;
    const { orchestrator } = await open(engine);
    await using _ = orchestrator;
    const { opId } = await orchestrator.submit(commandOf([{}]), SHORT_MS, { tenant: 'acme' });
    await until(async () => (await orchestrator.operations.get(opId)).backing !== undefined, {
      what: 'the hand-over to be written',
      deadlineMs: DEADLINE_MS,
    });
    await orchestrator.operations.cancel(opId);
    expect(await finished(orchestrator, opId)).toMatchObject({
      state: 'FAILED',
      outcome: { type: 'Fail', errorCode: 'CANCELLED' },
      deadLetter: false,
    });
    expect(await engine.service.getGroup(`acme/${opId}`)).toMatchObject({ status: 'CANCELLED' });
  });

  it('orchestrator FR-1: a full engine is asked again, a wrong group fails at once', async () => {
    const full = new BulkWorld({ config: { limits: { queuedJobsMax: 1 } } }).engine;
    const { orchestrator } = await open(full);
    await using _ = orchestrator;
    const waiting = await orchestrator.submit(commandOf([{}, {}]), SHORT_MS);
    await until(async () => (await orchestrator.operations.get(waiting.opId)).outcome !== undefined, {
      what: 'the refusal to be written',
      deadlineMs: DEADLINE_MS,
    });
    expect(await orchestrator.operations.get(waiting.opId)).toMatchObject({
      state: 'IN_PROGRESS',
      outcome: { type: 'Retry', reason: expect.stringContaining('QUEUE_FULL') },
    });
    const failed = await orchestrator.submit(commandOf(null, 'WRONG'), BUDGET_MS);
    expect(failed.responseBodyOrNull).toMatchObject({ type: 'Fail', errorCode: 'HANDOVER_INVALID' });
  });
});
