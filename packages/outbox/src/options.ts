import {
  booleanOption,
  type Clock,
  type CompleteOptions,
  durationOption,
  integerOption,
  type Logger,
  type OptionSpec,
  objectOption,
  processName,
  type Rng,
  resolveOptions,
  silentLogger,
  systemClock,
  systemRng,
  textOption,
} from '@millrace/foundation';
import { type Database, PG_DATABASE_DEFAULTS } from '@millrace/postgres';

/** Options of an outbox. */
export interface OutboxOptions {
  /** A PgDatabase or PgliteDatabase, which its owner stops. Its `poolSize` must be at least `concurrency` + 3. */
  readonly database: Database;
  /** Schema of its tables. */
  readonly schema?: string | undefined;
  /** True if this instance runs tasks. If false, it only starts and watches batches. */
  readonly poll?: boolean | undefined;
  /** Longest pause between two claims when no hint arrives. */
  readonly pollIntervalMs?: number | undefined;
  /** Maximum number of tasks that run here at once. */
  readonly concurrency?: number | undefined;
  /** Time without an extension after which other workers may claim the tasks of a worker. */
  readonly leaseMs?: number | undefined;
  /** Pause between two extensions of the leases (a third of leaseMs). */
  readonly heartbeatMs?: number | undefined;
  /** Number of times a task may be lost, with its worker or its connection, before it becomes a dead letter. */
  readonly lostMax?: number | undefined;
  /** Longest time for which `stop()` waits for running tasks. */
  readonly gracePeriodMs?: number | undefined;
  /** Time that completions of external tasks wait for others, to be stored together. */
  readonly completionDelayMs?: number | undefined;
  /** Maximum number of completions per statement. */
  readonly completionsMax?: number | undefined;
  /** Longest delay of a retry, also of one that RateLimitedError requests. */
  readonly backoffMaxMs?: number | undefined;
  /** Maximum number of tasks per batch. */
  readonly tasksPerBatchMax?: number | undefined;
  /** Time that batches are kept after their end. 0 keeps all of them. */
  readonly retentionMs?: number | undefined;
  /** Age of a transaction from which a warning is logged, because vacuum has to wait for it. */
  readonly oldTransactionWarnMs?: number | undefined;
  /** Maximum size of the payload of a batch, as JSON. */
  readonly payloadBytesMax?: number | undefined;
  /** Maximum size of the result of a task, as JSON. */
  readonly resultBytesMax?: number | undefined;
  /** Last part of this instance's worker_id, after host and process (random). */
  readonly instance?: string | undefined;
  readonly clock?: Clock | undefined;
  readonly rng?: Rng | undefined;
  readonly logger?: Logger | undefined;
}

/** The options with every default filled in. */
export type ResolvedOutboxOptions = CompleteOptions<OutboxOptions>;

/** The defaults. */
export const OUTBOX_DEFAULTS = {
  schema: 'millrace',
  poll: true,
  pollIntervalMs: 300,
  concurrency: 10,
  leaseMs: 30_000,
  lostMax: 10,
  gracePeriodMs: 10_000,
  completionDelayMs: 5,
  completionsMax: 100,
  backoffMaxMs: 300_000,
  tasksPerBatchMax: 200_000,
  retentionMs: 7 * 86_400_000,
  oldTransactionWarnMs: 300_000,
  payloadBytesMax: 262_144,
  resultBytesMax: 262_144,
  clock: systemClock,
  logger: silentLogger,
} as const satisfies Partial<ResolvedOutboxOptions>;

/** Connections besides those of the handlers: claims and completions, heartbeats, all else. */
const CONNECTIONS_BESIDE = 3;

/** Returns the pool size that a PgDatabase needs for an outbox: its default, or more. */
export const poolSizeFor = (concurrency: number = OUTBOX_DEFAULTS.concurrency): number =>
  Math.max(PG_DATABASE_DEFAULTS.poolSize, concurrency + CONNECTIONS_BESIDE);

/** A hundred years. */
const RETENTION_MAX_MS = 36_525 * 86_400_000;

const duration = durationOption({ min: 1, max: 2 ** 31 - 1 });
const count = integerOption({ min: 1, max: 1_000_000 });
const bytes = integerOption({ min: 1, max: 64 * 1024 * 1024 });

const SPEC: OptionSpec<ResolvedOutboxOptions> = {
  owner: 'Outbox',
  defaults: OUTBOX_DEFAULTS,
  rules: {
    database: objectOption('a Database', 'query', 'transaction', 'listen'),
    schema: textOption({ min: 1, max: 63 }),
    poll: booleanOption(),
    pollIntervalMs: duration,
    concurrency: integerOption({ min: 1, max: 1_000 }),
    leaseMs: durationOption({ min: 100, max: 86_400_000 }),
    heartbeatMs: duration,
    lostMax: integerOption({ min: 1, max: 1_000 }),
    gracePeriodMs: durationOption({ min: 0, max: 2 ** 31 - 1 }),
    completionDelayMs: durationOption({ min: 0, max: 1_000 }),
    completionsMax: integerOption({ min: 1, max: 1_000 }),
    backoffMaxMs: durationOption({ min: 1, max: 86_400_000 }),
    tasksPerBatchMax: count,
    retentionMs: durationOption({ min: 0, max: RETENTION_MAX_MS }),
    oldTransactionWarnMs: duration,
    payloadBytesMax: bytes,
    resultBytesMax: bytes,
    instance: textOption({ min: 1, max: 200 }),
    clock: objectOption('a Clock', 'now', 'monotonicMs', 'setTimer'),
    rng: objectOption('an Rng', 'next', 'integer'),
    logger: objectOption('a Logger', 'debug', 'info', 'warn', 'error'),
  },
  relations: [
    {
      option: 'heartbeatMs',
      expected: 'less than half of leaseMs',
      holds: ({ heartbeatMs, leaseMs }) => heartbeatMs < leaseMs / 2,
    },
    {
      option: 'concurrency',
      expected: `at most the database's poolSize less ${CONNECTIONS_BESIDE}: a handler keeps a connection while it runs, and heartbeats need another`,
      // PGlite has one session.
      holds: ({ concurrency, database, poll }) =>
        !poll || database.kind === 'pglite' || concurrency + CONNECTIONS_BESIDE <= database.poolSize,
    },
  ],
};

/**
 * Validates the options of an outbox and fills in the defaults.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function resolveOutboxOptions(given: OutboxOptions): ResolvedOutboxOptions {
  const rng = given.rng ?? systemRng();
  const leaseMs = given.leaseMs ?? OUTBOX_DEFAULTS.leaseMs;
  return resolveOptions(SPEC, {
    ...given,
    rng,
    heartbeatMs: given.heartbeatMs ?? Math.max(1, Math.floor(leaseMs / 3)),
    instance: given.instance ?? rng.integer(0, 2 ** 32 - 1).toString(36),
  });
}

/** Returns the prefix of the worker ids of this process. */
export const workerPrefix = (): string => `${processName()}/`;

/** Returns the id that the claims of an instance carry. */
export const workerIdOf = ({ instance }: ResolvedOutboxOptions): string => workerPrefix() + instance;
