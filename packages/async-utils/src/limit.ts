import { abortable, abortError, refuseAborted } from './abort.js';
import { checkBoolean, checkFunction, refuse } from './checks.js';
import { AbortError } from './errors.js';
import { type AsyncHooks, observed, silence } from './hooks.js';
import { PRIORITY_MAX, Slots } from './slots.js';

/** Options of `pLimit` and `limitFunction`. */
export interface LimitOptions extends Pick<AsyncHooks, 'onSuccess' | 'onError'> {
  /** Maximum number of tasks that run at once: an integer from 1, or Infinity. */
  concurrency: number;
  /** Priority of tasks without their own, 0 to 10 (5). */
  priority?: number | undefined;
  /** True makes `clearQueue` reject waiting tasks with an AbortError (false). Otherwise their promises stay pending. */
  rejectOnClear?: boolean | undefined;
}

/** Options of one task. */
export interface TaskOptions {
  /** 0 to 10, larger first (the priority of the limit). */
  priority?: number | undefined;
  /** Removes a waiting task from the queue; frees the caller of a running one. */
  signal?: AbortSignal | undefined;
}

/** Runs functions under one limit. Made by `pLimit`. */
export interface LimitFunction {
  /** Runs `fn(...args)` as soon as a slot is free, and returns its outcome. */
  <A extends unknown[], T>(fn: (...args: A) => PromiseLike<T> | T, ...args: A): Promise<T>;
  /** The same with a priority and a signal, which is passed on to `fn`. */
  run<T>(fn: (signal: AbortSignal | undefined) => PromiseLike<T> | T, options?: TaskOptions): Promise<T>;
  /** Runs `fn(item, index)` for all items under the limit. Results are in order; the first failure rejects. */
  map<I, T>(
    items: Iterable<I>,
    fn: (item: I, index: number) => PromiseLike<T> | T,
    options?: TaskOptions,
  ): Promise<T[]>;
  /** Drops all waiting tasks. Running ones go on. */
  clearQueue(): void;
  /** Resolves when no task runs or waits. */
  onIdle(): Promise<void>;
  /** Number of running tasks. A task whose caller aborted counts until it has ended. */
  readonly activeCount: number;
  /** Number of waiting tasks. */
  readonly pendingCount: number;
  /** The limit. Raising it starts the waiting tasks that now fit; lowering it lets the running ones finish. */
  concurrency: number;
}

/**
 * Makes a function that runs at most `concurrency` tasks at once. Users of p-limit 7 change only the import.
 * @throws TypeError for a concurrency that is not an integer from 1 or Infinity, RangeError for an invalid priority.
 */
export function pLimit(options: number | LimitOptions): LimitFunction {
  const settings: LimitOptions =
    typeof options === 'object' && options ? options : { concurrency: options as number };
  const { priority: usualPriority = 5, rejectOnClear = false, onSuccess, onError } = settings;
  const slots = new Slots(settings.concurrency);
  checkPriority(usualPriority);
  checkBoolean('rejectOnClear', rejectOnClear);
  const hooks = onSuccess || onError ? { onSuccess, onError } : undefined;

  const limit = <A extends unknown[], T>(fn: (...args: A) => PromiseLike<T> | T, ...args: A) =>
    perform(slots, hooks, fn, args, usualPriority);

  const run: LimitFunction['run'] = (fn, given = {}) => {
    const { priority = usualPriority, signal } = given;
    return signal
      ? performUnder(slots, hooks, signal, fn, priority)
      : perform(slots, hooks, fn, [signal], priority);
  };

  const members: Omit<LimitFunction, 'activeCount' | 'pendingCount' | 'concurrency'> = {
    run,
    map: (items, fn, given) =>
      mapped(items, given?.signal, (item, index) =>
        given ? run(() => fn(item, index), given) : limit(fn, item, index),
      ),
    clearQueue: () => slots.clear(rejectOnClear ? new AbortError('The queue was cleared') : undefined),
    onIdle: () => slots.onIdle(),
  };

  return Object.defineProperties(Object.assign(limit, members), {
    activeCount: { get: () => slots.taken },
    pendingCount: { get: () => slots.waiting },
    concurrency: {
      get: () => slots.concurrency,
      set(value: number) {
        slots.concurrency = value;
      },
    },
  }) as LimitFunction;
}

/** The fast path of every task. `ownsSlot` is true if the caller has already waited for a slot. */
async function perform<A extends unknown[], T>(
  slots: Slots,
  hooks: AsyncHooks | undefined,
  fn: (...args: A) => PromiseLike<T> | T,
  args: A,
  priority: number,
  ownsSlot = false,
): Promise<T> {
  if (!ownsSlot) {
    checkFunction('fn', fn);
    checkPriority(priority);
    await slots.take(priority);
  }
  try {
    return await (hooks ? observed(hooks, one, async () => fn(...args)) : fn(...args));
  } finally {
    slots.release();
  }
}

/** Runs a task whose caller may abort. This frees the caller at once; the slot stays taken until the work has ended. */
async function performUnder<T>(
  slots: Slots,
  hooks: AsyncHooks | undefined,
  signal: AbortSignal,
  fn: (signal: AbortSignal) => PromiseLike<T> | T,
  priority: number,
): Promise<T> {
  checkFunction('fn', fn);
  checkPriority(priority);
  refuseAborted(signal);
  await slots.take(priority, signal);
  if (signal.aborted) {
    slots.release();
    throw abortError(signal);
  }
  return abortable(() => perform(slots, hooks, fn, [signal], priority, true), signal);
}

async function mapped<I, T>(
  items: Iterable<I>,
  signal: AbortSignal | undefined,
  start: (item: I, index: number) => Promise<T>,
): Promise<T[]> {
  refuseAborted(signal);
  const tasks: Promise<T>[] = [];
  try {
    let index = 0;
    for (const item of items) tasks.push(start(item, index++));
  } catch (error) {
    // The iterable failed: tasks that were accepted still run, but nothing waits for them.
    for (const task of tasks) silence(task);
    throw error;
  }
  return Promise.all(tasks);
}

/**
 * Wraps one function in its own limit. `this` and the arguments are kept.
 * @throws TypeError or RangeError for invalid options, as `pLimit`.
 */
export function limitFunction<A extends unknown[], T>(
  fn: (...args: A) => PromiseLike<T> | T,
  options: LimitOptions,
): ((...args: A) => Promise<T>) & Pick<LimitFunction, 'clearQueue'> {
  checkFunction('fn', fn);
  const limit = pLimit(options);
  return Object.assign(
    function (this: unknown, ...args: A) {
      return limit(() => fn.apply(this, args));
    },
    { clearQueue: limit.clearQueue },
  );
}

const one = () => 1;

function checkPriority(priority: unknown): void {
  if (!(Number.isInteger(priority) && (priority as number) >= 0 && (priority as number) <= PRIORITY_MAX))
    refuse('priority', `an integer from 0 to ${PRIORITY_MAX}`, priority);
}
