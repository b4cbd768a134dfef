import { setImmediate as turn } from 'node:timers/promises';
import { isAbortError } from '@millrace/async-utils';
import { seededRng } from '@millrace/foundation';
import { latch, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  resolveThreadPoolConfig,
  THREAD_POOL_DEFAULTS,
  type ThreadPoolConfig,
} from '../../src/threads/options.js';
import { currentTaskSignal, type TaskFuture } from '../../src/threads/task.js';
import { ThreadPool } from '../../src/threads/thread-pool.js';
import { add, countIn, sharedCells } from './tasks.js';

leakCheck();

const cancelled = { code: 'TASK_CANCELLED', status: 410 };

/** A function task that a test starts and ends by hand. */
function gate() {
  const begun = latch('the task has begun');
  const opened = latch<string>('the gate is open');
  const task = async () => {
    begun.open();
    return opened.promise;
  };
  return { task, begun, open: () => opened.open('through') };
}

describe('functions', () => {
  it('runtime RT-4: submit gives a native promise with id and status that carries the result', async () => {
    await using pool = new ThreadPool({ name: 'sums' });
    const future = pool.submit(async (a: number, b: number) => a + b, 2, 3);
    expectTypeOf(future).toEqualTypeOf<TaskFuture<number>>();
    expect(future).toBeInstanceOf(Promise);
    expect([future.id, future.status]).toEqual(['sums-1', 'QUEUED']);
    expect(await future).toBe(5);
    expect(future.status).toBe('COMPLETED');
    expect(await future.then((sum) => sum * 2)).toBe(10);
    expect(future.cancel()).toBe(false);
    expect(pool.submit(() => 1).id).toBe('sums-2');
  });

  it('runtime RT-4: what a function throws is what its future rejects with', async () => {
    await using pool = new ThreadPool();
    const error = new TypeError('bad');
    const later = pool.submit(async () => Promise.reject(error));
    const atOnce = pool.submit(() => {
      throw error;
    });
    await expect(later).rejects.toBe(error);
    await expect(atOnce).rejects.toBe(error);
    expect([later.status, atOnce.status]).toEqual(['FAILED', 'FAILED']);
  });

  it('runtime RT-4: at most maxWorkers run, the others wait in order', async () => {
    await using pool = new ThreadPool({ maxWorkers: 2 });
    const order: number[] = [];
    const gates = Array.from({ length: 4 }, gate);
    const futures = gates.map(({ task }, index) =>
      pool.submit(async () => {
        order.push(index);
        return task();
      }),
    );
    await gates[1]?.begun.wait();
    expect(futures.map(({ status }) => status)).toEqual(['RUNNING', 'RUNNING', 'QUEUED', 'QUEUED']);
    gates[1]?.open();
    await gates[2]?.begun.wait();
    expect(order).toEqual([0, 1, 2]);
    for (const { open } of gates) open();
    await Promise.all(futures);
    expect(order).toEqual([0, 1, 2, 3]);
  });

  it('runtime RT-4: over queueMaxSize waiting tasks submit refuses, and takes tasks again later', async () => {
    await using pool = new ThreadPool({ maxWorkers: 1, queueMaxSize: 1, name: 'small' });
    const { task, begun, open } = gate();
    const running = pool.submit(task);
    await begun.wait();
    const waiting = pool.submit(() => 'waited');
    const refused = pool.submit(() => 'never');
    await expect(refused).rejects.toMatchObject({ code: 'QUEUE_FULL', status: 429 });
    expect(refused.status).toBe('FAILED');
    open();
    expect(await Promise.all([running, waiting])).toEqual(['through', 'waited']);
    expect(await pool.submit(() => 'again')).toBe('again');
  });

  it('runtime RT-4: what is no task rejects with a message that says what is', async () => {
    await using pool = new ThreadPool();
    await expect(pool.submit('resize' as unknown as () => void)).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringMatching(/must be a function.*threadTask.*got resize/),
    });
  });
});

describe('cancel', () => {
  it('runtime RT-4: a queued task never starts', async () => {
    await using pool = new ThreadPool({ maxWorkers: 1 });
    const { task, begun, open } = gate();
    const running = pool.submit(task);
    await begun.wait();
    let started = false;
    const queued = pool.submit(() => {
      started = true;
    });
    const atOnce = pool.submit(() => {
      started = true;
    });
    expect([queued.cancel(), atOnce.cancel()]).toEqual([true, true]);
    expect(queued.status).toBe('CANCELLED');
    await expect(queued).rejects.toMatchObject(cancelled);
    open();
    await running;
    await pool.shutdown();
    expect(started).toBe(false);
    expect(queued.cancel()).toBe(false);
  });

  it('runtime RT-4: a task cancelled in the same turn never starts, even on a free worker', async () => {
    await using pool = new ThreadPool();
    let started = false;
    const future = pool.submit(() => {
      started = true;
    });
    expect(future.cancel()).toBe(true);
    await expect(future).rejects.toMatchObject(cancelled);
    await pool.shutdown();
    expect(started).toBe(false);
  });

  it('runtime RT-4: a running function sees its signal abort and keeps its worker until it ends', async () => {
    await using pool = new ThreadPool({ maxWorkers: 1 });
    const begun = latch<AbortSignal | undefined>('begun');
    const { task: cleanUp, begun: cleaning, open } = gate();
    const future = pool.submit(async () => {
      await turn();
      begun.open(currentTaskSignal());
      await until(() => currentTaskSignal()?.aborted, { what: 'the abort' });
      return cleanUp();
    });
    const next = pool.submit(() => 'next');
    const signal = await begun.wait();
    expect(signal?.aborted).toBe(false);
    expect(future.cancel()).toBe(true);
    await expect(future).rejects.toMatchObject(cancelled);
    expect(signal?.reason).toMatchObject(cancelled);
    await cleaning.wait();
    expect([future.status, next.status]).toEqual(['CANCELLED', 'QUEUED']);
    open();
    expect(await next).toBe('next');
    expect(future.status).toBe('CANCELLED');
  });

  it('runtime RT-4: there is no task signal outside a task, and each task has its own', async () => {
    await using pool = new ThreadPool();
    expect(currentTaskSignal()).toBeUndefined();
    const [one, other] = await Promise.all([pool.submit(currentTaskSignal), pool.submit(currentTaskSignal)]);
    expect(one).toBeInstanceOf(AbortSignal);
    expect(other).not.toBe(one);
  });

  it('runtime RT-4: a cancelled task nobody awaits is no unhandled rejection, a failed one is', async () => {
    const unhandled: unknown[] = [];
    const listeners = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    const note = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      const pool = new ThreadPool({ maxWorkers: 1 });
      const { task, begun } = gate();
      pool.submit(task);
      pool.submit(task).cancel();
      pool.submit(task);
      await begun.wait();
      await pool.shutdown({ wait: false });
      await turn();
      expect(unhandled).toEqual([]);
      pool.submit(task);
      await until(() => unhandled.length > 0, { what: 'the unhandled rejection' });
      expect(unhandled).toMatchObject([{ code: 'POOL_CLOSED' }]);
    } finally {
      process.off('unhandledRejection', note);
      for (const listener of listeners) process.on('unhandledRejection', listener);
    }
  });
});

describe('shutdown', () => {
  it('runtime RT-4: with wait lets queued and running tasks finish and takes no more', async () => {
    const pool = new ThreadPool({ maxWorkers: 1, name: 'closing' });
    const { task, begun, open } = gate();
    const futures = [pool.submit(task), pool.submit(() => 'second'), pool.submit(add, 1, 2)];
    await begun.wait();
    const closing = pool.shutdown();
    expect(pool.shutdown({ wait: true })).toBe(closing);
    const late = pool.submit(() => 'late');
    await expect(late).rejects.toMatchObject({
      code: 'POOL_CLOSED',
      message: 'The thread pool closing is shut down and takes no more tasks',
    });
    expect(late.status).toBe('FAILED');
    open();
    await closing;
    expect(futures.map(({ status }) => status)).toEqual(['COMPLETED', 'COMPLETED', 'COMPLETED']);
    expect(await Promise.all(futures)).toEqual(['through', 'second', 3]);
    expect(pool.shutdown()).toBe(closing);
  });

  it('runtime RT-4: without wait cancels what is queued and aborts what runs', async () => {
    const pool = new ThreadPool({ maxWorkers: 1 });
    const begun = latch<AbortSignal | undefined>('begun');
    let queuedStarted = false;
    const running = pool.submit(async () => {
      begun.open(currentTaskSignal());
      await new Promise(() => {});
    });
    const queued = pool.submit(() => {
      queuedStarted = true;
    });
    const signal = await begun.wait();
    await pool.shutdown({ wait: false });
    expect(signal?.aborted).toBe(true);
    expect([running.status, queued.status, queuedStarted]).toEqual(['CANCELLED', 'CANCELLED', false]);
    await expect(running).rejects.toMatchObject(cancelled);
    await expect(queued).rejects.toSatisfy((error) => !isAbortError(error));
  });

  it('runtime RT-4: a second shutdown without wait ends a first one that waits', async () => {
    const pool = new ThreadPool({ maxWorkers: 1 });
    const never = pool.submit(() => new Promise<never>(() => {}));
    const waiting = pool.shutdown();
    expect(pool.shutdown({ wait: false })).toBe(waiting);
    await waiting;
    expect(never.status).toBe('CANCELLED');
  });

  it('runtime RT-4: await using closes the pool when its work has ended', async () => {
    let outer: ThreadPool;
    let future: TaskFuture<string>;
    {
      await using pool = new ThreadPool();
      outer = pool;
      future = pool.submit(async () => {
        await turn();
        return 'done';
      });
    }
    expect(future.status).toBe('COMPLETED');
    await expect(outer.submit(() => 1)).rejects.toMatchObject({ code: 'POOL_CLOSED' });
  });
});

describe('options', () => {
  it('runtime RT-4: defaults are filled in and frozen', () => {
    expect(resolveThreadPoolConfig()).toEqual({
      maxWorkers: 4,
      name: 'thread-pool',
      queueMaxSize: 0,
      resourceLimits: {},
    });
    const resolved = resolveThreadPoolConfig({ resourceLimits: { maxOldGenerationSizeMb: 32 } });
    expect(Object.isFrozen(resolved) && Object.isFrozen(resolved.resourceLimits)).toBe(true);
    expect(Object.isFrozen(THREAD_POOL_DEFAULTS)).toBe(true);
  });

  it.each([
    [{ maxWorkers: 0 }, /ThreadPool: maxWorkers must be an integer ≥ 1, got 0/],
    [{ maxworkers: 2 }, /no option 'maxworkers'; did you mean 'maxWorkers'/],
    [{ name: '' }, /name must be a text/],
    [
      { resourceLimits: { maxOldGenerationSizeMB: 1 } },
      /did you mean 'resourceLimits.maxOldGenerationSizeMb'/,
    ],
  ])('runtime RT-4: %j is refused with what was expected', (config, message) => {
    expect(() => new ThreadPool(config as ThreadPoolConfig)).toThrow(message);
  });

  it('runtime RT-4: a shutdown option that is wrong is refused and the pool stays open', async () => {
    await using pool = new ThreadPool();
    expect(() => pool.shutdown({ wait: 'no' as unknown as boolean })).toThrow(/wait must be true or false/);
    expect(await pool.submit(() => 'open')).toBe('open');
  });
});

describe('many', () => {
  it.each([1, 7])('runtime RT-4: 1,000 mixed tasks never exceed maxWorkers (seed %i)', async (seed) => {
    const rng = seededRng(seed);
    const maxWorkers = rng.integer(2, 4);
    const pool = new ThreadPool({ maxWorkers });
    const { memory, first, second } = sharedCells();
    const { countIn: countHere } = await import('./fixtures/work.mjs');
    const futures = Array.from({ length: 1_000 }, () => {
      const turns = rng.integer(0, 3);
      if (rng.chance(0.3)) return pool.submit(countIn, memory, turns);
      const fails = rng.chance(0.2);
      return pool.submit(async () => {
        await countHere(memory, turns);
        if (fails) throw new Error('planned');
        return turns;
      });
    });
    const cancelledOnes = futures.filter(() => rng.chance(0.1)).filter((future) => future.cancel());
    await Promise.allSettled(futures);
    expect(second()).toBe(maxWorkers);
    expect(first()).toBe(0);
    const count = (status: string) => futures.filter((future) => future.status === status).length;
    expect(count('CANCELLED')).toBe(cancelledOnes.length);
    expect(count('COMPLETED') + count('FAILED') + count('CANCELLED')).toBe(1_000);
    await pool.shutdown();
  });
});
