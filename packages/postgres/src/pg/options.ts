import {
  booleanOption,
  type Clock,
  type CompleteOptions,
  durationOption,
  ERRORS,
  integerOption,
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

/** Where PostgreSQL is and how patient to be. */
export interface PgDatabaseOptions {
  /** `postgres://user:password@host:port/database`; TLS by `?sslmode=verify-full` and what else pg understands there. */
  readonly url: string;
  /** Looked in first for names without a schema, then `public`; the user's own search path unless given. */
  readonly schema?: string | undefined;
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string | undefined;
  /** The most connections at once; one more is opened for `listen`. */
  readonly poolSize?: number | undefined;
  /** How long one statement outside a transaction may take, the wait for a connection included. */
  readonly callTimeoutMs?: number | undefined;
  /** How long a transaction may take, the wait for a connection included. */
  readonly transactionTimeoutMs?: number | undefined;
  /** How long a new connection may take until it answers. */
  readonly connectTimeoutMs?: number | undefined;
  /** The longest pause between two attempts to connect. */
  readonly reconnectMaxMs?: number | undefined;
  /** A connection nobody has used for this long is closed. */
  readonly idleTimeoutMs?: number | undefined;
  /** How often the listening connection is asked whether it is still there. */
  readonly listenCheckMs?: number | undefined;
  /** Whether `name` prepares statements; false for a pooler that cannot. */
  readonly prepare?: boolean | undefined;
  readonly clock?: Clock | undefined;
  readonly rng?: Rng | undefined;
  readonly logger?: Logger | undefined;
}

/** The options with every default filled in. */
export type ResolvedPgDatabaseOptions = CompleteOptions<PgDatabaseOptions, 'schema'>;

/** The defaults. */
export const PG_DATABASE_DEFAULTS = {
  applicationName: 'millrace',
  // Ten handlers at once and what the outbox needs beside them.
  poolSize: 15,
  callTimeoutMs: 5_000,
  transactionTimeoutMs: 30_000,
  connectTimeoutMs: 3_000,
  reconnectMaxMs: 1_000,
  idleTimeoutMs: 30_000,
  listenCheckMs: 10_000,
  prepare: true,
  clock: systemClock,
  logger: silentLogger,
} as const satisfies Partial<ResolvedPgDatabaseOptions>;

const text = textOption();
const duration = durationOption({ min: 1, max: 2 ** 31 - 1 });

const SPEC: OptionSpec<ResolvedPgDatabaseOptions> = {
  owner: 'PgDatabase',
  defaults: PG_DATABASE_DEFAULTS,
  rules: {
    url: text,
    schema: text,
    applicationName: text,
    poolSize: integerOption({ min: 1, max: 10_000 }),
    callTimeoutMs: duration,
    transactionTimeoutMs: duration,
    connectTimeoutMs: duration,
    reconnectMaxMs: duration,
    idleTimeoutMs: duration,
    listenCheckMs: duration,
    prepare: booleanOption(),
    clock: objectOption('a Clock', 'now', 'monotonicMs', 'setTimer'),
    rng: objectOption('an Rng', 'next', 'integer'),
    logger: objectOption('a Logger', 'debug', 'info', 'warn', 'error'),
  },
};

/**
 * Completes the options of a database on a server.
 * @returns the resolved options, frozen.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function resolvePgDatabaseOptions(given: PgDatabaseOptions): ResolvedPgDatabaseOptions {
  requireAddress((given as Partial<PgDatabaseOptions> | undefined)?.url);
  return resolveOptions(SPEC, { ...given, rng: given.rng ?? systemRng() });
}

/** Without an address pg would take the environment's, or a database of this machine. */
function requireAddress(url: unknown): void {
  if (typeof url === 'string' && /^postgres(ql)?:/.test(url) && URL.canParse(url)) return;
  throw ERRORS.create('OPTION_INVALID', {
    owner: 'PgDatabase',
    option: 'url',
    expected: 'a URL such as postgres://user@host:5432/database',
    // Not the whole text: it may hold a password.
    given: typeof url === 'string' ? `'${url.slice(0, url.indexOf(':') + 1)}…'` : url,
  });
}
