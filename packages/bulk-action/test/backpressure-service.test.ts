import { describe, expect, it } from 'vitest';
import { code, jobs, onMemory } from './on-memory.js';

describe('BackpressureService', () => {
  it('bulk-action BA-2: a job whose turn it is enters ready', async () => {
    const { service, backpressure } = onMemory();
    await service.addJobs('g1', jobs(2));
    expect(await backpressure.admit({ groupId: 'g1', jobId: 'j0' })).toEqual({
      accepted: true,
      destination: 'READY',
      reason: 'NONE',
    });
    expect(await service.getJob('g1', 'j0')).toMatchObject({ place: 'READY', status: 'PENDING' });
    expect(await service.getQueues()).toMatchObject({ ready: 1, lane: 1 });
  });

  it('bulk-action BA-2: REJECTED never loses the job: it is at the head of its lane', async () => {
    const { service, backpressure, take } = onMemory();
    await service.addJobs('g1', jobs(3));
    expect(await backpressure.admit({ groupId: 'g1', jobId: 'j1' })).toEqual({
      accepted: false,
      destination: 'REJECTED',
      reason: 'TURN',
    });
    await service.pauseGroup('g1');
    const { place } = await service.getJob('g1', 'j0');
    expect(place).toBe('LANE');
    expect(await backpressure.admit({ groupId: 'g1', jobId: 'j0' })).toEqual({
      accepted: false,
      destination: 'REJECTED',
      reason: 'PAUSED',
    });
    expect(await service.getProgress('g1')).toMatchObject({ pending: 3, registered: 3 });
    await service.resumeGroup('g1');
    expect((await take()).map(({ jobId }) => jobId).sort()).toEqual(['j0', 'j1', 'j2']);
  });

  it('bulk-action BA-2: says when a cap is reached, and when there is nothing to admit', async () => {
    const { service, backpressure, work } = onMemory();
    await service.createGroup({ id: 'g1', concurrency: 1 });
    await service.addJobs('g1', jobs(2));
    expect(await backpressure.admit({ groupId: 'g1', jobId: 'j0' })).toMatchObject({ accepted: true });
    expect(await backpressure.admit({ groupId: 'g1', jobId: 'j1' })).toMatchObject({
      destination: 'REJECTED',
      reason: 'GROUP_CAP',
    });
    await work();
    expect(await backpressure.admit({ groupId: 'g1', jobId: 'j0' })).toMatchObject({
      accepted: false,
      reason: 'NOT_WAITING',
    });
  });

  it('bulk-action BA-2: an unknown job is refused by name', async () => {
    const { service, backpressure } = onMemory();
    await service.createGroup({ id: 'g1' });
    for (const groupId of ['g1', 'nobody'])
      await expect(backpressure.admit({ groupId, jobId: 'j' })).rejects.toMatchObject(
        code('JOB_NOT_FOUND', { details: { group: groupId, job: 'j' } }),
      );
    await expect(backpressure.admit({ groupId: 'a b', jobId: 'j' })).rejects.toMatchObject(
      code('ID_INVALID'),
    );
    await expect(backpressure.admit({ groupId: 'g1', jobId: '' })).rejects.toMatchObject(code('ID_INVALID'));
  });

  it('bulk-action BA-2: checkRate says when the next token comes and spends none', async () => {
    const { service, backpressure, take } = onMemory();
    await service.createGroup({ id: 'acme/g1', rps: 10, burst: 1 });
    await service.addJobs('acme/g1', jobs(3));
    for (let look = 0; look < 3; look++)
      expect(await backpressure.checkRate('acme/g1')).toEqual({ allowed: true, nextInMs: 0 });
    expect(await take(1)).toHaveLength(1);
    const { allowed, nextInMs } = await backpressure.checkRate('acme/g1');
    expect(allowed).toBe(false);
    expect(nextInMs).toBeGreaterThan(0);
    expect(nextInMs).toBeLessThanOrEqual(100);
  });

  it('bulk-action BA-2: checkRate refuses an unknown group and a cost that is none', async () => {
    const { backpressure } = onMemory();
    await expect(backpressure.checkRate('nobody')).rejects.toMatchObject(code('GROUP_NOT_FOUND'));
    for (const cost of [0, -1, 1.5, 1001, '1'])
      await expect(backpressure.checkRate('g', cost as number)).rejects.toMatchObject(
        code('OPTION_INVALID', {
          message: expect.stringContaining('cost must be an integer from 1 to 1000'),
        }),
      );
  });
});
