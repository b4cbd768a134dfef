import {
  type Clock,
  type CompleteOptions,
  durationOption,
  type Logger,
  type OptionSpec,
  objectOption,
  type Rng,
  resolveOptions,
  silentLogger,
  systemClock,
  systemRng,
  textOption,
} from '@millrace/foundation';

/** Where the embedded database lives and how patient to be. */
export interface PgliteDatabaseOptions {
  /** The folder of the data, made when it is missing; in memory, gone with the process, unless given. */
  readonly dataDir?: string | undefined;
  /** Looked in first for names without a schema, then `public`. */
  readonly schema?: string | undefined;
  /** How long a statement outside a transaction may wait for its turn; once it runs, nothing can end it. */
  readonly callTimeoutMs?: number | undefined;
  /** How long a transaction may take, the wait for its turn included. */
  readonly transactionTimeoutMs?: number | undefined;
  /** A transaction that makes others wait for longer is warned of. */
  readonly slowTransactionMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly rng?: Rng | undefined;
  readonly logger?: Logger | undefined;
}

/** The options with every default filled in. */
export type ResolvedPgliteDatabaseOptions = CompleteOptions<PgliteDatabaseOptions, 'dataDir' | 'schema'>;

/** The defaults. */
export const PGLITE_DATABASE_DEFAULTS = {
  callTimeoutMs: 5_000,
  transactionTimeoutMs: 30_000,
  slowTransactionMs: 2_000,
  clock: systemClock,
  logger: silentLogger,
} as const satisfies Partial<ResolvedPgliteDatabaseOptions>;

const duration = durationOption({ min: 1, max: 2 ** 31 - 1 });

const SPEC: OptionSpec<ResolvedPgliteDatabaseOptions> = {
  owner: 'PgliteDatabase',
  defaults: PGLITE_DATABASE_DEFAULTS,
  rules: {
    dataDir: textOption(),
    schema: textOption(),
    callTimeoutMs: duration,
    transactionTimeoutMs: duration,
    slowTransactionMs: duration,
    clock: objectOption('a Clock', 'now', 'monotonicMs', 'setTimer'),
    rng: objectOption('an Rng', 'next', 'integer'),
    logger: objectOption('a Logger', 'debug', 'info', 'warn', 'error'),
  },
};

/**
 * Completes the options of an embedded database.
 * @returns the resolved options, frozen.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function resolvePgliteDatabaseOptions(
  given: PgliteDatabaseOptions = {},
): ResolvedPgliteDatabaseOptions {
  return resolveOptions(SPEC, { ...given, rng: given.rng ?? systemRng() });
}
