import {
  booleanOption,
  type CompleteOptions,
  ERRORS,
  integerOption,
  type OptionSpec,
  resolveOptions,
  systemRng,
  textOption,
} from '@millrace/foundation';
import { DATABASE_DEFAULTS, DATABASE_RULES, type DatabaseOptions, duration } from '../options.js';

/** Options of a database on a server. */
export interface PgDatabaseOptions extends DatabaseOptions {
  /** `postgres://user:password@host:port/database`, with TLS by `?sslmode=verify-full` and the other parameters of pg. */
  readonly url: string;
  /** Name shown in `pg_stat_activity`. */
  readonly applicationName?: string | undefined;
  /** Maximum number of connections. `listen` opens one more. */
  readonly poolSize?: number | undefined;
  /** Time limit until a new connection answers. */
  readonly connectTimeoutMs?: number | undefined;
  /** Longest pause between two attempts to connect. */
  readonly reconnectMaxMs?: number | undefined;
  /** Time after which an unused connection is closed. */
  readonly idleTimeoutMs?: number | undefined;
  /** Interval of the checks that the listening connection still answers. */
  readonly listenCheckMs?: number | undefined;
  /** True if `name` prepares statements. Set it to false for a pooler that cannot. */
  readonly prepare?: boolean | undefined;
}

/** The options with every default filled in. */
export type ResolvedPgDatabaseOptions = CompleteOptions<PgDatabaseOptions, 'schema'>;

/** The defaults. */
export const PG_DATABASE_DEFAULTS = {
  ...DATABASE_DEFAULTS,
  applicationName: 'millrace',
  // Ten handlers and the outbox's own calls.
  poolSize: 15,
  connectTimeoutMs: 3_000,
  reconnectMaxMs: 1_000,
  idleTimeoutMs: 30_000,
  listenCheckMs: 10_000,
  prepare: true,
} as const satisfies Partial<ResolvedPgDatabaseOptions>;

const SPEC: OptionSpec<ResolvedPgDatabaseOptions> = {
  owner: 'PgDatabase',
  defaults: PG_DATABASE_DEFAULTS,
  rules: {
    ...DATABASE_RULES,
    url: textOption(),
    applicationName: textOption(),
    poolSize: integerOption({ min: 1, max: 10_000 }),
    connectTimeoutMs: duration,
    reconnectMaxMs: duration,
    idleTimeoutMs: duration,
    listenCheckMs: duration,
    prepare: booleanOption(),
  },
};

/**
 * Completes and freezes the options of a database on a server.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function resolvePgDatabaseOptions(given: PgDatabaseOptions): ResolvedPgDatabaseOptions {
  requireAddress((given as Partial<PgDatabaseOptions> | undefined)?.url);
  return resolveOptions(SPEC, { ...given, rng: given.rng ?? systemRng() });
}

/** Without an address pg would use the environment's, or a database on this machine. */
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
