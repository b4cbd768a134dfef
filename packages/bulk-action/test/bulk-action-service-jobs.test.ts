import { describe, expect, it } from 'vitest';
import { allPages, code, jobs, onMemory } from './on-memory.js';

const mail = (id?: string) => ({ processorType: 'mail', ...(id !== undefined && { id }) });

describe('addJobs', () => {
  it('bulk-action BA-15: registering known ids again is a no-op, before and after seal', async () => {
    const { service } = onMemory();
    expect(await service.addJobs('g1', jobs(5))).toEqual({ added: 5, known: 0, registered: 5 });
    expect(await service.addJobs('g1', jobs(7))).toEqual({ added: 2, known: 5, registered: 7 });
    await service.seal('g1');
    expect(await service.addJobs('g1', jobs(7))).toEqual({ added: 0, known: 7, registered: 7 });
    await expect(service.addJobs('g1', jobs(9))).rejects.toMatchObject(
      code('GROUP_SEALED', { details: { group: 'g1', count: 2 } }),
    );
    expect(await service.getProgress('g1')).toMatchObject({ registered: 7, pending: 7 });
  });

  it('bulk-action BA-15: jobs without ids are recognised by requestId and position', async () => {
    const { service } = onMemory();
    const list = [mail(), mail('own'), mail()];
    await service.addJobs('g1', list, { requestId: 'r1' });
    expect(await service.addJobs('g1', list, { requestId: 'r1' })).toEqual({
      added: 0,
      known: 3,
      registered: 3,
    });
    expect((await service.listJobs('g1')).items.map(({ id }) => id).sort()).toEqual(['own', 'r1:0', 'r1:2']);
    expect(await service.addJobs('g1', list, { requestId: 'r2' })).toMatchObject({ added: 2, known: 1 });
  });

  it('bulk-action BA-15: a list handed over in parts counts its positions on', async () => {
    const { service } = onMemory();
    await service.addJobs('g1', [mail(), mail()], { requestId: 'r', firstPosition: 0 });
    await service.addJobs('g1', [mail(), mail()], { requestId: 'r', firstPosition: 2 });
    await service.addJobs('g1', [mail(), mail()], { requestId: 'r', firstPosition: 2 });
    expect((await service.listJobs('g1')).items.map(({ id }) => id).sort()).toEqual([
      'r:0',
      'r:1',
      'r:2',
      'r:3',
    ]);
  });

  it('bulk-action BA-15: without ids and requestId each job is new, with 16 characters of its own', async () => {
    const { service } = onMemory();
    const list = Array.from({ length: 3000 }, () => mail());
    await service.addJobs('g1', list);
    expect(await service.addJobs('g1', list)).toEqual({ added: 3000, known: 0, registered: 6000 });
    const { items } = await allPages((cursor) => service.listJobs('g1', { cursor, limit: 1000 }));
    for (const { id } of items) expect(id).toMatch(/^[0-9a-z]{16}$/);
  });

  it('bulk-action BA-15: of an id that comes twice in one call the first counts', async () => {
    const { service } = onMemory();
    const twice = [
      { ...mail('a'), payload: 1 },
      { ...mail('b'), payload: 2 },
      { ...mail('a'), payload: 3 },
    ];
    expect(await service.addJobs('g1', twice)).toEqual({ added: 2, known: 1, registered: 2 });
    expect((await service.getJob('g1', 'a')).payload).toBe(1);
  });

  it('makes an unknown group with the defaults, also for an empty list; takes anything that can be iterated', async () => {
    const { service } = onMemory();
    expect(await service.addJobs('empty', [])).toEqual({ added: 0, known: 0, registered: 0 });
    expect(await service.getGroup('empty')).toMatchObject({ status: 'CREATED', weight: 1, sealed: false });
    expect(await service.addJobs('acme/set', new Set(jobs(3)))).toMatchObject({ added: 3 });
    expect(await service.getGroup('acme/set')).toMatchObject({ tenant: 'acme', tenantId: 'acme' });
  });

  it('leaves the definition of a group that exists alone', async () => {
    const { service } = onMemory();
    await service.createGroup({ id: 'g1', weight: 7, tenantId: 'shop' });
    await service.addJobs('g1', jobs(1));
    expect(await service.getGroup('g1')).toMatchObject({ weight: 7, tenantId: 'shop' });
  });

  it('bulk-action BA-15: stores a long list in steps of 1000 jobs and about a mebibyte of payload', async () => {
    const { service, store } = onMemory();
    const steps: { jobs: number; incoming: number; characters: number }[] = [];
    const add = store.groups.add.bind(store.groups);
    Object.assign(store.groups, {
      add: (...[definition, list, incoming]: Parameters<typeof add>) => {
        const characters = list.reduce((sum, { payload }) => sum + payload.length, 0);
        steps.push({ jobs: list.length, incoming, characters });
        return add(definition, list, incoming);
      },
    });
    await service.addJobs('many', jobs(2500));
    expect(steps.map(({ jobs, incoming }) => [jobs, incoming])).toEqual([
      [1000, 2500],
      [1000, 1500],
      [500, 500],
    ]);
    steps.length = 0;
    await service.addJobs('large', jobs(50, { payload: 'x'.repeat(100_000) }));
    expect(steps.every(({ characters }) => characters <= 1_048_576)).toBe(true);
    expect(steps.map(({ jobs }) => jobs)).toEqual([10, 10, 10, 10, 10]);
    expect(await service.getProgress('large')).toMatchObject({ registered: 50 });
  });

  it('keeps cost, notBefore, deadline and traceparent of a job', async () => {
    const { service, clock } = onMemory();
    const [notBefore, deadline] = [clock.now() + 1000.5, new Date(clock.now() + 9000)];
    await service.addJobs('g1', [{ ...mail('a'), cost: 5, notBefore, deadline, traceparent: '00-a' }]);
    expect(await service.getJob('g1', 'a')).toMatchObject({
      cost: 5,
      notBefore: clock.now() + 1001,
      deadline: clock.now() + 9000,
      traceparent: '00-a',
      place: 'NON_READY',
      reason: 'SCHEDULED',
    });
  });

  it('bulk-action BA-1: a charge function says what each job counts, and is refused for nonsense', async () => {
    const counts: unknown[] = [];
    const { service } = onMemory({
      fairQueue: {
        charge: (job) => {
          counts.push(job);
          if (job.payload === 'throw') throw new Error('broken');
          return job.payload as number;
        },
      },
    });
    await service.addJobs('g1', [{ ...mail('a'), payload: 2.5, cost: 3 }]);
    expect(counts).toEqual([{ processorType: 'mail', payload: 2.5, cost: 3 }]);
    for (const payload of [0, -1, 1_000_001, 'many', null, 'throw'])
      await expect(service.addJobs('g2', [mail('ok'), { ...mail('b'), payload }])).rejects.toMatchObject(
        code('OPTION_INVALID', {
          message: expect.stringContaining('fairQueue.charge: what it returns must be'),
        }),
      );
    await expect(service.getGroup('g2')).rejects.toMatchObject(code('GROUP_NOT_FOUND'));
  });

  it('bulk-action BA-2: QUEUE_FULL when the engine is full, with a time to come back; nothing is stored', async () => {
    const { service } = onMemory({ limits: { queuedJobsMax: 10 } });
    await service.addJobs('g1', jobs(8));
    await expect(service.addJobs('g2', jobs(3))).rejects.toMatchObject(
      code('QUEUE_FULL', { status: 429, retryable: true, retryAfterMs: 1000 }),
    );
    await expect(service.getGroup('g2')).rejects.toMatchObject(code('GROUP_NOT_FOUND'));
    expect(await service.addJobs('g2', jobs(2))).toMatchObject({ added: 2 });
    expect(await service.addJobs('g1', jobs(8))).toMatchObject({ added: 0, known: 8 });
  });

  it('bulk-action BA-2: QUEUE_FULL is said before the first of several steps, and goes away as jobs start', async () => {
    const { service, work } = onMemory({ limits: { queuedJobsMax: 2000 } });
    await service.addJobs('g1', jobs(500));
    await expect(service.addJobs('g2', jobs(1600))).rejects.toMatchObject(code('QUEUE_FULL'));
    expect((await service.getQueues()).lane).toBe(500);
    expect(await work()).toBeGreaterThan(99);
    const failure = await service.addJobs('g2', jobs(60_000)).catch((error: unknown) => error);
    expect(failure).toMatchObject(code('QUEUE_FULL'));
    const { retryAfterMs } = failure as { retryAfterMs: number };
    expect(retryAfterMs).toBeGreaterThan(1000);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
    expect(await service.addJobs('g2', jobs(1600))).toMatchObject({ added: 1600 });
  });

  it('bulk-action BA-2: QUEUE_FULL for one tenant leaves the others alone', async () => {
    const { service } = onMemory({ limits: { tenantQueuedJobsMax: 5 } });
    await service.createGroup({ id: 'a', tenantId: 'shop' });
    await service.createGroup({ id: 'b', tenantId: 'shop' });
    await service.addJobs('a', jobs(4));
    await expect(service.addJobs('b', jobs(2))).rejects.toMatchObject(
      code('QUEUE_FULL', { message: expect.stringContaining('The tenant of the group b holds 4') }),
    );
    expect(await service.addJobs('other', jobs(5))).toMatchObject({ added: 5 });
  });
});
