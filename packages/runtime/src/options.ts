import {
  anyOption,
  type BackoffStrategy,
  booleanOption,
  durationOption,
  functionOption,
  integerOption,
  type OptionRule,
  type OptionRules,
  type OptionSpec,
  objectOption,
  oneOfOption,
  resolveOptions,
  textOption,
} from '@millrace/foundation';
import type { QueueItem } from './model.js';
import type { QueueWaitOptions } from './ports.js';

/** How a queue is made; every key may be left out. */
export interface QueueConfig {
  /** For messages and logs (`'queue'`). */
  readonly name?: string | undefined;
  /** How many items may wait (0: any number). */
  readonly maxSize?: number | undefined;
  /** How long `put` and `get` wait when they are given no `timeoutMs` (for ever). */
  readonly defaultTimeoutMs?: number | undefined;
}

/** A QueueConfig with its defaults in place, frozen. */
export interface ResolvedQueueConfig {
  readonly name: string;
  readonly maxSize: number;
  /** Absent: for ever. */
  readonly defaultTimeoutMs?: number;
}

/** The defaults of QueueConfig. */
export const QUEUE_DEFAULTS = Object.freeze({ name: 'queue', maxSize: 0 });

const QUEUE_RULES: OptionRules<ResolvedQueueConfig> = {
  name: textOption(),
  maxSize: integerOption({ min: 0 }),
  defaultTimeoutMs: durationOption(),
};

/**
 * Completes and checks the configuration of a queue.
 * @returns the configuration, frozen.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export const resolveQueueConfig = (config: QueueConfig = {}, owner = 'Queue'): ResolvedQueueConfig =>
  resolveOptions<ResolvedQueueConfig>({ owner, defaults: QUEUE_DEFAULTS, rules: QUEUE_RULES }, config);

/** How a worker works; every key may be left out. */
export interface WorkerConfig<T = unknown> {
  /** For messages and logs (`'worker'`). */
  readonly name?: string | undefined;
  /** How many items are handled at once (1). */
  readonly concurrency?: number | undefined;
  /** How long one look into an empty queue lasts (1000); `stop` never waits for it. */
  readonly pollTimeoutMs?: number | undefined;
  /** Tries of an item after its first one (0). */
  readonly maxRetries?: number | undefined;
  /** How long to wait before the next try (`'exponential'`: 100 ms, ×2, at most 10 s). */
  readonly backoff?: BackoffStrategy | undefined;
  /** True ends the worker with the first item that fails for good (false). */
  readonly stopOnError?: boolean | undefined;
  /** Told of every item that failed for good, with what its last try threw; awaited, and may throw. */
  readonly onError?: ((item: QueueItem<T>, error: unknown) => unknown) | undefined;
}

/** A WorkerConfig with its defaults in place, frozen. */
export interface ResolvedWorkerConfig<T = unknown> {
  readonly name: string;
  readonly concurrency: number;
  readonly pollTimeoutMs: number;
  readonly maxRetries: number;
  readonly backoff: BackoffStrategy;
  readonly stopOnError: boolean;
  readonly onError?: (item: QueueItem<T>, error: unknown) => unknown;
}

/** The defaults of WorkerConfig. */
export const WORKER_DEFAULTS = Object.freeze({
  name: 'worker',
  concurrency: 1,
  pollTimeoutMs: 1000,
  maxRetries: 0,
  backoff: 'exponential',
  stopOnError: false,
} as const);

const WORKER_RULES: OptionRules<ResolvedWorkerConfig> = {
  name: textOption(),
  concurrency: integerOption({ min: 1 }),
  // Not 0: looking into an empty queue without ever waiting would leave no turn for anything else.
  pollTimeoutMs: durationOption({ min: 1 }),
  maxRetries: integerOption({ min: 0 }),
  backoff: anyOption(oneOfOption('exponential', 'linear'), functionOption()),
  stopOnError: booleanOption(),
  onError: functionOption(),
};

/**
 * Completes and checks the configuration of a worker.
 * @returns the configuration, frozen.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export const resolveWorkerConfig = <T = unknown>(
  config: WorkerConfig<T> = {},
  owner = 'Worker',
): ResolvedWorkerConfig<T> =>
  resolveOptions<ResolvedWorkerConfig<T>>(
    { owner, defaults: WORKER_DEFAULTS, rules: WORKER_RULES },
    config as ResolvedWorkerConfig<T>,
  );

const WAIT_RULES: Readonly<Record<string, OptionRule>> & OptionRules<Required<QueueWaitOptions>> = {
  timeoutMs: {
    expected: 'a number of milliseconds ≥ 0, or Infinity',
    accepts: (value) => typeof value === 'number' && value >= 0,
  },
  signal: objectOption('an AbortSignal', 'aborted', 'addEventListener'),
};

/**
 * Checks the options of one `put` or `get`; every queue calls it first.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function checkWaitOptions(owner: string, options: QueueWaitOptions | undefined): void {
  if (options === undefined) return;
  // Once per item: only what is wrong goes the long way, which makes the message.
  let sound = typeof options === 'object' && options !== null;
  for (const key in options) {
    const value = options[key as keyof QueueWaitOptions];
    sound &&= Object.hasOwn(WAIT_RULES, key) && (value === undefined || !!WAIT_RULES[key]?.accepts(value));
  }
  if (!sound) resolveOptions({ owner, defaults: {}, rules: WAIT_RULES } as OptionSpec<object>, options);
}
