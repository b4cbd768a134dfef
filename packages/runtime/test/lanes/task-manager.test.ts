import { getEventListeners } from 'node:events';
import { leakCheck } from '@millrace/testkit/vitest';
import { describe, expect, it } from 'vitest';
import { TaskManager } from '../../src/lanes/task-manager.js';
import { brief, collect, Steps, startManager } from './tools.js';

leakCheck();

const stepped = async (config = {}) => {
  const steps = new Steps();
  return { steps, ...(await startManager<string, void>((name) => steps.run(name), config)) };
};

describe('runtime RT-5: lanes', () => {
  it('runtime RT-5: tasks of one key run in the order they were accepted and never overlap', async () => {
    const { steps, tasks, settle } = await stepped();
    for (const input of ['a1', 'a2', 'a3']) await tasks.enqueue({ key: 'a', input });
    await settle();
    expect(steps.started).toEqual(['a1']);
    steps.finish('a1');
    await settle();
    expect(steps.started).toEqual(['a1', 'a2']);
    steps.finish('a2', new Error('a failure does not stop the lane'));
    await settle();
    expect(steps.started).toEqual(['a1', 'a2', 'a3']);
    steps.finish('a3');
    await settle();
    expect(tasks.stats).toEqual({ queued: 0, active: 0, stored: 3, lanes: 0 });
  });

  it('runtime RT-5: different keys run in parallel up to maxWorkers', async () => {
    const { steps, tasks, settle } = await stepped({ maxWorkers: 2 });
    for (const key of ['a', 'b', 'c']) await tasks.enqueue({ key, input: key });
    await settle();
    expect(steps.started).toEqual(['a', 'b']);
    steps.finish('b');
    await settle();
    expect(steps.started).toEqual(['a', 'b', 'c']);
    steps.finish('a');
    steps.finish('c');
  });

  it('runtime RT-5: a task that waits for its lane is QUEUED and takes no worker', async () => {
    const { steps, tasks, settle } = await stepped({ maxWorkers: 2 });
    await tasks.enqueue({ key: 'a', input: 'a1' });
    const behind = await tasks.enqueue({ key: 'a', input: 'a2' });
    await tasks.enqueue({ key: 'b', input: 'b1' });
    await settle();
    expect(steps.started).toEqual(['a1', 'b1']);
    expect(tasks.status(behind.id).status).toBe('QUEUED');
    expect(tasks.status(behind.id)).not.toHaveProperty('startedAt');
    steps.finish('a1');
    await settle();
    expect(tasks.status(behind.id)).toMatchObject({ status: 'RUNNING', startedAt: expect.any(Date) });
    for (const name of ['a2', 'b1']) steps.finish(name);
  });

  it('runtime RT-5: a busy key goes to the back, so others get their turn', async () => {
    const { steps, tasks, settle } = await stepped({ maxWorkers: 1 });
    for (const input of ['a1', 'a2', 'a3']) await tasks.enqueue({ key: 'a', input });
    await tasks.enqueue({ key: 'b', input: 'b1' });
    for (const name of ['a1', 'b1', 'a2', 'a3']) {
      await settle();
      steps.finish(name);
    }
    expect(steps.ended).toEqual(['a1', 'b1', 'a2', 'a3']);
  });

  it('runtime RT-5: accepts before start and begins with start', async () => {
    const seen: string[] = [];
    await using tasks = new TaskManager<string>(async (input) => {
      seen.push(input);
    });
    const { id } = await tasks.enqueue({ key: 'a', input: 'early' });
    expect(tasks.status(id).status).toBe('QUEUED');
    await tasks.start();
    expect(brief(await collect(tasks.stream(id)))).toBe('0:start 1:done');
    expect(seen).toEqual(['early']);
  });

  it('gives out snapshots: what a caller does to one changes nothing', async () => {
    const { tasks, steps, settle, clock } = await stepped();
    const view = await tasks.enqueue({ key: 'a', input: 'a' });
    view.queuedAt.setTime(0);
    await settle();
    expect(view.status).toBe('QUEUED');
    expect(tasks.status(view.id).queuedAt).toEqual(new Date(clock.now()));
    steps.finish('a');
  });

  it('tells a task of its signal, its try, its key to recognise repeats, and its deadline', async () => {
    const deadline = new Date(Date.UTC(2030, 0, 1));
    const { tasks, settle } = await startManager<null, unknown>((_, context) => ({
      ...context,
      aborted: context.signal.aborted,
    }));
    const { id } = await tasks.enqueue({ key: 'a', input: null, deadline });
    await settle();
    expect(tasks.result(id).value).toMatchObject({
      attempt: 1,
      idempotencyKey: id,
      deadline,
      aborted: false,
    });
  });

  it('a task whose deadline has passed fails without being started', async () => {
    const { steps, tasks, clock, settle } = await stepped();
    await tasks.enqueue({ key: 'a', input: 'a1' });
    const { id } = await tasks.enqueue({ key: 'a', input: 'a2', deadline: new Date(clock.now() + 1000) });
    await clock.advance(1000);
    steps.finish('a1');
    await settle();
    expect(steps.started).toEqual(['a1']);
    expect(tasks.status(id).status).toBe('FAILED');
    expect(brief(await collect(tasks.stream(id)))).toBe('0:start 1!DEADLINE_EXCEEDED');
  });

  it('refuses bad calls before anything happens', async () => {
    const { tasks } = await stepped();
    await expect(tasks.enqueue({ key: '', input: 'x' })).rejects.toMatchObject({ code: 'OPTION_INVALID' });
    const aborted = AbortSignal.abort(new Error('no longer wanted'));
    await expect(tasks.enqueue({ key: 'a', input: 'x', signal: aborted })).rejects.toMatchObject({
      code: 'ABORTED',
    });
    expect(tasks.stats).toEqual({ queued: 0, active: 0, stored: 0, lanes: 0 });
    for (const call of ['status', 'result', 'cancel', 'stream'] as const) {
      expect(() => tasks[call]('nobody')).toThrow(expect.objectContaining({ code: 'TASK_NOT_FOUND' }));
    }
    expect(() => new TaskManager(undefined as never)).toThrow('the handler must be a function');
    expect(() => new TaskManager(async () => {}, { maxWorker: 3 } as never)).toThrow(
      "did you mean 'maxWorkers'",
    );
  });

  it('gives the result with its value; TASK_PENDING before, TASK_FAILED with the cause', async () => {
    const { tasks, settle } = await startManager(async (input: string) => {
      if (input === 'fails') throw new Error('out of paper');
      return { pages: 3 };
    });
    const good = await tasks.enqueue({ key: 'a', input: 'works' });
    expect(() => tasks.result(good.id)).toThrow(expect.objectContaining({ code: 'TASK_PENDING' }));
    const bad = await tasks.enqueue({ key: 'b', input: 'fails' });
    await settle();
    expect(tasks.result(good.id)).toMatchObject({ status: 'COMPLETED', text: '', value: { pages: 3 } });
    expect(() => tasks.result(bad.id)).toThrow(
      expect.objectContaining({ code: 'TASK_FAILED', cause: new Error('out of paper') }),
    );
    expect(brief(await collect(tasks.stream(bad.id)))).toBe('0:start 1!HANDLER_FAILED');
  });
});

describe('runtime RT-5: cancel', () => {
  it('runtime RT-5: a queued task never starts, and its lane goes on', async () => {
    const { steps, tasks, settle } = await stepped();
    const [, second] = await Promise.all(
      ['a1', 'a2', 'a3'].map((input) => tasks.enqueue({ key: 'a', input })),
    );
    const id = second?.id ?? '';
    await settle();
    expect(tasks.cancel(id).status).toBe('CANCELLED');
    expect(tasks.cancel(id).status).toBe('CANCELLED');
    steps.finish('a1');
    await settle();
    expect(steps.started).toEqual(['a1', 'a3']);
    expect(() => tasks.result(id)).toThrow(expect.objectContaining({ code: 'TASK_CANCELLED' }));
    expect(brief(await collect(tasks.stream(id)))).toBe('0:start 1!TASK_CANCELLED');
    steps.finish('a3');
  });

  it('runtime RT-5: a running task is CANCELLED at once, but its lane waits for a handler that ignores the signal', async () => {
    const { steps, tasks, settle } = await stepped();
    const first = await tasks.enqueue({ key: 'a', input: 'a1' });
    await tasks.enqueue({ key: 'a', input: 'a2' });
    await settle();
    expect(tasks.cancel(first.id).status).toBe('CANCELLED');
    await settle();
    expect(steps.started).toEqual(['a1']);
    expect(tasks.stats.active).toBe(1);
    steps.finish('a1');
    await settle();
    expect(steps.started).toEqual(['a1', 'a2']);
    expect(tasks.status(first.id).status).toBe('CANCELLED');
    steps.finish('a2');
  });

  it('runtime RT-5: the signal aborts with the reason; a generator is left through its finally', async () => {
    const seen: unknown[] = [];
    const { tasks, clock } = await startManager<null, void>(async function* (_, { signal }) {
      signal.addEventListener('abort', () => seen.push(signal.reason.code));
      try {
        for (;;) {
          yield 'x';
          await new Promise<void>((resolve) => clock.setTimer(10, resolve));
        }
      } finally {
        seen.push('cleaned up');
      }
    });
    const { id } = await tasks.enqueue({ key: 'a', input: null });
    await clock.advance(25);
    expect(tasks.status(id).status).toBe('STREAMING');
    tasks.cancel(id);
    expect(seen).toEqual(['TASK_CANCELLED']);
    await clock.advance(10);
    expect(seen).toEqual(['TASK_CANCELLED', 'cleaned up']);
    expect(tasks.stats.active).toBe(0);
    expect(brief(await collect(tasks.stream(id)))).toBe('0:start 1:x 2:x 3:x 4!TASK_CANCELLED');
  });

  it("runtime RT-5: the caller's signal cancels, queued or running, and keeps no listener after the end", async () => {
    const { steps, tasks, settle } = await stepped();
    const wanted = new AbortController();
    const { signal } = wanted;
    const done = await tasks.enqueue({ key: 'x', input: 'x', signal });
    await settle();
    steps.finish('x');
    await settle();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    const ids = await Promise.all(
      ['a1', 'a2'].map(async (input) => (await tasks.enqueue({ key: 'a', input, signal })).id),
    );
    await settle();
    wanted.abort();
    expect(ids.map((id) => tasks.status(id).status)).toEqual(['CANCELLED', 'CANCELLED']);
    expect(tasks.status(done.id).status).toBe('COMPLETED');
    steps.finish('a1');
    await settle();
    expect(steps.started).toEqual(['x', 'a1']);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('runtime RT-5: cancelled tasks leave nothing in the run queue, however many there were', async () => {
    const { steps, tasks, settle } = await stepped({ maxWorkers: 1, queueMaxSize: 3 });
    await tasks.enqueue({ key: 'busy', input: 'busy' });
    await settle();
    for (let round = 0; round < 100; round++) {
      const views = await Promise.all(
        [0, 1, 2].map((n) => tasks.enqueue({ key: `k${round}-${n}`, input: `k${round}-${n}` })),
      );
      for (const { id } of views) tasks.cancel(id);
    }
    await tasks.enqueue({ key: 'last', input: 'last' });
    expect(tasks.stats).toMatchObject({ queued: 1, active: 1, lanes: 2 });
    steps.finish('busy');
    await settle();
    expect(steps.started).toEqual(['busy', 'last']);
    steps.finish('last');
  });
});

describe('runtime RT-5: stop', () => {
  it('runtime RT-5: cancels what is queued, lets what runs finish, ends the readers, refuses what comes', async () => {
    const { steps, tasks, settle } = await stepped();
    const running = await tasks.enqueue({ key: 'a', input: 'a1' });
    const queued = await tasks.enqueue({ key: 'a', input: 'a2' });
    await settle();
    const readers = [running, queued].map(({ id }) => collect(tasks.stream(id)));
    const stopped = tasks.stop();
    expect(tasks.stop()).toBe(stopped);
    expect(tasks.status(queued.id).status).toBe('CANCELLED');
    await expect(tasks.enqueue({ key: 'b', input: 'b' })).rejects.toMatchObject({ code: 'QUEUE_CLOSED' });
    await settle();
    steps.finish('a1');
    await stopped;
    expect(tasks.status(running.id).status).toBe('COMPLETED');
    expect((await Promise.all(readers)).map(brief)).toEqual(['0:start 1:done', '0:start 1!TASK_CANCELLED']);
  });

  it('runtime RT-5: cancels after stopGraceMs and leaves behind a handler that does not end', async () => {
    const { steps, tasks, clock, settle } = await stepped({ stopGraceMs: 1000, abortGraceMs: 500 });
    const { id } = await tasks.enqueue({ key: 'a', input: 'deaf' });
    await settle();
    let ended = false;
    const stopped = tasks.stop().then(() => {
      ended = true;
    });
    await clock.advance(999);
    expect(tasks.status(id).status).toBe('RUNNING');
    await clock.advance(1);
    expect(tasks.status(id).status).toBe('CANCELLED');
    await clock.advance(499);
    expect(ended).toBe(false);
    await clock.advance(1);
    await stopped;
    expect(clock.pendingTimers).toBe(0);
    expect(tasks.status(id).status).toBe('CANCELLED');
    steps.finish('deaf');
  });

  it('runtime RT-5: is safe before start; await using stops', async () => {
    const tasks = new TaskManager<null>(async () => {});
    const { id } = await tasks.enqueue({ key: 'a', input: null });
    await tasks.stop();
    expect(tasks.status(id).status).toBe('CANCELLED');
    await expect(tasks.start()).rejects.toMatchObject({ code: 'SERVICE_STOPPED' });
  });
});
