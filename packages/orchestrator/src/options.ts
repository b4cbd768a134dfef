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

/** Limits and default of the time that a caller waits. */
export interface TimeBudgetOptions {
  /** Minimum budget. A shorter one is rejected with `TIME_BUDGET_OUT_OF_RANGE`, a shorter `Prefer: wait` is raised to it. */
  readonly minMs: number;
  /** Maximum budget. A longer one is rejected, a longer `Prefer: wait` is lowered to it. */
  readonly maxMs: number;
  /** Budget of a command that sets none. */
  readonly defaultMs: number;
}

/** Attempts and timeouts of the work. */
export interface AttemptOptions {
  /** Timeout of an attempt, unless its route sets one. */
  readonly maxProcessingMs: number;
  /** Maximum attempts after the first one, unless the route sets another number. */
  readonly maxRetries: number;
  /** Delay of the first retry. Each further one doubles it, up to `backoffMaxMs`. */
  readonly backoffBaseMs: number;
  /** Longest delay of a retry. */
  readonly backoffMaxMs: number;
  /** Maximum share of a delay that is added at random. */
  readonly backoffJitter: number;
}

/** Options of the worker, which runs due operations that have no owner. */
export interface WorkerOptions {
  /** Runs the worker in this instance. false: the instance runs only the commands that it accepted. */
  readonly enabled: boolean;
  /** Pause between two polls for due operations. */
  readonly pollIntervalMs: number;
  /** Maximum number of operations in a claim. */
  readonly batchSize: number;
  /** Maximum number of operations that the worker runs at the same time. */
  readonly concurrency: number;
}

/** The complete options of an orchestrator. */
export interface ResolvedOrchestratorOptions {
  /** Does the work: a RouteExecutor or one of your own. */
  readonly executor: Executor;
  /** Stores the operations. */
  readonly store: OperationStore;
  readonly timeBudget: TimeBudgetOptions;
  /** Pause between two polls of an executor without `onSettled`. */
  readonly pollingIntervalMs: number;
  /** `attach`: a repeated key waits for its operation. `strict`: it is rejected while the operation runs. */
  readonly idempotency: 'attach' | 'strict';
  /** Time for which a key is kept. */
  readonly idempotencyTtlMs: number;
  /** Time for which ended operations are kept. 0 keeps them without limit. */
  readonly retentionMs: number;
  /** Status URLs are `statusBasePath/OPID/status`. */
  readonly statusBasePath: string;
  /** Maximum size of a payload, as JSON. */
  readonly payloadBytesMax: number;
  /** Maximum size of the data of an `Ok` or the cause of a `Fail`, as JSON. A larger cause is left out. */
  readonly outcomeBytesMax: number;
  /** Time without an extension after which other instances may run the operations of an instance. */
  readonly leaseMs: number;
  /** Pause between two extensions of the leases (a third of leaseMs). */
  readonly heartbeatMs: number;
  /** Number of refusals by the protection of its route after which an operation fails. */
  readonly refusalsMax: number;
  readonly worker: WorkerOptions;
  /** Pause between two runs of the Finalizer, which ends cancelled operations with a backing. */
  readonly finalizerIntervalMs: number;
  /** Pause between two checks for expired leases. */
  readonly reaperIntervalMs: number;
  /** Pause between two checks of the work behind operations. */
  readonly watchIntervalMs: number;
  /** Pause between two polls for operations that callers of this instance wait for and other instances run. */
  readonly waitPollIntervalMs: number;
  /** Longest time for which `stop()` waits for running work. */
  readonly gracePeriodMs: number;
  /** Name of this instance in the store (host, pid and a random part). */
  readonly owner: string;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
}

/** Options of an orchestrator. `executor` and `store` are required. */
export type OrchestratorOptions = Pick<ResolvedOrchestratorOptions, 'executor' | 'store'> & {
  readonly [K in Exclude<keyof ResolvedOrchestratorOptions, 'executor' | 'store' | 'timeBudget' | 'worker'>]?:
    | ResolvedOrchestratorOptions[K]
    | undefined;
} & {
  readonly timeBudget?: PartialOptions<TimeBudgetOptions> | undefined;
  readonly worker?: PartialOptions<WorkerOptions> | undefined;
};

const DAY_MS = 86_400_000;

/** Defaults of `AttemptOptions`. */
export const ATTEMPT_DEFAULTS = {
  maxProcessingMs: 30_000,
  maxRetries: 3,
  backoffBaseMs: 1_000,
  backoffMaxMs: 300_000,
  backoffJitter: 0.1,
} as const satisfies AttemptOptions;

/** Defaults of an orchestrator. */
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

/** The rules of `AttemptOptions`. */
export const ATTEMPT_RULES: OptionRules<AttemptOptions> = {
  maxProcessingMs: duration,
  maxRetries: integerOption({ min: 0, max: 1_000 }),
  backoffBaseMs: durationOption({ min: 0, max: DAY_MS }),
  backoffMaxMs: durationOption({ min: 0, max: DAY_MS }),
  backoffJitter: numberOption({ min: 0, max: 1 }),
};

const SPEC: OptionSpec<ResolvedOrchestratorOptions> = {
  owner: 'Orchestrator',
  // No rule accepts undefined, so these two are required.
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
 * Validates the options of an orchestrator, completes and freezes them.
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
