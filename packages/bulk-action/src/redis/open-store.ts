import type { Clock, Logger, Rng } from '@millrace/foundation';
import { RedisConnection, type RedisConnectionOptions } from '@millrace/redis';
import type { ResolvedBulkActionConfig } from '../options.js';
import type { BulkStore } from '../ports.js';
import type { RedisLocation } from '../redis-location.js';
import { RedisStore } from './store.js';

/** What a connection takes from outside. */
export interface OpenStoreDependencies {
  readonly clock?: Clock | undefined;
  readonly rng?: Rng | undefined;
  readonly log?: Logger | undefined;
}

/** Closes the connection that was made for it. */
class OwningRedisStore extends RedisStore {
  readonly #connection: RedisConnection;

  constructor(config: ResolvedBulkActionConfig, connection: RedisConnection, keyPrefix: string | undefined) {
    super(config, { connection, keyPrefix });
    this.#connection = connection;
  }

  override async stop(): Promise<void> {
    await super.stop();
    await this.#connection.stop();
  }
}

/**
 * Makes a store with a connection of its own: it connects at the first call, and `stop` closes it. A `client` that is given lends
 * its address and credentials only, and stays its owner's.
 * @param config - the engine's; the same in every process.
 * @param location - see RedisLocation.
 * @param dependencies - clock, randomness and logger of the connection.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function openRedisStore(
  config: ResolvedBulkActionConfig,
  { keyPrefix, ...address }: RedisLocation,
  { clock, rng, log }: OpenStoreDependencies = {},
): BulkStore {
  const connection = new RedisConnection({
    connectionName: 'bulk-action',
    ...(address as RedisConnectionOptions),
    ...(clock && { clock }),
    ...(rng && { rng }),
    ...(log && { logger: log }),
  });
  return new OwningRedisStore(config, connection, keyPrefix);
}
