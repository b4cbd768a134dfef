import type { ResourceLimits } from 'node:worker_threads';
import {
  booleanOption,
  integerOption,
  numberOption,
  type OptionSpec,
  type PartialOptions,
  resolveOptions,
  sectionOption,
  textOption,
} from '@millrace/foundation';

/** Options of a ThreadPool with every default filled in. */
export interface ResolvedThreadPoolConfig {
  /** How many tasks run at once, functions and thread tasks together; never more threads than this. */
  readonly maxWorkers: number;
  /** Stands in messages and at the start of every task's id. */
  readonly name: string;
  /** How many tasks may wait for a worker before `submit` refuses with `QUEUE_FULL`; 0 means any number. */
  readonly queueMaxSize: number;
  /** Memory of each thread, in megabytes; a thread that needs more crashes alone. Node's own limits unless given. */
  readonly resourceLimits: Readonly<ResourceLimits>;
}

/** Options of a ThreadPool; what is absent comes from THREAD_POOL_DEFAULTS. */
export type ThreadPoolConfig = PartialOptions<ResolvedThreadPoolConfig>;

/** The defaults of ThreadPoolConfig. */
export const THREAD_POOL_DEFAULTS: ResolvedThreadPoolConfig = Object.freeze({
  maxWorkers: 4,
  name: 'thread-pool',
  queueMaxSize: 0,
  resourceLimits: Object.freeze({}),
});

const megabytes = numberOption({ min: 0 });

const SPEC: OptionSpec<ResolvedThreadPoolConfig> = {
  owner: 'ThreadPool',
  defaults: THREAD_POOL_DEFAULTS,
  rules: {
    maxWorkers: integerOption({ min: 1 }),
    name: textOption(),
    queueMaxSize: integerOption({ min: 0 }),
    resourceLimits: sectionOption<Required<ResourceLimits>>({
      maxOldGenerationSizeMb: megabytes,
      maxYoungGenerationSizeMb: megabytes,
      codeRangeSizeMb: megabytes,
      stackSizeMb: megabytes,
    }),
  },
};

/**
 * Completes the options of a ThreadPool and refuses what is wrong.
 * @returns the resolved options, frozen.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export const resolveThreadPoolConfig = (given?: ThreadPoolConfig): ResolvedThreadPoolConfig =>
  resolveOptions(SPEC, given);

/** How `shutdown` treats the work that is still there. */
export interface ShutdownOptions {
  /** True lets queued and running tasks finish; false cancels them (true). */
  readonly wait?: boolean | undefined;
}

/** Completes the options of `shutdown`; refuses what is wrong like the constructor does. */
export const resolveShutdownOptions = (given?: ShutdownOptions): { readonly wait: boolean } =>
  resolveOptions<{ readonly wait: boolean }>(
    { owner: 'ThreadPool.shutdown', defaults: { wait: true }, rules: { wait: booleanOption() } },
    given,
  );
