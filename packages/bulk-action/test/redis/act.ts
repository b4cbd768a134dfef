import type { BULK_SCRIPTS } from '../../src/redis/scripts.js';
import type { BulkShard } from '../../src/shard-port.js';
import type { LeaseTuple, StoreHarness } from '../store-contract/tools.js';

/** A verb of the store. */
export type ScriptName = keyof typeof BULK_SCRIPTS;

/** Three leases that the instance `one` holds. */
export type Held = LeaseTuple<3>;

/**
 * What a verb promises for its repeat, as its Lua header says it.
 * - `same`: the first answer again, and nothing changes.
 * - `told`: nothing changes, and the answer says that it was so already.
 * - `next`: goes on where the first one stopped, as two calls would.
 */
type Promised = 'same' | 'told' | 'next';

/** One use of a verb. */
export interface Act {
  readonly what: string;
  readonly again: Promised;
  /** Changes nothing the first time either. */
  readonly idle?: true;
  /** What has to happen before. */
  readonly before?: (harness: StoreHarness<BulkShard>, held: Held) => Promise<unknown>;
  readonly act: (harness: StoreHarness<BulkShard>, held: Held) => Promise<unknown>;
}
