import { describe, expect, it } from 'vitest';
import { code, jobs, onMemory } from './on-memory.js';

describe('changing', () => {
  it('bulk-action BA-13: cancelling freezes the counts; again, or after the end, changes nothing', async () => {
    const { service, take, settle, work } = onMemory();
    await service.submitBulk({ id: 'g1' }, jobs(5));
    await settle(await take(2), { kind: 'success' });
    expect(await service.cancelGroup('g1')).toEqual({ status: 'CANCELLED', changed: true });
    expect(await service.cancelGroup('g1')).toEqual({ status: 'CANCELLED', changed: false });
    expect(await service.getProgress('g1')).toMatchObject({ success: 2, cancelled: 3, done: 5, pending: 0 });
    expect(await work()).toBe(0);
    await service.submitBulk({ id: 'g2' }, []);
    expect(await service.cancelGroup('g2')).toEqual({ status: 'COMPLETED', changed: false });
    await expect(service.cancelGroup('nobody')).rejects.toMatchObject(code('GROUP_NOT_FOUND'));
  });

  it('bulk-action BA-13: a cancelled group takes no jobs, and sealing it changes nothing', async () => {
    const { service } = onMemory();
    await service.addJobs('g1', jobs(1));
    await service.cancelGroup('g1');
    expect(await service.addJobs('g1', jobs(1))).toMatchObject({ known: 1 });
    await expect(service.addJobs('g1', jobs(2))).rejects.toMatchObject(code('GROUP_SEALED'));
    expect(await service.seal('g1')).toEqual({ status: 'CANCELLED', changed: false });
  });

  it('bulk-action BA-2: after pauseGroup no job starts until resumeGroup', async () => {
    const { service, take, work } = onMemory();
    await service.addJobs('g1', jobs(5));
    await take(1);
    expect(await service.pauseGroup('g1')).toEqual({ status: 'CREATED', changed: true });
    expect(await service.pauseGroup('g1')).toEqual({ status: 'CREATED', changed: false });
    expect(await service.getGroup('g1')).toMatchObject({ paused: true });
    expect(await work()).toBe(0);
    expect(await service.resumeGroup('g1')).toMatchObject({ changed: true });
    expect(await service.resumeGroup('g1')).toMatchObject({ changed: false });
    expect(await work()).toBe(4);
  });

  it('bulk-action BA-2: updateGroup acts on work already queued, at once', async () => {
    const { service, take } = onMemory();
    await service.addJobs('g1', jobs(20));
    expect(await service.updateGroup('g1', { concurrency: 2 })).toMatchObject({ changed: true });
    expect(await take()).toHaveLength(2);
    await service.updateGroup('g1', { concurrency: null });
    expect((await take()).length).toBeGreaterThan(2);
    expect('concurrency' in (await service.getGroup('g1'))).toBe(false);
  });

  it('bulk-action BA-1: a new weight changes the order of work already queued', async () => {
    const { service, store, take } = onMemory();
    await service.addJobs('a', jobs(100));
    await service.addJobs('b', jobs(100));
    await service.updateGroup('b', { weight: 9 });
    await store.gate.fetch(50);
    const started = await take(50);
    const ofB = started.filter(({ key }) => key === '/b').length;
    expect(started).toHaveLength(50);
    expect(ofB).toBeGreaterThanOrEqual(44);
  });

  it('bulk-action BA-2: updateGroup and updateTenant change every key, and null takes a limit away', async () => {
    const { service, clock } = onMemory();
    await service.createGroup({ id: 'g1', rps: 5, burst: 2, concurrency: 3, deadline: clock.now() + 5 });
    const deadline = new Date(clock.now() + 99);
    const patch = {
      weight: 2,
      priorityLevel: 'low',
      rps: 7,
      burst: 4,
      concurrency: 9,
      timeoutMs: 5,
      deadline,
    } as const;
    await service.updateGroup('g1', patch);
    expect(await service.getGroup('g1')).toMatchObject({ ...patch, deadline: deadline.getTime() });
    await service.updateGroup('g1', { rps: null, burst: null, concurrency: null, deadline: null });
    const group = await service.getGroup('g1');
    for (const gone of ['rps', 'burst', 'concurrency', 'deadline']) expect(gone in group).toBe(false);
    await service.updateTenant('shop', { weight: 2, rps: 7, burst: 4, concurrency: 9 });
    expect(await service.getTenant('shop')).toMatchObject({ weight: 2, rps: 7, burst: 4, concurrency: 9 });
    await service.updateTenant('shop', { rps: null, burst: null, concurrency: null });
    const tenant = await service.getTenant('shop');
    for (const gone of ['rps', 'burst', 'concurrency']) expect(gone in (tenant ?? {})).toBe(false);
  });

  it('bulk-action BA-13: a group that has ended cannot be paused, resumed or updated', async () => {
    const { service } = onMemory();
    await service.submitBulk({ id: 'g1' }, []);
    for (const change of [
      service.pauseGroup('g1'),
      service.resumeGroup('g1'),
      service.updateGroup('g1', { weight: 2 }),
    ])
      await expect(change).rejects.toMatchObject(
        code('GROUP_ENDED', { status: 409, details: { group: 'g1', status: 'COMPLETED' } }),
      );
    for (const change of [
      service.pauseGroup('x'),
      service.resumeGroup('x'),
      service.updateGroup('x', { weight: 2 }),
    ])
      await expect(change).rejects.toMatchObject(code('GROUP_NOT_FOUND'));
  });

  it('a group can be made after addJobs made it, if it is the same', async () => {
    const { service } = onMemory();
    await service.addJobs('g1', jobs(1));
    expect(await service.createGroup({ id: 'g1' })).toEqual({ groupId: 'g1', created: false });
    await expect(service.createGroup({ id: 'g1', weight: 2 })).rejects.toMatchObject(code('GROUP_CONFLICT'));
  });

  it('bulk-action BA-15: a repeat of createGroup after updateGroup is still the same group', async () => {
    const { service } = onMemory();
    await service.createGroup({ id: 'g1', weight: 2 });
    await service.updateGroup('g1', { weight: 5 });
    expect(await service.createGroup({ id: 'g1', weight: 2 })).toEqual({ groupId: 'g1', created: false });
    expect(await service.getGroup('g1')).toMatchObject({ weight: 5 });
  });
});
