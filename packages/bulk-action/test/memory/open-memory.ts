import { ManualClock } from '@millrace/testkit';
import { MemoryStore } from '../../src/memory/store.js';
import { type BulkActionConfig, resolveBulkActionConfig } from '../../src/options.js';
import type { BulkShard } from '../../src/shard-port.js';
import type { StoreHarness } from '../store-contract/tools.js';

/** A memory store of its own, whose time a test moves. */
export function openMemory(given: BulkActionConfig = {}): StoreHarness<BulkShard> {
  const clock = new ManualClock();
  const config = resolveBulkActionConfig(given);
  return {
    store: new MemoryStore(config, { clock }),
    config,
    now: async () => clock.now(),
    advance: (ms) => clock.advance(ms),
    jump: async (ms) => clock.jump(ms),
    close: async () => {},
  };
}
