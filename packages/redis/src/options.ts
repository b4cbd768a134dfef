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

/** Where Redis is and how patient to be; every key is optional, without an address it is 127.0.0.1:6379. */
export interface RedisConnectionOptions {
  /** `redis://[user:password@]host:port/db`, or `rediss://` for TLS. */
  readonly url?: string | undefined;
  /** Where Redis is, without `url`. */
  readonly host?: string | undefined;
  /** Its port, without `url`. */
  readonly port?: number | undefined;
  /** Who calls, unless `url` says it. */
  readonly username?: string | undefined;
  /** Of that user. */
  readonly password?: string | undefined;
  /** The number of the database. */
  readonly db?: number | undefined;
  /** Some nodes of a Redis Cluster, instead of one address. */
  readonly nodes?: readonly { readonly host: string; readonly port: number }[] | undefined;
  /** An ioredis client whose address and credentials are used. It stays the caller's: it is never called or closed. */
  readonly client?: Redis | Cluster | undefined;
  /** Shown in CLIENT LIST. */
  readonly connectionName?: string | undefined;
  /** How long one call may take, repeats after a lost connection included. */
  readonly callTimeoutMs?: number | undefined;
  /** How long a new connection may take until it answers. */
  readonly connectTimeoutMs?: number | undefined;
  /** A connection that has been silent this long, with a call timed out on it, is replaced. */
  readonly watchdogMs?: number | undefined;
  /** The longest pause between two attempts to connect. */
  readonly reconnectMaxMs?: number | undefined;
  /** The longest a waiter sleeps without looking itself: what a lost marker costs at most. */
  readonly pollMs?: number | undefined;
  /** How long one blocking call for markers lasts before it is renewed. */
  readonly blockMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly rng?: Rng | undefined;
  readonly logger?: Logger | undefined;
}

/** The options with every default filled in. */
export type ResolvedRedisConnectionOptions = CompleteOptions<
  RedisConnectionOptions,
  'url' | 'host' | 'port' | 'username' | 'password' | 'db' | 'nodes' | 'client'
>;

/** The defaults; an address has none beyond ioredis' own 127.0.0.1:6379. */
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
      expected: 'the only address: give one of url, host, nodes, client',
      holds: ({ url, host, nodes, client }) =>
        [url, host, nodes, client].filter((address) => address !== undefined).length <= 1,
    },
    {
      option: 'port',
      expected: 'left out: it stands in url, nodes or client',
      holds: ({ port, url, nodes, client }) => port === undefined || (url ?? nodes ?? client) === undefined,
    },
    {
      option: 'db',
      expected: 'left out: a Cluster has one database only, and a client has its own',
      holds: ({ db, nodes, client }) => db === undefined || (nodes ?? client) === undefined,
    },
    {
      option: 'password',
      expected: 'left out: the client has its own, as its username',
      holds: ({ username, password, client }) => client === undefined || (username ?? password) === undefined,
    },
  ],
};

/**
 * Completes the options of a connection.
 * @returns the resolved options, frozen.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function resolveRedisConnectionOptions(
  given: RedisConnectionOptions = {},
): ResolvedRedisConnectionOptions {
  // The randomness is made per connection: shared, one connection's draws would shift another's.
  return resolveOptions(SPEC, { ...given, rng: given.rng ?? systemRng() });
}
