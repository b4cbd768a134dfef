import type { Clock, Logger, Rng } from '@millrace/foundation';
import { RedisConnection, type RedisConnectionOptions } from '@millrace/redis';
import { type BulkActionConfig, resolveBulkActionConfig } from '../options.js';
import type { BulkStore } from '../ports.js';
import type { RedisLocation } from '../redis-location.js';
import { shardConfig } from '../rules/shard-config.js';
import { ShardedStore } from '../sharding/store.js';
import { RedisStore } from './store.js';

/** What a connection takes from outside. */
export interface OpenStoreDependencies {
  readonly clock?: Clock | undefined;
  readonly rng?: Rng | undefined;
  readonly log?: Logger | undefined;
}

/** Closes the connection with the store that it was made for. */
const owning = (store: BulkStore, connection: RedisConnection): BulkStore => ({
  ...store,
  start: () => store.start(),
  async stop() {
    await store.stop();
    await connection.stop();
  },
});

/**
 * Makes a store of `config.shards` shards with a connection of its own: it connects at the first call, and `stop` closes it. A `client` that is given lends
 * its address and credentials only, and stays its owner's.
 * @param given - the engine's configuration; the same in every process.
 * @param location - see RedisLocation.
 * @param dependencies - clock, randomness and logger of the connection.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function openRedisStore(
  given: BulkActionConfig,
  { keyPrefix, ...address }: RedisLocation,
  { clock, rng, log }: OpenStoreDependencies = {},
): BulkStore {
  const config = resolveBulkActionConfig(given);
  const connection = new RedisConnection({
    connectionName: 'bulk-action',
    ...(address as RedisConnectionOptions),
    ...(clock && { clock }),
    ...(rng && { rng }),
    ...(log && { logger: log }),
  });
  const { shards } = config;
  if (shards === 1) return owning(new RedisStore(config, { connection, keyPrefix }), connection);
  const stores = Array.from(
    { length: shards },
    (_, shard) => new RedisStore(shardConfig(config, shard), { connection, keyPrefix, shard, shards }),
  );
  return owning(new ShardedStore(config, stores, { log }), connection);
}
