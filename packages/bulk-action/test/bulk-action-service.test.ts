import { describe, expect, it } from 'vitest';
import { code, jobs, onMemory } from './on-memory.js';

const mail = (id?: string) => ({ processorType: 'mail', ...(id !== undefined && { id }) });

describe('createGroup', () => {
  it('bulk-action BA-1: completes the definition with the defaults', async () => {
    const { service, clock } = onMemory({ watcher: { groupTimeoutMs: 77 } });
    expect(await service.createGroup({ id: 'g1' })).toEqual({ groupId: 'g1', created: true });
    expect(await service.getGroup('g1')).toMatchObject({
      id: 'g1',
      tenant: '',
      tenantId: 'g1',
      weight: 1,
      priorityLevel: 'normal',
      timeoutMs: 77,
      traceparent: '',
      status: 'CREATED',
      sealed: false,
      paused: false,
      round: 1,
      createdAt: clock.now(),
    });
  });

  it('bulk-action BA-1: keeps everything that was given', async () => {
    const { service } = onMemory();
    const given = {
      tenantId: 'acme',
      weight: 2.5,
      priorityLevel: 'high',
      rps: 10,
      burst: 3,
      concurrency: 4,
      timeoutMs: 1000,
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    } as const;
    await service.createGroup({ id: 'g1', ...given, deadline: new Date(86_400_000) });
    expect(await service.getGroup('g1')).toMatchObject({ ...given, deadline: 86_400_000 });
  });

  it('bulk-action BA-15: the same definition again is no new group, another one is a conflict', async () => {
    const { service } = onMemory();
    const input = { id: 'g1', weight: 2, deadline: 5_000_000_000_000 };
    await service.createGroup(input);
    expect(await service.createGroup({ ...input })).toEqual({ groupId: 'g1', created: false });
    expect(await service.createGroup({ ...input, deadline: new Date(5_000_000_000_000) })).toMatchObject({
      created: false,
    });
    await expect(service.createGroup({ ...input, weight: 3 })).rejects.toMatchObject(
      code('GROUP_CONFLICT', { status: 409 }),
    );
    expect(await service.getGroup('g1')).toMatchObject({ weight: 2 });
  });

  it('bulk-action BA-1: the fairness unit is the tenant, else what is given, else the group itself', async () => {
    const { service } = onMemory();
    await service.createGroup({ id: 'a' });
    await service.createGroup({ id: 'b', tenantId: 'shop' });
    await service.createGroup({ id: 'c', tenant: 'acme' });
    await service.createGroup({ id: 'acme/d', tenantId: 'acme' });
    const units = await Promise.all(['a', 'b', 'acme/c', 'acme/d'].map((id) => service.getGroup(id)));
    expect(units.map(({ tenantId }) => tenantId)).toEqual(['a', 'shop', 'acme', 'acme']);
  });

  it('bulk-action BA-1: a group of a tenant cannot spend the share of another', async () => {
    const { service } = onMemory();
    const expected = code('ID_INVALID', {
      message: "tenantId must be 'acme', the group's tenant, got 'shop'",
    });
    await expect(service.createGroup({ id: 'g', tenant: 'acme', tenantId: 'shop' })).rejects.toMatchObject(
      expected,
    );
    await expect(service.createGroup({ id: 'acme/g', tenantId: 'shop' })).rejects.toMatchObject(expected);
    expect((await service.listGroups()).items).toEqual([]);
  });
});

describe('namespaces', () => {
  it('bulk-action BA-1: two tenants with the same group id never meet', async () => {
    const { service } = onMemory();
    await service.submitBulk({ id: 'news', tenant: 'acme' }, jobs(2));
    await service.submitBulk({ id: 'news', tenant: 'shop' }, jobs(3));
    await service.submitBulk({ id: 'news' }, jobs(4));
    expect(await service.getProgress('acme/news')).toMatchObject({ registered: 2 });
    expect(await service.getProgress('shop/news')).toMatchObject({ registered: 3 });
    expect(await service.getProgress('news')).toMatchObject({ registered: 4 });
    expect(await service.getProgress('/news')).toMatchObject({ registered: 4 });
    await service.cancelGroup('acme/news');
    expect((await service.getProgress('shop/news')).status).toBe('DISPATCHED');
    expect((await service.getProgress('news')).status).toBe('DISPATCHED');
  });

  it('bulk-action BA-1: groups are named as every method takes them', async () => {
    const { service } = onMemory();
    expect(await service.createGroup({ id: 'g', tenant: 'acme' })).toEqual({
      groupId: 'acme/g',
      created: true,
    });
    expect(await service.createGroup({ id: 'acme/g' })).toEqual({ groupId: 'acme/g', created: false });
    await service.submitJob('acme/g', mail('j1'));
    expect(await service.getGroup('acme/g')).toMatchObject({ id: 'acme/g', tenant: 'acme' });
    expect(await service.getJob('acme/g', 'j1')).toMatchObject({ groupId: 'acme/g', tenant: 'acme' });
    await expect(service.getGroup('g')).rejects.toMatchObject(code('GROUP_NOT_FOUND'));
  });

  it('an id that names another namespace than the tenant given is refused', async () => {
    const { service } = onMemory();
    await expect(service.createGroup({ id: 'shop/g', tenant: 'acme' })).rejects.toMatchObject(
      code('ID_INVALID'),
    );
    expect(await service.createGroup({ id: 'acme/g', tenant: 'acme' })).toMatchObject({ groupId: 'acme/g' });
  });
});

describe('seal', () => {
  it('bulk-action BA-13: an empty group completes with zero counts', async () => {
    const { service } = onMemory();
    await service.createGroup({ id: 'g1' });
    expect(await service.getResult('g1')).toBeUndefined();
    expect(await service.seal('g1')).toEqual({ status: 'COMPLETED', changed: true });
    expect(await service.getResult('g1')).toMatchObject({
      groupId: 'g1',
      round: 1,
      status: 'COMPLETED',
      total: 0,
      success: 0,
      failed: 0,
      cancelled: 0,
    });
    expect(await service.seal('g1')).toEqual({ status: 'COMPLETED', changed: false });
  });

  it('bulk-action BA-13: a wrong total is refused and changes nothing', async () => {
    const { service } = onMemory();
    await service.addJobs('g1', jobs(3));
    for (const total of [0, 2, 4])
      await expect(service.seal('g1', { total })).rejects.toMatchObject(
        code('SEAL_TOTAL_MISMATCH', { status: 409, details: { group: 'g1', registered: 3, total } }),
      );
    expect(await service.getGroup('g1')).toMatchObject({ sealed: false, status: 'CREATED' });
    expect(await service.seal('g1', { total: 3 })).toEqual({ status: 'DISPATCHED', changed: true });
    expect(await service.seal('g1', { total: 3 })).toEqual({ status: 'DISPATCHED', changed: false });
  });

  it('bulk-action BA-13: a group whose jobs are all done is complete only when it is sealed', async () => {
    const { service, work } = onMemory();
    await service.addJobs('g1', jobs(3));
    await work();
    expect(await service.getProgress('g1')).toMatchObject({ done: 3, success: 3, status: 'CREATED' });
    expect(await service.getResult('g1')).toBeUndefined();
    expect(await service.seal('g1', { total: 3 })).toEqual({ status: 'COMPLETED', changed: true });
    expect(await service.getResult('g1')).toMatchObject({ total: 3, success: 3, successRate: 1 });
  });

  it('refuses an unknown group and a total that is none', async () => {
    const { service } = onMemory();
    await expect(service.seal('nobody')).rejects.toMatchObject(code('GROUP_NOT_FOUND', { status: 404 }));
    for (const total of [-1, 1.5, Number.NaN, '3', null])
      await expect(service.seal('g', { total: total as number })).rejects.toMatchObject(
        code('OPTION_INVALID', { message: expect.stringContaining('seal: total must be an integer ≥ 0') }),
      );
    await expect(service.seal('g', { totl: 3 } as never)).rejects.toMatchObject(code('OPTION_UNKNOWN'));
  });
});

describe('submitBulk and submitJob', () => {
  it('bulk-action BA-15: all three steps in one call, and the same again after a lost answer', async () => {
    const { service, work } = onMemory();
    const send = () =>
      service.submitBulk({ id: 'g1', weight: 2 }, [mail(), mail(), mail('x')], { requestId: 'r' });
    expect(await send()).toMatchObject({
      groupId: 'g1',
      added: 3,
      known: 0,
      registered: 3,
      progress: { total: 3, status: 'DISPATCHED', pending: 3, progressPercent: 0 },
    });
    expect(await send()).toMatchObject({ added: 0, known: 3, progress: { registered: 3 } });
    await work();
    expect(await send()).toMatchObject({
      added: 0,
      known: 3,
      progress: { status: 'COMPLETED', done: 3, progressPercent: 100 },
    });
    expect(await service.getResult('g1')).toMatchObject({ success: 3 });
  });

  it('bulk-action BA-15: goes on where a call stopped half-way, at every step', async () => {
    const { service } = onMemory();
    const group = { id: 'g1' };
    await service.createGroup(group);
    await service.addJobs('g1', jobs(2));
    expect(await service.submitBulk(group, jobs(5))).toMatchObject({ added: 3, known: 2, registered: 5 });
    expect(await service.getGroup('g1')).toMatchObject({ sealed: true });
  });

  it('leaves the group open when more jobs follow, and says whether it is new', async () => {
    const { service } = onMemory();
    const send = (count: number, seal: boolean) => service.submitBulk({ id: 'g1' }, jobs(count), { seal });
    expect(await send(2, false)).toMatchObject({ created: true, sealed: false, registered: 2 });
    expect(await send(3, false)).toMatchObject({ created: false, sealed: false, added: 1, registered: 3 });
    expect(await send(3, true)).toMatchObject({ created: false, sealed: true, added: 0 });
    await expect(service.submitBulk({ id: 'g2' }, [], { seal: 'no' as never })).rejects.toMatchObject(
      code('OPTION_INVALID'),
    );
    await expect(service.getGroup('g2')).rejects.toMatchObject(code('GROUP_NOT_FOUND'));
  });

  it('seals with the number of distinct ids; a group with other jobs besides stays open', async () => {
    const { service } = onMemory();
    expect(await service.submitBulk({ id: 'a' }, [...jobs(2), ...jobs(2)])).toMatchObject({
      added: 2,
      known: 2,
    });
    await service.addJobs('b', [mail('other')]);
    await expect(service.submitBulk({ id: 'b' }, jobs(2))).rejects.toMatchObject(
      code('SEAL_TOTAL_MISMATCH', { details: { group: 'b', registered: 3, total: 2 } }),
    );
    expect(await service.getGroup('b')).toMatchObject({ sealed: false });
  });

  it('without ids and requestId a repeat is refused, not run twice', async () => {
    const { service } = onMemory();
    await service.submitBulk({ id: 'g1' }, [mail(), mail()]);
    await expect(service.submitBulk({ id: 'g1' }, [mail(), mail()])).rejects.toMatchObject(
      code('GROUP_SEALED'),
    );
    expect(await service.getProgress('g1')).toMatchObject({ registered: 2 });
  });

  it('bulk-action BA-13: a bulk action without jobs is complete at once; another definition is a conflict', async () => {
    const { service } = onMemory();
    expect(await service.submitBulk({ id: 'g1' }, [])).toMatchObject({
      progress: { status: 'COMPLETED', total: 0, progressPercent: 100 },
    });
    await expect(service.submitBulk({ id: 'g1', weight: 2 }, [])).rejects.toMatchObject(
      code('GROUP_CONFLICT'),
    );
  });

  it('bulk-action BA-15: submitJob says the id and whether the job is new', async () => {
    const { service } = onMemory();
    expect(await service.submitJob('g1', mail('a'))).toEqual({ jobId: 'a', added: true });
    expect(await service.submitJob('g1', mail('a'))).toEqual({ jobId: 'a', added: false });
    const { jobId, added } = await service.submitJob('g1', mail());
    expect(added).toBe(true);
    expect(await service.getJob('g1', jobId)).toMatchObject({ id: jobId, status: 'PENDING', payload: null });
    await service.seal('g1');
    await expect(service.submitJob('g1', mail('new'))).rejects.toMatchObject(code('GROUP_SEALED'));
  });
});
