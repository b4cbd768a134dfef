import { describe, expect, it } from 'vitest';
import { allPages, code, dead, jobs, onMemory } from './on-memory.js';

/** Two groups whose jobs have died of two causes: 3 of 'a' down, 2 of 'acme/b' refused. */
async function withDeadLetters() {
  const all = onMemory();
  await all.service.submitBulk({ id: 'a' }, jobs(3));
  await all.work(dead('down'));
  await all.clock.advance(10);
  await all.service.submitBulk({ id: 'b', tenant: 'acme' }, jobs(2, { payload: { to: 'Ada' } }));
  await all.work(dead('refused'));
  return all;
}

const DOWN = 'mail HANDLER_FAILED down';
const REFUSED = 'mail HANDLER_FAILED refused';

describe('DeadLetterService', () => {
  it('bulk-action BA-8: lists full copies, the newest first, by group, job, signature and namespace', async () => {
    const { deadLetters, clock } = await withDeadLetters();
    const { items } = await deadLetters.list();
    expect(items.map(({ job }) => job.groupId)).toEqual(['acme/b', 'acme/b', 'a', 'a', 'a']);
    expect(items[0]).toMatchObject({
      error: 'refused',
      code: 'HANDLER_FAILED',
      signature: REFUSED,
      failedAt: clock.now(),
      retryCount: 0,
      job: { status: 'FAILED', place: 'DEAD', payload: { to: 'Ada' }, processorType: 'mail' },
    });
    const count = async (query: object) => (await deadLetters.list(query)).items.length;
    expect(await count({ groupId: 'acme/b' })).toBe(2);
    expect(await count({ groupId: 'b' })).toBe(0);
    expect(await count({ groupId: 'a', jobId: 'j1' })).toBe(1);
    expect(await count({ signature: DOWN })).toBe(3);
    expect(await count({ tenant: 'acme' })).toBe(2);
    expect(await count({ tenant: '' })).toBe(3);
    expect(await count({ tenant: 'acme', signature: DOWN })).toBe(0);
  });

  it('bulk-action BA-8: pages hold each exactly once', async () => {
    const { deadLetters } = await withDeadLetters();
    for (const limit of [1, 2, 5, 1000]) {
      const { items } = await allPages((cursor) => deadLetters.list({}, { cursor, limit }));
      expect(new Set(items.map(({ job }) => `${job.groupId} ${job.id}`)).size).toBe(5);
      expect(items).toHaveLength(5);
    }
  });

  it('bulk-action BA-8: groups them by signature, the most frequent first', async () => {
    const { deadLetters, clock } = await withDeadLetters();
    expect(await deadLetters.signatures()).toEqual([
      expect.objectContaining({ signature: DOWN, count: 3, lastFailedAt: clock.now() - 10 }),
      expect.objectContaining({ signature: REFUSED, count: 2, lastFailedAt: clock.now() }),
    ]);
    expect(await deadLetters.signatures({}, { limit: 1 })).toHaveLength(1);
    expect(await deadLetters.signatures({ tenant: 'acme' })).toMatchObject([{ signature: REFUSED }]);
    expect(await deadLetters.signatures({ groupId: 'a' })).toMatchObject([{ signature: DOWN, count: 3 }]);
  });

  it('bulk-action BA-8: counts what a selection has, also with more causes than a store tells of', async () => {
    const { deadLetters, service, clock, take, settle } = await withDeadLetters();
    expect(await deadLetters.count({ all: true })).toBe(5);
    expect(await deadLetters.count({ all: true, tenant: 'acme' })).toBe(2);
    expect(await deadLetters.count({ groupId: 'a' })).toBe(3);
    expect(await deadLetters.count({ groupId: 'a', jobId: 'j1' })).toBe(1);
    expect(await deadLetters.count({ groupId: 'a', jobId: 'none' })).toBe(0);
    expect(await deadLetters.count({ signature: REFUSED })).toBe(2);
    expect(await deadLetters.count({ signature: REFUSED, tenant: '' })).toBe(0);
    await expect(deadLetters.count({})).rejects.toMatchObject(code('OPTION_INVALID'));
    await service.addJobs('c', jobs(1001));
    let cause = 0x4e00;
    for (let taken = await take(500); taken.length > 0; taken = await take(500)) {
      for (const job of taken) await settle([job], dead(`down ${String.fromCodePoint(cause++)}`));
      // The rate over all.
      await clock.advance(1000);
    }
    expect(await deadLetters.signatures({}, { limit: 1000 })).toHaveLength(1000);
    expect(await deadLetters.count({ all: true })).toBe(1006);
    expect(await deadLetters.count({ signature: DOWN })).toBe(3);
  });

  it('bulk-action BA-8: moves no more than it may', async () => {
    const { deadLetters } = await withDeadLetters();
    expect(await deadLetters.purge({ groupId: 'a' }, { max: 2 })).toBe(2);
    expect(await deadLetters.redrive({ groupId: 'acme/b' }, { max: 1 })).toBe(1);
    expect(await deadLetters.redrive({ all: true }, { max: 0 })).toBe(0);
    expect(await deadLetters.count({ all: true })).toBe(2);
    await expect(deadLetters.purge({ all: true }, { max: -1 })).rejects.toMatchObject(code('OPTION_INVALID'));
  });

  it.each([
    ['one job', { groupId: 'a', jobId: 'j0' }, 1],
    ['a group', { groupId: 'acme/b' }, 2],
    ['a signature', { signature: DOWN }, 3],
    ['a signature of a namespace', { signature: DOWN, tenant: 'acme' }, 0],
    ['all', { all: true }, 5],
    ['all of a namespace', { all: true, tenant: 'acme' }, 2],
    ['nothing, where there is none', { groupId: 'other' }, 0],
  ] as const)('bulk-action BA-8: redrives and purges %s', async (_, selection, moved) => {
    const redriven = await withDeadLetters();
    expect(await redriven.deadLetters.redrive(selection)).toBe(moved);
    expect(await redriven.service.getQueues()).toMatchObject({ deadLetters: 5 - moved, lane: moved });
    const purged = await withDeadLetters();
    expect(await purged.deadLetters.purge(selection)).toBe(moved);
    expect(await purged.service.getQueues()).toMatchObject({ deadLetters: 5 - moved, lane: 0 });
    expect(await purged.service.getResult('a')).toMatchObject({ failed: 3 });
  });

  it('bulk-action BA-8: more than one step moves, and all are run again', async () => {
    const { service, deadLetters, work } = onMemory();
    await service.submitBulk({ id: 'g' }, jobs(1300));
    // The tokens of one burst at a time: 1000 at most start in one instant.
    const failed = await work(dead('down'));
    expect(failed).toBeGreaterThan(500);
    expect(await deadLetters.redrive({ signature: DOWN })).toBe(failed);
    expect(await service.getProgress('g')).toMatchObject({ failed: 0, pending: 1300, registered: 1300 });
  });

  it('bulk-action BA-8: a redrive does not chase jobs that die again while it runs', async () => {
    const { service, store, deadLetters, work } = onMemory();
    await service.submitBulk({ id: 'g' }, jobs(3));
    await work(dead('down'));
    const redrive = store.deadLetters.redrive.bind(store.deadLetters);
    let steps = 0;
    // Each step moves one, and what was moved dies before the next.
    Object.assign(store.deadLetters, {
      redrive: async (filter: object) => {
        steps += 1;
        const { moved } = await redrive(filter, 1);
        await work(dead('down'));
        return { moved, more: true };
      },
    });
    expect(await deadLetters.redrive({ all: true })).toBe(3);
    expect(steps).toBe(3);
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['an empty selection', {}],
    ['values that happen to be undefined', { groupId: undefined, signature: undefined }],
    ['a namespace alone', { tenant: 'acme' }],
    ['all: false', { all: false }],
    ['all and a group', { all: true, groupId: 'a' }],
    ['all and a signature', { all: true, signature: DOWN }],
    ['a job without its group', { jobId: 'j1' }],
    ['an empty signature', { signature: '' }],
    ['a list', ['a']],
  ])('bulk-action BA-8: %s is refused and moves nothing', async (_, selection) => {
    const { service, deadLetters } = await withDeadLetters();
    for (const move of ['redrive', 'purge'] as const)
      await expect(deadLetters[move](selection as never)).rejects.toMatchObject(
        code('OPTION_INVALID', { message: expect.stringMatching(new RegExp(`^${move}: `)) }),
      );
    expect(await service.getQueues()).toMatchObject({ deadLetters: 5, lane: 0 });
  });

  it('refuses wrong ids and unknown keys', async () => {
    const { deadLetters } = await withDeadLetters();
    await expect(deadLetters.redrive({ groupId: 'a b' })).rejects.toMatchObject(code('ID_INVALID'));
    await expect(deadLetters.redrive({ groupId: 'a', jobId: 'a/b' })).rejects.toMatchObject(
      code('ID_INVALID'),
    );
    await expect(deadLetters.purge({ signatur: DOWN } as never)).rejects.toMatchObject(
      code('OPTION_UNKNOWN', { message: expect.stringContaining("did you mean 'signature'?") }),
    );
    await expect(deadLetters.list({ all: true } as never)).rejects.toMatchObject(code('OPTION_UNKNOWN'));
    await expect(deadLetters.list({ tenant: 5 as never })).rejects.toMatchObject(code('ID_INVALID'));
    await expect(deadLetters.list({}, { limit: 1001 })).rejects.toMatchObject(code('OPTION_INVALID'));
    await expect(deadLetters.signatures({}, { limit: 0 })).rejects.toMatchObject(code('OPTION_INVALID'));
  });
});
