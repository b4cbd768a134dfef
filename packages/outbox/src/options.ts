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

/** What an outbox works with. */
export interface OutboxOptions {
  /** A PgDatabase or PgliteDatabase, which its owner stops; its `poolSize` must be at least `concurrency` + 3. */
  readonly database: Database;
  /** The schema of its tables. */
  readonly schema?: string | undefined;
  /** Whether this instance runs tasks; without, it starts and watches batches only. */
  readonly poll?: boolean | undefined;
  /** The longest pause between two looks for work when nobody gives a hint. */
  readonly pollIntervalMs?: number | undefined;
  /** Tasks that run here at once. */
  readonly concurrency?: number | undefined;
  /** How long a worker may be silent until its tasks are given to others. */
  readonly leaseMs?: number | undefined;
  /** How often leases are extended; a third of leaseMs unless given. */
  readonly heartbeatMs?: number | undefined;
  /** How often a task may be lost without a result until it is a dead letter. */
  readonly lostMax?: number | undefined;
  /** How long tasks may go on at stop. */
  readonly gracePeriodMs?: number | undefined;
  /** Completions of external tasks wait this long for others to be written with. */
  readonly completionDelayMs?: number | undefined;
  /** The most completions in one statement. */
  readonly completionsMax?: number | undefined;
  /** The longest delay of a retry, and the longest that RateLimitedError can ask for. */
  readonly backoffMaxMs?: number | undefined;
  /** The most tasks of one batch. */
  readonly tasksPerBatchMax?: number | undefined;
  /** How long batches are kept after they have ended; 0: for ever. */
  readonly retentionMs?: number | undefined;
  /** The log says so when a transaction is older, because vacuum has to wait for it. */
  readonly oldTransactionWarnMs?: number | undefined;
  /** Of the payload of a batch, as JSON. */
  readonly payloadBytesMax?: number | undefined;
  /** Of the result of a task, as JSON. */
  readonly resultBytesMax?: number | undefined;
  /** The last part of this instance's worker_id, after host and process; random unless given. */
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

/** Connections beside those of the handlers: claims and completions, heartbeats, the rest. */
const CONNECTIONS_BESIDE = 3;

/** How many connections a PgDatabase needs that an outbox works on: its usual number, or more. */
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
      // One session takes turns anyway.
      holds: ({ concurrency, database, poll }) =>
        !poll || database.kind === 'pglite' || concurrency + CONNECTIONS_BESIDE <= database.poolSize,
    },
  ],
};

/**
 * Completes the options of an outbox.
 * @returns the resolved options, frozen.
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

/** How the worker ids of this process begin. */
export const workerPrefix = (): string => `${processName()}/`;

/** What a claim is signed with. */
export const workerIdOf = ({ instance }: ResolvedOutboxOptions): string => workerPrefix() + instance;
