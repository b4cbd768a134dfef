import {
  durationOption,
  integerOption,
  type OptionSpec,
  objectOption,
  resolveOptions,
  textOption,
} from '@millrace/foundation';
import type { RedisConnection, RedisConnectionOptions } from '@millrace/redis';
import { QUEUE_DEFAULTS, type QueueConfig, type ResolvedQueueConfig } from '../options.js';

/** How a RedisQueue is made; every key may be left out. Queues of one prefix and name are one queue. */
export interface RedisQueueConfig extends QueueConfig {
  /** What all keys begin with (`'millrace'`). */
  readonly keyPrefix?: string | undefined;
  /** How long an item may be on its way to a client before it returns to the head (5000). */
  readonly takeLeaseMs?: number | undefined;
  /** The largest payload, as JSON (1 MiB). */
  readonly payloadBytesMax?: number | undefined;
  /** Where Redis is; the queue then has a connection of its own, which `stop` closes. */
  readonly redis?: RedisConnectionOptions | undefined;
  /** A connection to share; it stays the caller's. */
  readonly connection?: RedisConnection | undefined;
}

/** A RedisQueueConfig with its defaults in place, frozen. */
export interface ResolvedRedisQueueConfig extends ResolvedQueueConfig {
  readonly keyPrefix: string;
  readonly takeLeaseMs: number;
  readonly payloadBytesMax: number;
  readonly redis?: RedisConnectionOptions;
  readonly connection?: RedisConnection;
}

/** The defaults of RedisQueueConfig. */
export const REDIS_QUEUE_DEFAULTS = Object.freeze({
  ...QUEUE_DEFAULTS,
  keyPrefix: 'millrace',
  takeLeaseMs: 5_000,
  payloadBytesMax: 1024 * 1024,
});

const SPEC: OptionSpec<ResolvedRedisQueueConfig> = {
  owner: 'RedisQueue',
  defaults: REDIS_QUEUE_DEFAULTS,
  rules: {
    name: textOption(),
    maxSize: integerOption({ min: 0 }),
    defaultTimeoutMs: durationOption(),
    keyPrefix: textOption(),
    takeLeaseMs: durationOption({ min: 10, max: 3_600_000 }),
    payloadBytesMax: integerOption({ min: 1, max: 512 * 1024 * 1024 }),
    redis: objectOption('the options of a RedisConnection'),
    connection: objectOption('a RedisConnection', 'run', 'markers'),
  },
  relations: [
    {
      option: 'redis',
      expected: 'left out when a connection is given',
      holds: ({ redis, connection }) => redis === undefined || connection === undefined,
    },
  ],
};

/**
 * Completes and checks the configuration of a RedisQueue.
 * @returns the configuration, frozen.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export const resolveRedisQueueConfig = (config: RedisQueueConfig = {}): ResolvedRedisQueueConfig =>
  resolveOptions(SPEC, config as ResolvedRedisQueueConfig);
