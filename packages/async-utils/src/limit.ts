import { abortable, abortError, refuseAborted } from './abort.js';
import { checkFunction, refuse } from './checks.js';
import { AbortError, describe } from './errors.js';
import { type AsyncHooks, observed, silence } from './hooks.js';
import { PRIORITY_MAX } from './priority-queue.js';
import { Slots } from './slots.js';

/** Options of `pLimit` and `limitFunction`. */
export interface LimitOptions extends Pick<AsyncHooks, 'onSuccess' | 'onError'> {
  /** How many tasks may run at once: an integer from 1, or Infinity. */
  concurrency: number;
  /** Priority of tasks that give none, 0 to 10 (5). */
  priority?: number | undefined;
  /** True makes `clearQueue` reject what waited with an AbortError; else those promises stay pending (false). */
  rejectOnClear?: boolean | undefined;
}

/** Options of one task. */
export interface TaskOptions {
  /** 0 to 10, larger first (the limit's own, which is 5 by default). */
  priority?: number | undefined;
  /** Takes a waiting task out of the queue; frees the caller of a running one. */
  signal?: AbortSignal | undefined;
}

/** Runs functions under one limit; made by `pLimit`. */
export interface LimitFunction {
  /** Runs `fn(...args)` as soon as a slot is free and gives its outcome. */
  <A extends unknown[], T>(fn: (...args: A) => PromiseLike<T> | T, ...args: A): Promise<T>;
  /** The same with a priority and a signal, which is passed on to `fn`. */
  run<T>(fn: (signal: AbortSignal | undefined) => PromiseLike<T> | T, options?: TaskOptions): Promise<T>;
  /** Runs `fn(item, index)` for all items under the limit; results in order, the first failure rejects. */
  map<I, T>(
    items: Iterable<I>,
    fn: (item: I, index: number) => PromiseLike<T> | T,
    options?: TaskOptions,
  ): Promise<T[]>;
  /** Drops everything that waits; what runs goes on. */
  clearQueue(): void;
  /** Resolves when nothing runs and nothing waits. */
  onIdle(): Promise<void>;
  /** How many tasks run; a task whose caller aborted counts until it has really ended. */
  readonly activeCount: number;
  /** How many tasks wait. */
  readonly pendingCount: number;
  /** The limit; setting it higher starts what now fits, lower lets the running ones finish. */
  concurrency: number;
}

/**
 * Makes a function that runs at most `concurrency` tasks at once.
 * @returns a LimitFunction; p-limit 7 users change only the import.
 * @throws TypeError for a concurrency that is not an integer from 1 or Infinity, RangeError for a bad priority.
 */
export function pLimit(options: number | LimitOptions): LimitFunction {
  const settings: LimitOptions =
    typeof options === 'object' && options ? options : { concurrency: options as number };
  const { priority: usualPriority = 5, rejectOnClear = false, onSuccess, onError } = settings;
  const slots = new Slots(settings.concurrency);
  checkPriority(usualPriority);
  if (typeof rejectOnClear !== 'boolean')
    throw new TypeError(`rejectOnClear must be a boolean, got ${describe(rejectOnClear)}`);
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

type Hooks = Pick<AsyncHooks, 'onSuccess' | 'onError'> | undefined;

/** The fast path of every task; `ownsSlot` when the caller has already waited for one. */
async function perform<A extends unknown[], T>(
  slots: Slots,
  hooks: Hooks,
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

/** An abort frees the caller at once; the slot stays taken until the work has really ended. */
async function performUnder<T>(
  slots: Slots,
  hooks: Hooks,
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
  task: (item: I, index: number) => Promise<T>,
): Promise<T[]> {
  refuseAborted(signal);
  const tasks: Promise<T>[] = [];
  try {
    let index = 0;
    for (const item of items) tasks.push(task(item, index++));
  } catch (error) {
    // The items themselves failed: what was already accepted still runs, but nobody waits for it.
    for (const one of tasks) silence(one);
    throw error;
  }
  return Promise.all(tasks);
}

/**
 * Wraps one function in a limit of its own.
 * @param fn - the function; its `this` and arguments are kept.
 * @returns a function that runs at most `concurrency` calls at once, with `clearQueue`.
 * @throws TypeError or RangeError for bad options, as `pLimit`.
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
