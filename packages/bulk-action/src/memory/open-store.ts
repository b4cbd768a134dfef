import type { Clock, Logger } from '@millrace/foundation';
import type { ResolvedBulkActionConfig } from '../options.js';
import type { BulkStore } from '../ports.js';
import { shardConfig } from '../rules/shard-config.js';
import { ShardedStore } from '../sharding/store.js';
import { MemoryStore } from './store.js';

/**
 * Makes a store of `config.shards` shards in the memory of this process.
 * @param config - the engine's.
 * @param dependencies - `clock`: the store's time; `log`.
 */
export function openMemoryStore(
  config: ResolvedBulkActionConfig,
  { clock, log }: { readonly clock: Clock; readonly log?: Logger | undefined },
): BulkStore {
  const { shards } = config;
  if (shards === 1) return new MemoryStore(config, { clock });
  const stores = Array.from(
    { length: shards },
    (_, shard) => new MemoryStore(shardConfig(config, shard), { clock }),
  );
  return new ShardedStore(config, stores, { log });
}
