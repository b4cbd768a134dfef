import { ManualClock } from '@millrace/testkit';
import { MemoryStore } from '../../src/memory/store.js';
import { type BulkActionConfig, resolveBulkActionConfig } from '../../src/options.js';
import type { BulkShard } from '../../src/shard-port.js';
import { ShardedStore } from '../../src/sharding/store.js';
import type { StoreHarness } from '../store-contract/tools.js';

export const SHARDS = 3;

/** Several stores as one, and each of them. */
export interface ShardedHarness extends StoreHarness {
  readonly shards: readonly BulkShard[];
}

/**
 * Three memory stores as one, whose time a test moves. Each has the whole limits: the contract speaks of what one tenant, one
 * step and one order may do; how limits are divided is a rule with tests of its own.
 */
export function openShardedMemory(
  given: BulkActionConfig = {},
  size?: 'one shard',
  change: (store: BulkShard, shard: number) => BulkShard = (store) => store,
): ShardedHarness {
  const clock = new ManualClock();
  const config = resolveBulkActionConfig(given);
  const shards = Array.from({ length: size === 'one shard' ? 1 : SHARDS }, (_, shard) =>
    change(new MemoryStore(config, { clock }), shard),
  );
  return {
    store: new ShardedStore(config, shards),
    shards,
    config,
    now: async () => clock.now(),
    advance: (ms) => clock.advance(ms),
    jump: async (ms) => clock.jump(ms),
    close: async () => {},
  };
}
