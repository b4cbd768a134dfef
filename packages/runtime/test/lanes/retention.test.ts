import { collectGarbage, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { describe, expect, it } from 'vitest';
import { brief, collect, Steps, startManager } from './tools.js';

leakCheck();

const notFound = expect.objectContaining({ code: 'TASK_NOT_FOUND' });

describe('runtime RT-8: stored results', () => {
  it('runtime RT-8: an ended task is kept for the TTL counted from its end, whichever way it ended', async () => {
    const steps = new Steps();
    const { tasks, clock } = await startManager<string, void>((name) => steps.run(name), {
      resultTtlMs: 60_000,
      cleanupIntervalMs: 1_000_000,
    });
    const ids: string[] = [];
    for (const name of ['completes', 'fails', 'cancelled'])
      ids.push((await tasks.enqueue({ key: name, input: name })).id);
    await clock.advance(500_000);
    steps.finish('completes');
    steps.finish('fails', new Error('no'));
    tasks.cancel(ids[2] ?? '');
    await clock.advance(59_999);
    expect(ids.map((id) => tasks.status(id).status)).toEqual(['COMPLETED', 'FAILED', 'CANCELLED']);
    await clock.advance(1);
    for (const id of ids) expect(() => tasks.status(id)).toThrow(notFound);
    expect(tasks.stats.stored).toBe(0);
    steps.finish('cancelled');
  });

  it('runtime RT-8: the clean-up timer frees expired tasks that nobody asks for', async () => {
    let finalized = 0;
    const registry = new FinalizationRegistry(() => finalized++);
    const { tasks, clock } = await startManager<object, object>(async (input) => input, {
      resultTtlMs: 1000,
      cleanupIntervalMs: 500,
    });
    await (async () => {
      const input = {};
      registry.register(input, undefined);
      await tasks.enqueue({ key: 'a', input });
    })();
    await clock.advance(1500);
    const collected = () => {
      collectGarbage();
      return finalized === 1;
    };
    await until(collected, { what: 'the stored value to be freed' });
  });

  it('runtime RT-8: a wall clock that jumps expires nothing', async () => {
    const { tasks, clock, settle } = await startManager<null, void>(async () => {}, { resultTtlMs: 60_000 });
    const { id } = await tasks.enqueue({ key: 'a', input: null });
    await settle();
    clock.jump(86_400_000);
    expect(tasks.status(id).status).toBe('COMPLETED');
  });

  it('runtime RT-8: at most maxStored are kept, the oldest end goes first; what runs is never evicted', async () => {
    const steps = new Steps();
    const { tasks, settle } = await startManager<string, void>((name) => steps.run(name), {
      maxStored: 2,
      maxWorkers: 8,
    });
    const ids = new Map<string, string>();
    for (const name of ['first', 'second', 'third', 'fourth'])
      ids.set(name, (await tasks.enqueue({ key: name, input: name })).id);
    await settle();
    const id = (name: string) => ids.get(name) ?? '';
    for (const name of ['third', 'second', 'fourth']) {
      steps.finish(name);
      await settle();
    }
    expect(() => tasks.status(id('third'))).toThrow(notFound);
    expect(tasks.status(id('second')).status).toBe('COMPLETED');
    expect(tasks.status(id('fourth')).status).toBe('COMPLETED');
    expect(tasks.status(id('first')).status).toBe('RUNNING');
    steps.finish('first');
    await settle();
    expect(() => tasks.status(id('second'))).toThrow(notFound);
    expect(tasks.status(id('first')).status).toBe('COMPLETED');
  });

  it('runtime RT-8: a reader that is there when its task is evicted reads to the end', async () => {
    const { tasks, clock, settle } = await startManager<null, string>(async () => 'kept', {
      resultTtlMs: 1000,
    });
    const { id } = await tasks.enqueue({ key: 'a', input: null });
    await settle();
    const reader = tasks.stream(id);
    await reader.next();
    await clock.advance(2000);
    expect(() => tasks.stream(id)).toThrow(notFound);
    expect(brief(await collect(reader))).toBe('1:kept 2:done');
  });

  it('runtime RT-8: nothing stored is allowed', async () => {
    const { tasks, settle } = await startManager<null, void>(async () => {}, { maxStored: 0 });
    const { id } = await tasks.enqueue({ key: 'a', input: null });
    const reader = collect(tasks.stream(id));
    await settle();
    expect(() => tasks.status(id)).toThrow(notFound);
    expect(brief(await reader)).toBe('0:start 1:done');
  });
});
