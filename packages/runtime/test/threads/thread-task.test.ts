import { until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { describe, expect, expectTypeOf, it } from 'vitest';
import type { TaskFuture } from '../../src/threads/task.js';
import { ThreadPool } from '../../src/threads/thread-pool.js';
import { type ThreadTask, threadTask } from '../../src/threads/thread-task.js';
import { add, failing, giveFunction, greet, hold, loop, sharedCells, whereAmI, workUrl } from './tasks.js';

leakCheck();

const crashed = { code: 'THREAD_CRASHED', retryable: true };

describe('thread tasks', () => {
  it('runtime RT-4: run on another thread, which is kept for the next task', async () => {
    await using pool = new ThreadPool();
    const there = await pool.submit(whereAmI);
    expect(there).toBeGreaterThan(0);
    expect(await pool.submit(whereAmI)).toBe(there);
    expect(await pool.submit(greet, 'you')).toBe('hello you');
  });

  it('runtime RT-4: are typed by the named export of their module', async () => {
    type Work = typeof import('./fixtures/work.mjs');
    expectTypeOf(add).toEqualTypeOf<ThreadTask<[a: number, b: number], number>>();
    expectTypeOf(greet).toEqualTypeOf<ThreadTask<[name: string], string>>();
    // @ts-expect-error: the module exports no such function
    threadTask<Work>(workUrl, 'ad');
    // @ts-expect-error: version is no function
    threadTask<Work>(workUrl, 'version');
    expectTypeOf(threadTask<Work, 'add'>(workUrl, 'add')).toEqualTypeOf(add);

    await using pool = new ThreadPool();
    // @ts-expect-error: add takes numbers
    const wrong = pool.submit(add, 'a', 'b');
    expectTypeOf(pool.submit(add, 1, 2)).toEqualTypeOf<TaskFuture<number>>();
    expectTypeOf(pool.submit(greet, 'x')).toEqualTypeOf<TaskFuture<string>>();
    expectTypeOf(pool.task(greet)).returns.toEqualTypeOf<TaskFuture<string>>();
    expect(await wrong).toBe('ab');
  });

  it('runtime RT-4: a declaration that cannot be right is refused at once', () => {
    expect(() => threadTask('./work.mjs', 'add')).toThrow(/module must be a URL.*got \.\/work\.mjs/);
    expect(() => threadTask(workUrl, '')).toThrow(/name must be the name of an exported function/);
  });

  it('runtime RT-4: a module or function that is not there fails the task and not the thread', async () => {
    await using pool = new ThreadPool({ maxWorkers: 1 });
    const there = await pool.submit(whereAmI);
    await expect(pool.submit(threadTask(workUrl, 'missing'))).rejects.toThrow(
      /work\.mjs exports no function 'missing'; it exports add, /,
    );
    await expect(pool.submit(threadTask(new URL('./none.mjs', workUrl), 'x'))).rejects.toMatchObject({
      code: 'ERR_MODULE_NOT_FOUND',
    });
    await expect(pool.submit(threadTask(new URL('./broken.mjs', workUrl), 'x'))).rejects.toThrow(
      'this module does not load',
    );
    expect(await pool.submit(whereAmI)).toBe(there);
  });
});

describe('errors of a thread', () => {
  it('runtime RT-4: arrive with name, message, code, stack, own properties and cause', async () => {
    await using pool = new ThreadPool();
    const error = await pool.submit(failing('fail')).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: 'TenantError',
      message: 'no such tenant',
      code: 'TENANT_UNKNOWN',
      retryable: false,
      details: { tenant: 'acme' },
      stack: expect.stringContaining('failures.mjs'),
      cause: { name: 'RangeError', message: 'too deep', code: 'DEEP' },
    });
    expect(error).not.toHaveProperty('help');
    expect((error as Error).cause).toBeInstanceOf(RangeError);
  });

  it('runtime RT-4: keep the language’s own classes, survive circles, and need not be errors', async () => {
    await using pool = new ThreadPool();
    await expect(pool.submit(failing('failByType'))).rejects.toBeInstanceOf(TypeError);
    await expect(pool.submit(failing('failInCircle'))).rejects.toThrow('round');
    await expect(pool.submit(failing('failByText'))).rejects.toBe('just text');
    await expect(pool.submit(failing('failUnreadably'))).rejects.toMatch(/cannot be read/);
  });

  it('runtime RT-4: an argument or result that cannot be copied fails its task with a clear error', async () => {
    await using pool = new ThreadPool({ maxWorkers: 1 });
    const cause = { name: 'DataCloneError' };
    await expect(pool.submit(failing('exit'), () => 0)).rejects.toMatchObject({
      code: 'TASK_FAILED',
      message: expect.stringMatching(/must be data, and \(\) => 0 could not be cloned/),
      cause,
    });
    await expect(pool.submit(giveFunction)).rejects.toMatchObject({
      code: 'TASK_FAILED',
      message: expect.stringContaining('could not be cloned'),
      cause,
    });
    expect(await pool.submit(add, 1, 2)).toBe(3);
  });
});

describe('a crashing thread', () => {
  const crashes: [name: string, args: unknown[], cause: object | null, limits?: object][] = [
    ['exit', [0], { message: expect.stringContaining('exited with code: 0') }],
    ['exit', [7], { message: expect.stringContaining('exited with code: 7') }],
    ['uncaught', ['out of range'], { name: 'RangeError', message: 'out of range' }],
    ['uncaughtNull', [], null],
    ['uncaughtAbort', [], { name: 'AbortError', message: 'This operation was aborted' }],
    ['leaveRejection', [], { message: 'left behind' }],
    ['exhaustMemory', [], { code: 'ERR_WORKER_OUT_OF_MEMORY' }, { maxOldGenerationSizeMb: 16 }],
  ];

  it.each(crashes)(
    'runtime RT-4: by %s(%j) fails only its own task and is replaced',
    async (name, args, cause, resourceLimits = {}) => {
      await using pool = new ThreadPool({ maxWorkers: 2, resourceLimits });
      const { memory, begun, release } = sharedCells();
      const other = pool.submit(hold, memory);
      await begun();
      const bad = pool.submit(failing(name), ...args);
      const queued = pool.submit(add, 20, 22);
      await expect(bad).rejects.toMatchObject({ ...crashed, cause });
      expect(bad.status).toBe('FAILED');
      expect(await queued).toBe(42);
      release();
      expect(await other).toBe('released');
    },
  );

  it('runtime RT-4: that cannot even start fails its task instead of letting it wait', async () => {
    await using pool = new ThreadPool({ maxWorkers: 1, resourceLimits: { maxOldGenerationSizeMb: 1 } });
    await expect(pool.submit(add, 1, 2)).rejects.toMatchObject(crashed);
    expect(await pool.submit(() => 'still working')).toBe('still working');
  });

  it('runtime RT-4: never makes its task run twice', async () => {
    await using pool = new ThreadPool({ maxWorkers: 1 });
    const { memory, first } = sharedCells();
    await pool.submit(add, 1, 2);
    // A request that could not be sent must not make the next one look as if it had not begun.
    await expect(pool.submit(failing('exit'), () => 0)).rejects.toMatchObject({ code: 'TASK_FAILED' });
    await expect(pool.submit(failing('countAndExit'), memory)).rejects.toMatchObject(crashed);
    expect(first()).toBe(1);
  });

  it('runtime RT-4: by what a task left behind harms no later task, even before the pool knows', async () => {
    await using pool = new ThreadPool({ maxWorkers: 1 });
    const there = await pool.submit(whereAmI);
    const { memory } = sharedCells();
    expect(await pool.submit(failing('leaveTimer'), memory)).toBe('done');
    // Blocks this thread: the other one dies, and the pool has no chance to hear of it before the next submit.
    const cells = new Int32Array(memory);
    Atomics.wait(cells, 0, 0, 10_000);
    Atomics.wait(cells, 1, 0, 200);
    expect(await pool.submit(whereAmI)).not.toBe(there);
  });
});

describe('cancelling a thread task', () => {
  it('runtime RT-4: ends an endless loop with its thread, harms nobody, and then frees the worker', async () => {
    await using pool = new ThreadPool({ maxWorkers: 2 });
    const looping = sharedCells();
    const held = sharedCells();
    const other = pool.submit(hold, held.memory);
    const endless = pool.submit(loop, looping.memory);
    await Promise.all([looping.begun(), held.begun()]);
    const next = pool.submit(() => looping.first());
    expect(endless.status).toBe('RUNNING');
    expect(endless.cancel()).toBe(true);
    await expect(endless).rejects.toMatchObject({ code: 'TASK_CANCELLED' });
    const countWhenFree = await next;
    expect(await pool.submit(add, 1, 1)).toBe(2);
    // The worker was given on only after the loop had really ended.
    expect(looping.first()).toBe(countWhenFree);
    expect(endless.status).toBe('CANCELLED');
    held.release();
    expect(await other).toBe('released');
  });

  it('runtime RT-4: while it is queued never starts it; when it has ended does nothing', async () => {
    await using pool = new ThreadPool({ maxWorkers: 1 });
    const running = sharedCells();
    const queued = sharedCells();
    const first = pool.submit(hold, running.memory);
    const second = pool.submit(hold, queued.memory);
    await running.begun();
    expect(second.cancel()).toBe(true);
    running.release();
    expect(await first).toBe('released');
    await expect(second).rejects.toMatchObject({ code: 'TASK_CANCELLED' });
    expect(first.cancel()).toBe(false);
    await pool.shutdown();
    expect(queued.first()).toBe(0);
  });

  it('runtime RT-4: while its thread is starting ends both', async () => {
    await using pool = new ThreadPool({ maxWorkers: 1 });
    const future = pool.submit(loop, sharedCells().memory);
    await until(() => future.status === 'RUNNING', { what: 'the task to leave the queue' });
    expect(future.cancel()).toBe(true);
    await expect(future).rejects.toMatchObject({ code: 'TASK_CANCELLED' });
    expect(await pool.submit(add, 1, 2)).toBe(3);
  });

  it('runtime RT-4: shutdown without wait terminates threads in endless loops', async () => {
    const pool = new ThreadPool({ maxWorkers: 1 });
    const { memory, begun, first } = sharedCells();
    const endless = pool.submit(loop, memory);
    const queued = pool.submit(add, 1, 2);
    await begun();
    await pool.shutdown({ wait: false });
    const count = first();
    expect([endless.status, queued.status]).toEqual(['CANCELLED', 'CANCELLED']);
    await Promise.allSettled([endless, queued]);
    expect(first()).toBe(count);
  });

  it('runtime RT-4: shutdown with wait lets threads finish what runs and what waits', async () => {
    const pool = new ThreadPool({ maxWorkers: 1 });
    const { memory, begun, release } = sharedCells();
    const futures = [pool.submit(hold, memory), pool.submit(add, 1, 2)];
    await begun();
    const closing = pool.shutdown();
    release();
    await closing;
    expect(await Promise.all(futures)).toEqual(['released', 3]);
  });
});
