import { leakCheck } from '@millrace/testkit/vitest';
import { transform } from 'esbuild';
import { describe, expect, expectTypeOf, it } from 'vitest';
import type { TaskFuture } from '../../src/threads/task.js';
import { ThreadPool } from '../../src/threads/thread-pool.js';
import { add } from './tasks.js';

leakCheck();

interface Counter {
  count: number;
  raise(by: number): TaskFuture<number>;
}

// Compiled here: TypeScript's settings, and so Vitest, know one decorator system at a time.
const SOURCE = `
  export function make(pool) {
    class Counter {
      count = 1;
      @pool.task
      async raise(by) { return (this.count += by); }
    }
    return Counter;
  }`;

async function counterClass(pool: ThreadPool, experimentalDecorators: boolean): Promise<new () => Counter> {
  const tsconfigRaw = { compilerOptions: { experimentalDecorators } };
  const { code } = await transform(SOURCE, { loader: 'ts', target: 'es2022', tsconfigRaw });
  const compiled = await import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(code)}`);
  return compiled.make(pool);
}

describe('pool.task', () => {
  it('runtime RT-4: makes calls of a function submissions, with its name, length and this', async () => {
    await using pool = new ThreadPool({ name: 'wrapped' });
    async function shout(this: { mark: string }, text: string) {
      return `${text}${this.mark}`;
    }
    const wrapped = pool.task(shout);
    expectTypeOf(wrapped).returns.toEqualTypeOf<TaskFuture<string>>();
    const future = wrapped.call({ mark: '!' }, 'hey');
    expect([future.id, future.status]).toEqual(['wrapped-1', 'QUEUED']);
    expect(await future).toBe('hey!');
    expect([wrapped.name, wrapped.length]).toEqual(['shout', 1]);
  });

  it('runtime RT-4: wraps a thread task too', async () => {
    await using pool = new ThreadPool();
    const sum = pool.task(add);
    expect(await sum(2, 3)).toBe(5);
  });

  it.each([
    ['legacy', true],
    ['standard', false],
  ])('runtime RT-4: is a %s method decorator that keeps this', async (_, experimental) => {
    const pool = new ThreadPool({ maxWorkers: 1 });
    const Counter = await counterClass(pool, experimental);
    const [one, other] = [new Counter(), new Counter()];
    const futures = [one.raise(1), one.raise(2), other.raise(5)];
    expect(futures.map(({ status }) => status)).toEqual(['QUEUED', 'QUEUED', 'QUEUED']);
    expect(await Promise.all(futures)).toEqual([2, 4, 6]);
    expect(Counter.prototype.raise.name).toBe('raise');
    await pool.shutdown();
    await expect(one.raise(1)).rejects.toMatchObject({ code: 'POOL_CLOSED' });
  });

  it('runtime RT-4: has the types of both decorator systems', async () => {
    await using pool = new ThreadPool();
    async function method(text: string) {
      return text.length;
    }
    const context = { kind: 'method', name: 'method' } as ClassMethodDecoratorContext;
    const standard = pool.task(method, context);
    expectTypeOf(standard).toEqualTypeOf(method);
    const descriptor: TypedPropertyDescriptor<typeof method> = { value: method };
    expectTypeOf(pool.task({}, 'method', descriptor)).toEqualTypeOf<void>();
    expect(await Promise.all([standard('four'), descriptor.value?.('three')])).toEqual([4, 5]);
  });

  it('runtime RT-4: refuses what is no task, and places where no method stands', async () => {
    await using pool = new ThreadPool();
    const task = pool.task as (...args: unknown[]) => unknown;
    expect(() => task('text')).toThrow(/ThreadPool\.task: the task must be a function.*got text/);
    expect(() => task(undefined, { kind: 'field', name: 'x' })).toThrow(/got field/);
    expect(() => task({}, 'x', { get: () => 1 })).toThrow(/must be a function, a method/);
  });
});
