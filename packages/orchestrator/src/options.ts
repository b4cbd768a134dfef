import {
  booleanOption,
  type Clock,
  durationOption,
  integerOption,
  type Logger,
  numberOption,
  type OptionRules,
  type OptionSpec,
  objectOption,
  oneOfOption,
  type PartialOptions,
  processName,
  type Rng,
  resolveOptions,
  sectionOption,
  silentLogger,
  systemClock,
  systemRng,
  textOption,
} from '@millrace/foundation';
import type { Executor, OperationStore } from './ports.js';

/** How long callers may wait. */
export interface TimeBudgetOptions {
  /** The shortest budget: a shorter one is refused (`TIME_BUDGET_OUT_OF_RANGE`), one of `Prefer: wait` raised to it. */
  readonly minMs: number;
  /** The longest budget: a longer one is refused, one of `Prefer: wait` lowered to it. */
  readonly maxMs: number;
  /** Of a caller who names none. */
  readonly defaultMs: number;
}

/** How often and how long a work is tried. */
export interface TryOptions {
  /** Longest run of a try, unless its route says another. */
  readonly maxProcessingMs: number;
  /** Tries after the first one, unless the route says another number. */
  readonly maxRetries: number;
  /** The first delay of a retry; the n-th is 2^(n−1) times that, up to the most. */
  readonly backoffBaseMs: number;
  /** The longest delay of a retry. */
  readonly backoffMaxMs: number;
  /** Share of a delay that is added at random. */
  readonly backoffJitter: number;
}

/** How operations without an owner are run. */
export interface WorkerOptions {
  /** Whether this instance does it; without, it runs only what it accepted itself. */
  readonly enabled: boolean;
  /** How often operations that are due are looked for. */
  readonly pollIntervalMs: number;
  /** Operations claimed at once. */
  readonly batchSize: number;
  /** Operations that run here at once, of those without an owner. */
  readonly concurrency: number;
}

/** What an orchestrator works with. */
export interface ResolvedOrchestratorOptions {
  /** Does the work: a RouteExecutor, or one of your own. */
  readonly executor: Executor;
  /** Where operations are kept. */
  readonly store: OperationStore;
  readonly timeBudget: TimeBudgetOptions;
  /** How often an executor without `onSettled` is asked. */
  readonly pollingIntervalMs: number;
  /** `attach`: a repeated key waits for its operation. `strict`: it is refused while that runs. */
  readonly idempotency: 'attach' | 'strict';
  /** How long a key is kept. */
  readonly idempotencyTtlMs: number;
  /** How long operations are kept after they have ended; 0: for ever. */
  readonly retentionMs: number;
  /** Status URLs are `statusBasePath/OPID/status`. */
  readonly statusBasePath: string;
  /** Of a command’s payload, as JSON. */
  readonly payloadBytesMax: number;
  /** Of the data of an Ok, as JSON, or of the cause of a Fail, which is left out when it is larger; messages are not in it. */
  readonly outcomeBytesMax: number;
  /** How long an instance may be silent until its operations are given to others. */
  readonly leaseMs: number;
  /** How often leases are extended; a third of leaseMs unless given. */
  readonly heartbeatMs: number;
  /** How often an operation may be refused by its route's protection until it fails. */
  readonly refusalsMax: number;
  readonly worker: WorkerOptions;
  /** How often cancellations that had to be passed on are finished. */
  readonly finalizerIntervalMs: number;
  /** How often operations of silent instances are looked for. */
  readonly reaperIntervalMs: number;
  /** How often work behind operations is looked at, and operations that somebody waits for here. */
  readonly watchIntervalMs: number;
  /** How often operations of other instances are looked at that somebody waits for here. */
  readonly waitPollIntervalMs: number;
  /** How long work may go on at stop. */
  readonly gracePeriodMs: number;
  /** Names this instance to others. */
  readonly owner: string;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
}

/** What an orchestrator is made of; `executor` and `store` are needed. */
export type OrchestratorOptions = Pick<ResolvedOrchestratorOptions, 'executor' | 'store'> & {
  readonly [K in Exclude<keyof ResolvedOrchestratorOptions, 'executor' | 'store' | 'timeBudget' | 'worker'>]?:
    | ResolvedOrchestratorOptions[K]
    | undefined;
} & {
  readonly timeBudget?: PartialOptions<TimeBudgetOptions> | undefined;
  readonly worker?: PartialOptions<WorkerOptions> | undefined;
};

const DAY_MS = 86_400_000;

/** The defaults of tries. */
export const TRY_DEFAULTS = {
  maxProcessingMs: 30_000,
  maxRetries: 3,
  backoffBaseMs: 1_000,
  backoffMaxMs: 300_000,
  backoffJitter: 0.1,
} as const satisfies TryOptions;

/** The defaults. */
export const ORCHESTRATOR_DEFAULTS = {
  timeBudget: { minMs: 50, maxMs: 5_000, defaultMs: 200 },
  pollingIntervalMs: 10,
  idempotency: 'attach',
  idempotencyTtlMs: DAY_MS,
  retentionMs: DAY_MS,
  statusBasePath: '/api/operations',
  payloadBytesMax: 1_048_576,
  outcomeBytesMax: 1_048_576,
  leaseMs: 30_000,
  refusalsMax: 100,
  worker: {
    enabled: true,
    pollIntervalMs: 100,
    batchSize: 10,
    concurrency: 5,
  },
  finalizerIntervalMs: 5_000,
  reaperIntervalMs: 30_000,
  watchIntervalMs: 1_000,
  waitPollIntervalMs: 100,
  gracePeriodMs: 10_000,
  clock: systemClock,
  logger: silentLogger,
} as const satisfies Partial<ResolvedOrchestratorOptions>;

const TIMER_MAX_MS = 2 ** 31 - 1;
const duration = durationOption({ min: 1, max: TIMER_MAX_MS });
const bytes = integerOption({ min: 1, max: 64 * 1024 * 1024 });
/** A hundred years. */
const KEPT_MAX_MS = 36_525 * DAY_MS;

/** The rules of tries, for whoever has them among its options. */
export const TRY_RULES: OptionRules<TryOptions> = {
  maxProcessingMs: duration,
  maxRetries: integerOption({ min: 0, max: 1_000 }),
  backoffBaseMs: durationOption({ min: 0, max: DAY_MS }),
  backoffMaxMs: durationOption({ min: 0, max: DAY_MS }),
  backoffJitter: numberOption({ min: 0, max: 1 }),
};

const SPEC: OptionSpec<ResolvedOrchestratorOptions> = {
  owner: 'Orchestrator',
  // A default that nothing accepts: these two must be given.
  defaults: { ...ORCHESTRATOR_DEFAULTS, executor: undefined, store: undefined } as never,
  rules: {
    executor: objectOption('an Executor', 'execute', 'getState', 'getOutcome'),
    store: objectOption('an OperationStore', 'runs', 'repairs', 'views', 'notices'),
    timeBudget: sectionOption<TimeBudgetOptions>({ minMs: duration, maxMs: duration, defaultMs: duration }),
    pollingIntervalMs: duration,
    idempotency: oneOfOption('attach', 'strict'),
    idempotencyTtlMs: durationOption({ min: 1, max: KEPT_MAX_MS }),
    retentionMs: durationOption({ min: 0, max: KEPT_MAX_MS }),
    statusBasePath: textOption({ min: 1, max: 1_000 }),
    payloadBytesMax: bytes,
    outcomeBytesMax: bytes,
    leaseMs: durationOption({ min: 100, max: DAY_MS }),
    heartbeatMs: duration,
    refusalsMax: integerOption({ min: 1, max: 1_000_000 }),
    worker: sectionOption<WorkerOptions>({
      enabled: booleanOption(),
      pollIntervalMs: duration,
      batchSize: integerOption({ min: 1, max: 1_000 }),
      concurrency: integerOption({ min: 1, max: 10_000 }),
    }),
    finalizerIntervalMs: duration,
    reaperIntervalMs: duration,
    watchIntervalMs: duration,
    waitPollIntervalMs: duration,
    gracePeriodMs: durationOption({ min: 0, max: TIMER_MAX_MS }),
    owner: textOption({ min: 1, max: 300 }),
    clock: objectOption('a Clock', 'now', 'monotonicMs', 'setTimer'),
    rng: objectOption('an Rng', 'next', 'integer'),
    logger: objectOption('a Logger', 'debug', 'info', 'warn', 'error', 'child'),
  },
  relations: [
    {
      option: 'heartbeatMs',
      expected: 'less than half of leaseMs',
      holds: ({ heartbeatMs, leaseMs }) => heartbeatMs < leaseMs / 2,
    },
    {
      option: 'timeBudget',
      expected: 'minMs ≤ defaultMs ≤ maxMs',
      holds: ({ timeBudget: { minMs, defaultMs, maxMs } }) => minMs <= defaultMs && defaultMs <= maxMs,
    },
    {
      option: 'retentionMs',
      expected: '0, or at least idempotencyTtlMs: a key is kept with its operation',
      holds: ({ retentionMs, idempotencyTtlMs }) => retentionMs === 0 || retentionMs >= idempotencyTtlMs,
    },
  ],
};

/**
 * Completes the options of an orchestrator.
 * @returns the resolved options, frozen.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function resolveOrchestratorOptions(given: OrchestratorOptions): ResolvedOrchestratorOptions {
  const rng = given.rng ?? systemRng();
  const leaseMs = given.leaseMs ?? ORCHESTRATOR_DEFAULTS.leaseMs;
  return resolveOptions(SPEC, {
    ...given,
    rng,
    heartbeatMs: given.heartbeatMs ?? Math.max(1, Math.floor(leaseMs / 3)),
    owner: given.owner ?? `${processName()}/${rng.integer(0, 2 ** 32 - 1).toString(36)}`,
  } as PartialOptions<ResolvedOrchestratorOptions>);
}
