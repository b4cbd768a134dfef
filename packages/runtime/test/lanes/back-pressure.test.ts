import { leakCheck } from '@millrace/testkit/vitest';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasRoom } from '../../src/lanes/lanes.js';
import { TaskManager } from '../../src/lanes/task-manager.js';
import { Steps, startManager } from './tools.js';

leakCheck();

describe('runtime RT-7: back-pressure', () => {
  it('runtime RT-7: a full queue refuses at once with QUEUE_FULL and keeps no trace of the task', async () => {
    const steps = new Steps();
    const { tasks, settle } = await startManager<string, void>((name) => steps.run(name), {
      maxWorkers: 1,
      queueMaxSize: 2,
    });
    await tasks.enqueue({ key: 'a', input: 'a1' });
    await settle();
    await tasks.enqueue({ key: 'a', input: 'a2' });
    const last = await tasks.enqueue({ key: 'b', input: 'b1' });
    const before = tasks.stats;
    for (const key of ['a', 'b', 'c']) {
      await expect(tasks.enqueue({ key, input: 'refused' })).rejects.toMatchObject({
        code: 'QUEUE_FULL',
        status: 429,
        retryable: true,
      });
    }
    expect(tasks.stats).toEqual(before);
    tasks.cancel(last.id);
    await tasks.enqueue({ key: 'c', input: 'c1' });
    for (const name of ['a1', 'c1', 'a2']) {
      await settle();
      steps.finish(name);
    }
    await settle();
    expect(steps.started).not.toContain('refused');
    expect(tasks.stats).toEqual({ queued: 0, active: 0, stored: 4, lanes: 0 });
  });

  it('runtime RT-7: tasks that wait for their lane count, though a worker is free', async () => {
    const steps = new Steps();
    const { tasks, settle } = await startManager<string, void>((name) => steps.run(name), {
      maxWorkers: 4,
      queueMaxSize: 1,
    });
    await tasks.enqueue({ key: 'a', input: 'a1' });
    await tasks.enqueue({ key: 'a', input: 'a2' });
    await expect(tasks.enqueue({ key: 'a', input: 'a3' })).rejects.toMatchObject({ code: 'QUEUE_FULL' });
    // Another lane needs no place in the queue: three workers are idle.
    await tasks.enqueue({ key: 'b', input: 'b1' });
    await settle();
    for (const name of ['a1', 'b1']) steps.finish(name);
    await settle();
    steps.finish('a2');
  });

  it('runtime RT-7: before start nothing is taken, so the queue fills', async () => {
    await using tasks = new TaskManager<null>(async () => {}, { queueMaxSize: 2, maxWorkers: 8 });
    for (const key of ['a', 'b']) await tasks.enqueue({ key, input: null });
    await expect(tasks.enqueue({ key: 'c', input: null })).rejects.toMatchObject({ code: 'QUEUE_FULL' });
  });

  it('runtime RT-7: never more wait than allowed, and a task that could start at once is never refused', () => {
    const small = fc.nat(6);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        small,
        small,
        small,
        fc.boolean(),
        (queueMaxSize, freeSlots, ready, behind, laneFree) => {
          const queued = ready + behind;
          const room = hasRoom({ queueMaxSize, freeSlots, ready, queued, laneFree });
          const startsAtOnce = laneFree && ready < freeSlots;
          const waiting = behind + Math.max(0, ready - freeSlots);
          expect(room).toBe(startsAtOnce || waiting < queueMaxSize);
        },
      ),
      { seed: 7, numRuns: 1000 },
    );
    expect(hasRoom({ queueMaxSize: 0, freeSlots: 0, ready: 9, queued: 1e6, laneFree: false })).toBe(true);
  });
});
