import { describe, expect, it } from 'vitest';
import type { GroupEvent } from '../src/model.js';
import { allPages, code, dead, jobs, onMemory } from './on-memory.js';

describe('looking', () => {
  it('each look at what is not there says so', async () => {
    const { service } = onMemory();
    await service.createGroup({ id: 'g1' });
    for (const look of [
      service.getProgress('x'),
      service.getGroup('x'),
      service.getResult('x'),
      service.getJob('x', 'j'),
      service.listJobs('x'),
      service.explain('x', 'j'),
    ])
      await expect(look).rejects.toMatchObject(code('GROUP_NOT_FOUND', { details: { group: 'x' } }));
    for (const look of [service.getJob('g1', 'j'), service.explain('g1', 'j')])
      await expect(look).rejects.toMatchObject(code('JOB_NOT_FOUND', { details: { group: 'g1', job: 'j' } }));
    expect(await service.listJobs('g1')).toMatchObject({ items: [] });
    expect(await service.getTenant('nobody')).toBeUndefined();
  });

  it('bulk-action BA-13: the result of each round stays readable', async () => {
    const { service, deadLetters, work } = onMemory();
    await service.submitBulk({ id: 'g1' }, jobs(2));
    await work(dead('down'));
    expect(await service.getResult('g1')).toMatchObject({ round: 1, success: 0, failed: 2 });
    expect(await service.getResult('g1', { round: 2 })).toBeUndefined();
    await expect(service.getResult('g1', { rond: 1 } as never)).rejects.toMatchObject({
      code: 'OPTION_UNKNOWN',
    });
    expect(await deadLetters.redrive({ groupId: 'g1' })).toBe(2);
    expect(await service.getProgress('g1')).toMatchObject({
      round: 2,
      status: 'RUNNING',
      pending: 2,
      failed: 0,
    });
    expect(await service.getResult('g1')).toMatchObject({ round: 1 });
    await work();
    expect(await service.getResult('g1')).toMatchObject({ round: 2, success: 2, failed: 0 });
    expect(await service.getResult('g1', { round: 1 })).toMatchObject({ round: 1, failed: 2 });
    for (const round of [0, -1, 1.5, '1'])
      await expect(service.getResult('g1', { round: round as number })).rejects.toMatchObject(
        code('OPTION_INVALID'),
      );
  });

  it('a group is found by its unit at once, however many jobs came after it', async () => {
    const { service } = onMemory();
    await service.createGroup({ id: 'old', tenantId: 'ann' });
    await service.submitBulk({ id: 'large', tenantId: 'bob' }, jobs(10_500));
    const { items, cursor } = await service.listGroups({ tenantId: 'ann' });
    expect(items.map(({ id }) => id)).toEqual(['old']);
    expect(cursor).toBeUndefined();
  });

  it('bulk-action BA-1: groups are listed each exactly once over all pages, by namespace, unit and status', async () => {
    const { service } = onMemory();
    for (let index = 0; index < 25; index++) {
      await service.createGroup({ id: `a${index}`, tenant: 'acme' });
      await service.createGroup({ id: `s${index}`, tenantId: 'shop' });
    }
    for (let index = 0; index < 5; index++) await service.seal(`s${index}`);
    const listed = async (filter: object, limit: number) => {
      const { items, pages } = await allPages((cursor) => service.listGroups(filter, { cursor, limit }));
      expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
      return { ids: items.map(({ id }) => id), pages };
    };
    for (const limit of [1, 7, 50, 1000]) expect((await listed({}, limit)).ids).toHaveLength(50);
    expect((await listed({}, 7)).pages).toBeGreaterThan(7);
    expect((await listed({ tenant: 'acme' }, 7)).ids.every((id) => id.startsWith('acme/a'))).toBe(true);
    expect((await listed({ tenant: 'acme' }, 7)).ids).toHaveLength(25);
    expect((await listed({ tenant: '' }, 7)).ids).toHaveLength(25);
    expect((await listed({ tenantId: 'shop' }, 4)).ids).toHaveLength(25);
    expect((await listed({ status: 'COMPLETED' }, 2)).ids.sort()).toEqual(['s0', 's1', 's2', 's3', 's4']);
    expect((await listed({ tenant: 'acme', status: 'COMPLETED' }, 2)).ids).toEqual([]);
  });

  it('bulk-action BA-15: jobs are listed each exactly once over all pages, by state', async () => {
    const { service, take, settle } = onMemory();
    await service.addJobs('g1', jobs(33));
    await settle(await take(10), { kind: 'success' });
    await take(3);
    const listed = async (more: object) =>
      (await allPages((cursor) => service.listJobs('g1', { ...more, cursor }))).items.map(({ id }) => id);
    for (const limit of [1, 10, 33, 1000]) {
      const ids = await listed({ limit });
      expect(ids).toHaveLength(33);
      expect(new Set(ids).size).toBe(33);
    }
    expect(await listed({ state: 'COMPLETED', limit: 4 })).toHaveLength(10);
    expect(await listed({ state: 'PROCESSING', limit: 2 })).toHaveLength(3);
    expect(await listed({ state: 'PENDING', limit: 7 })).toHaveLength(20);
    expect(await listed({ state: 'FAILED' })).toEqual([]);
  });

  it('pages hold 100 unless asked otherwise, at most 1000', async () => {
    const { service } = onMemory();
    await service.addJobs('g1', jobs(150));
    expect((await service.listJobs('g1')).items).toHaveLength(100);
    for (const limit of [0, 1001, 1.5, '5', null]) {
      const page = { limit: limit as number };
      const refused = code('OPTION_INVALID', {
        message: expect.stringContaining('limit must be an integer from 1 to 1000'),
      });
      await expect(service.listJobs('g1', page)).rejects.toMatchObject(refused);
      await expect(service.listGroups({}, page)).rejects.toMatchObject(refused);
      await expect(service.getFairness(page)).rejects.toMatchObject(refused);
    }
    // On Redis a script would count from it for ever.
    await expect(service.listJobs('g1', { cursor: '-1000000000' })).rejects.toMatchObject(
      code('OPTION_INVALID'),
    );
    await expect(service.listGroups({}, { cursor: 5 as never })).rejects.toMatchObject(
      code('OPTION_INVALID'),
    );
    await expect(service.listGroups({ status: 'DONE' as never })).rejects.toMatchObject(
      code('OPTION_INVALID'),
    );
    await expect(service.listGroups({ statsu: 'FAILED' } as never)).rejects.toMatchObject(
      code('OPTION_UNKNOWN'),
    );
    await expect(service.listGroups({ tenant: 'a b' })).rejects.toMatchObject(code('ID_INVALID'));
    await expect(service.listGroups({ tenantId: '' })).rejects.toMatchObject(code('ID_INVALID'));
    await expect(service.listJobs('g1', { state: 'DONE' as never })).rejects.toMatchObject(
      code('OPTION_INVALID'),
    );
  });

  it('bulk-action BA-1: tenants, shares and queues', async () => {
    const { service, take } = onMemory();
    await service.updateTenant('shop', { weight: 3 });
    await service.createGroup({ id: 'a', tenantId: 'shop' });
    await service.addJobs('a', jobs(4));
    await service.addJobs('b', jobs(4));
    await take(4);
    expect(await service.getTenant('shop')).toMatchObject({ id: 'shop', weight: 3, groups: 1 });
    const shares = await service.getFairness();
    expect(shares.map(({ id }) => id).sort()).toEqual(['b', 'shop']);
    expect(await service.getFairness({ limit: 1 })).toHaveLength(1);
    expect(await service.getQueues()).toMatchObject({ tenants: 2, inFlight: 4, deadLetters: 0 });
  });

  it('bulk-action BA-2: explain says what holds a job', async () => {
    const { service } = onMemory();
    await service.addJobs('g1', jobs(2));
    await service.pauseGroup('g1');
    const explanation = await service.explain('g1', 'j1');
    expect(explanation).toMatchObject({
      gate: 'PAUSED',
      etaMs: null,
      job: { id: 'j1' },
      position: { jobsAhead: 1 },
    });
    expect(explanation.gates.map(({ gate }) => gate)).toContain('NO_PROCESSOR');
  });

  it('bulk-action BA-13: subscribers hear of a group from its start to its end', async () => {
    const { service, work } = onMemory();
    const events: GroupEvent[] = [];
    const end = service.subscribe((event) => events.push(event));
    await service.submitBulk({ id: 'g1', tenant: 'acme' }, jobs(1));
    await work();
    const types = events.map(({ type }) => type);
    expect(types[0]).toBe('group.started');
    expect(types.at(-1)).toBe('group.completed');
    expect(
      events.every(({ groupId, tenant, round }) => groupId === 'acme/g1' && tenant === 'acme' && round === 1),
    ).toBe(true);
    end();
    await service.submitBulk({ id: 'g2' }, []);
    expect(events).toHaveLength(types.length);
    expect(() => service.subscribe('x' as never)).toThrow(expect.objectContaining(code('OPTION_INVALID')));
  });
});
