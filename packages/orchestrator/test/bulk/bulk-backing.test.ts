import { BulkActionService, MemoryStore, resolveBulkActionConfig } from '@millrace/bulk-action';
import { ManualClock, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BulkBacking, bulk, type ToGroup } from '../../src/bulk/index.js';
import type { Backing, Envelope, Outcome } from '../../src/index.js';
import { BulkWorld, DEADLINE_MS, envelopeOf, toGroup } from './bulk-engine.js';

const route = bulk(toGroup);
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

const backed = ({ opId, tenant, command: { domain, eventType } }: Envelope, backing: Backing) => ({
  opId,
  tenant,
  domain,
  eventType,
  backing,
});

describe('BulkBacking on an engine that runs', () => {
  const world = new BulkWorld();
  const { service } = world.engine;
  beforeAll(() => world.engine.start());
  afterAll(() => world.engine.stop());

  const looked = async (adapter: BulkBacking, envelope: Envelope, backing: Backing) =>
    (await adapter.look([backed(envelope, backing)])).get(envelope.opId);
  const ended = (adapter: BulkBacking, envelope: Envelope, backing: Backing): Promise<Outcome> =>
    until(
      async () => {
        const look = await looked(adapter, envelope, backing);
        return look?.kind === 'ended' && look.outcome;
      },
      { what: `the group of ${envelope.opId} to end`, deadlineMs: DEADLINE_MS },
    );

  it('orchestrator FR-1: a command becomes a group of its tenant, whose result is the outcome', async () => {
    const adapter = new BulkBacking({ service });
    const envelope = envelopeOf([{}, { fail: true }], { tenant: 'acme', traceparent });
    const backing = await adapter.submit(envelope, route);
    expect(backing).toEqual({ kind: 'bulk', ref: `acme/${envelope.opId}` });
    expect(await service.getGroup(backing.ref)).toMatchObject({
      tenant: 'acme',
      weight: 2,
      traceparent,
      sealed: true,
    });
    expect(await ended(adapter, envelope, backing)).toMatchObject({
      type: 'Ok',
      data: { groupId: backing.ref, round: 1, status: 'COMPLETED', success: 1, failed: 1, data: ['x'] },
    });
  });

  it('orchestrator NFR-2: submitted again, while it runs and after its end, nothing runs twice', async () => {
    const adapter = new BulkBacking({ service });
    const envelope = envelopeOf([{}, {}]);
    const first = await adapter.submit(envelope, route);
    expect(await adapter.submit(envelope, route)).toEqual(first);
    await ended(adapter, envelope, first);
    expect(await adapter.submit(envelope, route)).toEqual(first);
    expect(world.ran.filter((job) => job.startsWith(envelope.opId)).sort()).toEqual([
      `${envelope.opId}#j0`,
      `${envelope.opId}#j1`,
    ]);
  });

  it('orchestrator FR-4: tells of ends of what was handed over here, and of nothing else', async () => {
    const adapter = new BulkBacking({ service });
    const told: [string, Outcome][] = [];
    const stop = adapter.onSettled((opId, outcome) => void told.push([opId, outcome]));
    const envelope = envelopeOf([{}], { tenant: 'acme' });
    // Somebody else's group has the name of the operation, in another tenant's namespace.
    await service.submitBulk({ id: envelope.opId, tenant: 'mallory' }, [{ id: 'j', processorType: 'mail' }]);
    await until(async () => (await service.getResult(`mallory/${envelope.opId}`)) !== undefined, {
      what: "mallory's group to end",
      deadlineMs: DEADLINE_MS,
    });
    const backing = await adapter.submit(envelope, route);
    await until(() => told.length > 0, { what: 'the end to be told', deadlineMs: DEADLINE_MS });
    expect(told).toEqual([
      [
        envelope.opId,
        expect.objectContaining({ type: 'Ok', data: expect.objectContaining({ groupId: backing.ref }) }),
      ],
    ]);
    stop();
    const unheard = envelopeOf([{}]);
    await ended(adapter, unheard, await adapter.submit(unheard, route));
    expect(told).toHaveLength(1);
  });

  it('orchestrator FR-5: a result that is too large is referred to', async () => {
    const adapter = new BulkBacking({ service, outcomeBytesMax: 2_000 });
    const envelope = envelopeOf([{ size: 3_000 }]);
    const backing = await adapter.submit(envelope, route);
    expect(await ended(adapter, envelope, backing)).toEqual({ type: 'Ok', data: { reference: backing } });
  });

  it('orchestrator FR-1: only the first round counts', async () => {
    const adapter = new BulkBacking({ service });
    const envelope = envelopeOf([{ fail: true }]);
    const backing = await adapter.submit(envelope, route);
    const outcome = await ended(adapter, envelope, backing);
    await world.engine.deadLetters.redrive({ groupId: backing.ref });
    expect((await service.getGroup(backing.ref)).round).toBe(2);
    expect(await ended(adapter, envelope, backing)).toEqual(outcome);
  });
});

describe('BulkBacking on an engine that stands still', () => {
  function open(given: Parameters<typeof resolveBulkActionConfig>[0] = {}) {
    const clock = new ManualClock();
    const config = resolveBulkActionConfig(given);
    const store = new MemoryStore(config, { clock });
    const service = new BulkActionService({ store, config, clock });
    return { clock, config, store, service, adapter: new BulkBacking({ service }) };
  }
  const lookAt = async (adapter: BulkBacking, envelope: Envelope, backing: Backing) =>
    (await adapter.look([backed(envelope, backing)])).get(envelope.opId);

  it('orchestrator NFR-2: a group that has forgotten its jobs is known again, and one of a newer release as well', async () => {
    const { clock, config, store, service, adapter } = open();
    const envelope = envelopeOf([{}, {}]);
    const backing = await adapter.submit(envelope, route);
    const newer = bulk((command) => ({ ...toGroup(command), weight: 7 }));
    expect(await adapter.submit(envelope, newer)).toEqual(backing);
    await service.cancelGroup(backing.ref);
    await clock.advance(config.limits.jobRetentionMs + 1);
    await store.upkeep.sweep(1_000);
    expect((await service.listJobs(backing.ref)).items).toEqual([]);
    expect(await adapter.submit(envelope, route)).toEqual(backing);
    expect(await lookAt(adapter, envelope, backing)).toMatchObject({
      kind: 'ended',
      outcome: { errorCode: 'CANCELLED' },
    });
  });

  it('orchestrator NFR-2: a submission that broke off is completed; one that can not be is cancelled and fails', async () => {
    const { service, adapter } = open();
    const envelope = envelopeOf([{}, {}]);
    await service.createGroup({ id: envelope.opId, weight: 2 });
    await service.addJobs(envelope.opId, [{ id: 'j0', processorType: 'mail', payload: {} }]);
    expect(await adapter.submit(envelope, route)).toEqual({ kind: 'bulk', ref: envelope.opId });
    expect(await service.getGroup(envelope.opId)).toMatchObject({ sealed: true, counts: { registered: 2 } });

    const other = envelopeOf([{}]);
    await service.addJobs(
      other.opId,
      [{ id: 'of another release', processorType: 'mail' }].map((job) => ({ ...job, id: 'x' })),
    );
    await expect(
      adapter.submit(
        other,
        bulk((command) => ({ jobs: toGroup(command).jobs })),
      ),
    ).rejects.toMatchObject({
      code: 'SEAL_TOTAL_MISMATCH',
      retryable: false,
    });
    expect(await service.getGroup(other.opId)).toMatchObject({ status: 'CANCELLED' });
  });

  it('orchestrator FR-1: groups that fail or are cancelled fail their operations', async () => {
    const { clock, store, adapter } = open({ watcher: { groupTimeoutMs: 1_000 } });
    const [failing, cancelled] = [envelopeOf([{}]), envelopeOf([{}], { tenant: 'acme' })];
    const backings = [await adapter.submit(failing, route), await adapter.submit(cancelled, route)] as const;
    expect(await lookAt(adapter, failing, backings[0])).toEqual({ kind: 'running' });
    const { domain, eventType } = cancelled.command;
    for (let time = 0; time < 2; time++) await adapter.cancel({ ...cancelled, domain, eventType });
    await clock.advance(1_001);
    await store.watch.look(10);
    const looks = await adapter.look([backed(failing, backings[0]), backed(cancelled, backings[1])]);
    const counts = { total: 1, success: 0, failed: 0, cancelled: 1 };
    expect(looks.get(failing.opId)).toMatchObject({
      kind: 'ended',
      outcome: { type: 'Fail', errorCode: 'GROUP_TIMEOUT', message: expect.any(String), cause: counts },
    });
    expect(looks.get(cancelled.opId)).toMatchObject({
      kind: 'ended',
      outcome: { type: 'Fail', errorCode: 'CANCELLED', cause: counts },
    });
  });

  it('orchestrator NFR-2: gone is what the engine does not know; a store that is away is no answer', async () => {
    const { service, adapter } = open();
    const envelope = envelopeOf([]);
    const backing = { kind: 'bulk', ref: envelope.opId };
    expect(await lookAt(adapter, envelope, backing)).toEqual({ kind: 'gone' });
    const { domain, eventType } = envelope.command;
    await adapter.cancel({ ...envelope, domain, eventType });
    const away = Object.assign(new Error('away'), { code: 'BACKEND_UNAVAILABLE', retryable: true });
    const there = envelopeOf([]);
    await adapter.submit(there, route);
    const half = new BulkBacking({
      service: Object.assign(Object.create(service), {
        getResult: (ref: string, options: object) =>
          ref === envelope.opId ? Promise.reject(away) : service.getResult(ref, options),
      }),
    });
    await expect(lookAt(half, envelope, backing)).rejects.toBe(away);
    const looks = await half.look([
      backed(envelope, backing),
      backed(there, { kind: 'bulk', ref: there.opId }),
    ]);
    expect([...looks.keys()]).toEqual([there.opId]);
    expect(looks.get(there.opId)).toMatchObject({
      kind: 'ended',
      outcome: { type: 'Ok', data: { total: 0 } },
    });
  });

  it('orchestrator FR-1: what passes may be tried again, what is wrong may not', async () => {
    const { service, adapter } = open({ limits: { queuedJobsMax: 1 } });
    await expect(adapter.submit(envelopeOf([{}, {}]), route)).rejects.toMatchObject({
      code: 'QUEUE_FULL',
      retryable: true,
    });
    const refused = async (made: unknown, message: RegExp | string) => {
      const envelope = envelopeOf(null);
      const wrong = bulk((() => made) as ToGroup);
      const promise = adapter.submit(envelope, wrong);
      await expect(promise).rejects.toMatchObject({
        retryable: false,
        message: expect.stringMatching(message),
      });
      await expect(service.getGroup(envelope.opId)).rejects.toMatchObject({ code: 'GROUP_NOT_FOUND' });
    };
    const job = { id: 'a', processorType: 'mail' };
    await refused(
      { jobs: [job, { processorType: 'mail' }] },
      /Route MAIL\.CAMPAIGN cannot .*jobs\[1\] has no id/,
    );
    await refused({ jobs: [job, null] }, /jobs\[1\] has no id/);
    await refused({ jobs: [job, job] }, /jobs\[1\] has the id of another job, 'a'/);
    await refused({}, /must give \{ jobs/);
    await refused({ jobs: [job], rpps: 5 }, /'rps'/);
    await refused({ jobs: [{ ...job, payload: 10n }] }, /payload of a cannot be stored/);
    await refused({ jobs: [{ ...job, id: 'a/b' }] }, /a\/b/);
  });

  it('orchestrator FR-1: a route without a function is refused when it is set up', () => {
    const { adapter } = open();
    expect(() => adapter.check('MAIL.CAMPAIGN', bulk(undefined as never))).toThrow(
      expect.objectContaining({ code: 'ROUTE_INVALID', message: expect.stringContaining('MAIL.CAMPAIGN') }),
    );
    adapter.check('MAIL.CAMPAIGN', route);
  });
});
