import { ERRORS } from '@millrace/foundation';
import type { TaskFuture } from './task.js';
import { isThreadTask, type ThreadTask } from './thread-task.js';

/** What a pool runs: a function, on the event loop, or a declared thread task. */
export type PoolTask<This, A extends unknown[], R> = ((this: This, ...args: A) => R) | ThreadTask<A, R>;

/** Makes calls into submissions: of a function, of a thread task, or as a method decorator of either system. */
export interface TaskWrapper {
  /**
   * Wraps a function or a thread task.
   * @param task - what a call submits; a function keeps the `this` of the call.
   * @returns a function with the same arguments that gives a TaskFuture.
   * @throws MillraceError `OPTION_INVALID` for anything else.
   */
  <This, A extends unknown[], R>(
    task: PoolTask<This, A, R>,
  ): (this: This, ...args: A) => TaskFuture<Awaited<R>>;
  /** As a standard decorator, `@pool.task`; for methods that return promises. */
  <T extends (...args: never[]) => PromiseLike<unknown>>(method: T, context: ClassMethodDecoratorContext): T;
  /** As a legacy decorator (`experimentalDecorators`), `@pool.task`; for methods that return promises. */
  <T extends (...args: never[]) => PromiseLike<unknown>>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<T>,
  ): void;
}

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;
type Submit = (task: AnyFunction | ThreadTask, self: unknown, args: unknown[]) => TaskFuture<unknown>;

/** The `task` of a pool; needs no `this`, so that it can stand as a decorator. */
export function taskWrapper(submit: Submit): TaskWrapper {
  const wrap = (task: AnyFunction | ThreadTask): AnyFunction => {
    const submitting: AnyFunction = function (this: unknown, ...args) {
      return submit(task, this, args);
    };
    return typeof task === 'function' ? impersonate(submitting, task) : submitting;
  };
  const task = (target: unknown, at?: PropertyKey | DecoratorContext, descriptor?: PropertyDescriptor) => {
    if (typeof descriptor?.value === 'function') {
      descriptor.value = wrap(descriptor.value);
      return undefined;
    }
    const standard = typeof at === 'object' ? at : undefined;
    const fits = standard ? standard.kind === 'method' : at === undefined;
    if (!fits || !isPoolTask(target)) throw notATask('ThreadPool.task', standard?.kind ?? target);
    return wrap(target);
  };
  return task as TaskWrapper;
}

/** Whether a pool can run it. */
export const isPoolTask = (task: unknown): task is AnyFunction | ThreadTask =>
  typeof task === 'function' || isThreadTask(task);

/** The error for something that a pool cannot run. */
export const notATask = (owner: string, given: unknown) =>
  ERRORS.create('OPTION_INVALID', {
    owner,
    option: 'the task',
    expected: 'a function, a method, or what threadTask() returns',
    given,
  });

/** The part of reflect-metadata used here; absent unless the program loads it. */
interface Metadata {
  getOwnMetadataKeys?(target: object): unknown[];
  getOwnMetadata(key: unknown, target: object): unknown;
  defineMetadata(key: unknown, value: unknown, target: object): void;
}

/** Same name, length, properties and metadata: other decorators of the method must not notice the wrapper. */
function impersonate(wrapper: AnyFunction, original: AnyFunction): AnyFunction {
  Object.defineProperties(wrapper, Object.getOwnPropertyDescriptors(original));
  const metadata = Reflect as unknown as Metadata;
  for (const key of metadata.getOwnMetadataKeys?.(original) ?? [])
    metadata.defineMetadata(key, metadata.getOwnMetadata(key, original), wrapper);
  return wrapper;
}
