import {
  type Clock,
  type CompleteOptions,
  durationOption,
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
import type { Cluster, Redis } from 'ioredis';

/** The address of Redis and the time limits. Every key is optional; without an address it is 127.0.0.1:6379. */
export interface RedisConnectionOptions {
  /** `redis://[user:password@]host:port/db`, or `rediss://` for TLS. */
  readonly url?: string | undefined;
  /** Host name, instead of `url`. */
  readonly host?: string | undefined;
  /** Port of `host` (6379). */
  readonly port?: number | undefined;
  /** User name, unless `url` has one. */
  readonly username?: string | undefined;
  /** Password, unless `url` has one. */
  readonly password?: string | undefined;
  /** Number of the database (0). */
  readonly db?: number | undefined;
  /** Some nodes of a Redis Cluster, instead of one address. */
  readonly nodes?: readonly { readonly host: string; readonly port: number }[] | undefined;
  /** An ioredis client, instead of an address. Its address and credentials are read; it is never called or closed. */
  readonly client?: Redis | Cluster | undefined;
  /** Name in CLIENT LIST, before `:` and the role of the connection (`millrace`). */
  readonly connectionName?: string | undefined;
  /** Maximum duration of one call, including repeats after a lost connection (2,000). */
  readonly callTimeoutMs?: number | undefined;
  /** Maximum time until a new connection is ready (2,000). */
  readonly connectTimeoutMs?: number | undefined;
  /** Silence after which a connection with a timed-out call is replaced (4,000). */
  readonly watchdogMs?: number | undefined;
  /** Longest pause between two attempts to connect (1,000). */
  readonly reconnectMaxMs?: number | undefined;
  /** Longest wait for a marker, and so the delay that a lost marker causes at most (1,000). */
  readonly pollMs?: number | undefined;
  /** Duration of one blocking call for markers (2,000). */
  readonly blockMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly rng?: Rng | undefined;
  readonly logger?: Logger | undefined;
}

/** The options with all defaults. */
export type ResolvedRedisConnectionOptions = CompleteOptions<
  RedisConnectionOptions,
  'url' | 'host' | 'port' | 'username' | 'password' | 'db' | 'nodes' | 'client'
>;

/** The defaults. The address has only ioredis' own, 127.0.0.1:6379. */
export const REDIS_CONNECTION_DEFAULTS = {
  connectionName: 'millrace',
  callTimeoutMs: 2_000,
  connectTimeoutMs: 2_000,
  watchdogMs: 4_000,
  reconnectMaxMs: 1_000,
  pollMs: 1_000,
  blockMs: 2_000,
  clock: systemClock,
  logger: silentLogger,
} as const satisfies Partial<ResolvedRedisConnectionOptions>;

const text = textOption();

const isNode = (value: unknown): boolean => {
  const { host, port } = (value ?? {}) as { host?: unknown; port?: unknown };
  return typeof host === 'string' && host !== '' && Number.isInteger(port);
};

const SPEC: OptionSpec<ResolvedRedisConnectionOptions> = {
  owner: 'RedisConnection',
  defaults: REDIS_CONNECTION_DEFAULTS,
  rules: {
    url: text,
    host: text,
    port: integerOption({ min: 1, max: 65_535 }),
    username: text,
    password: text,
    db: integerOption({ min: 0 }),
    nodes: {
      expected: 'a list of { host, port }',
      accepts: (value) => Array.isArray(value) && value.length > 0 && value.every(isNode),
    },
    client: objectOption('an ioredis Redis or Cluster', 'duplicate', 'call'),
    connectionName: text,
    callTimeoutMs: durationOption({ min: 1 }),
    connectTimeoutMs: durationOption({ min: 1 }),
    watchdogMs: durationOption({ min: 1 }),
    reconnectMaxMs: durationOption({ min: 1 }),
    pollMs: durationOption({ min: 1 }),
    blockMs: durationOption({ min: 10 }),
    clock: objectOption('a Clock', 'now', 'monotonicMs', 'setTimer'),
    rng: objectOption('an Rng', 'next', 'integer'),
    logger: objectOption('a Logger', 'debug', 'info', 'warn', 'error'),
  },
  relations: [
    {
      option: 'url',
      expected: 'the only one of url, host, nodes and client',
      holds: ({ url, host, nodes, client }) =>
        [url, host, nodes, client].filter((address) => address !== undefined).length <= 1,
    },
    {
      option: 'port',
      expected: 'left out, because url, nodes or client has it',
      holds: ({ port, url, nodes, client }) => port === undefined || (url ?? nodes ?? client) === undefined,
    },
    {
      option: 'db',
      expected: 'left out, because a Cluster has only one database and a client has its own',
      holds: ({ db, nodes, client }) => db === undefined || (nodes ?? client) === undefined,
    },
    {
      option: 'password',
      expected: 'left out like the username, because the client has its own',
      holds: ({ username, password, client }) => client === undefined || (username ?? password) === undefined,
    },
  ],
};

/**
 * Completes and validates the options of a connection.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function resolveRedisConnectionOptions(
  given: RedisConnectionOptions = {},
): ResolvedRedisConnectionOptions {
  // Each connection has its own random source. The draws of one must not shift those of another.
  return resolveOptions(SPEC, { ...given, rng: given.rng ?? systemRng() });
}
