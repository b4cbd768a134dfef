import type { Clock } from '@millrace/foundation';
import type { ResolvedBulkActionConfig } from '../options.js';
import type {
  Aggregations,
  DeadLetterStore,
  Gate,
  GroupStore,
  IdempotencyStore,
  Instances,
  Leases,
  Upkeep,
  WakeUps,
  Watch,
} from '../ports.js';
import type { BulkShard, Shard } from '../shard-port.js';
import type { StoreViews } from '../store-views.js';
import { memoryAggregations } from './aggregations.js';
import { memoryDeadLetters } from './dead-letters.js';
import { memoryGate } from './gate.js';
import { memoryGroups } from './groups.js';
import { memoryInstances } from './instances.js';
import { memoryLeases } from './leases.js';
import { memoryOnce } from './once.js';
import { memoryShard } from './shard.js';
import { MemoryState } from './state.js';
import { memoryUpkeep } from './upkeep.js';
import { memoryViews } from './views.js';
import { memoryWatch } from './watch.js';

/**
 * The store in the memory of one process: the specification of every other store, and the embedded default. What it
 * holds ends with the process.
 */
export class MemoryStore implements BulkShard {
  readonly groups: GroupStore;
  readonly views: StoreViews;
  readonly gate: Gate;
  readonly leases: Leases;
  readonly upkeep: Upkeep;
  readonly watch: Watch;
  readonly deadLetters: DeadLetterStore;
  readonly aggregations: Aggregations;
  readonly instances: Instances;
  readonly once: IdempotencyStore;
  readonly wakeUps: WakeUps;
  readonly shard: Shard;

  /**
   * @param config - the engine's.
   * @param dependencies - `clock`: the store's time.
   */
  constructor(config: ResolvedBulkActionConfig, { clock }: { readonly clock: Clock }) {
    const state = new MemoryState(config, clock);
    this.groups = memoryGroups(state);
    this.views = memoryViews(state);
    this.gate = memoryGate(state);
    this.leases = memoryLeases(state);
    this.upkeep = memoryUpkeep(state);
    this.watch = memoryWatch(state);
    this.deadLetters = memoryDeadLetters(state);
    this.aggregations = memoryAggregations(state);
    this.instances = memoryInstances(state);
    this.once = memoryOnce(state);
    this.shard = memoryShard(state);
    this.wakeUps = {
      listen: (kind, ring) => state.listen(kind, ring),
      passOn: (kind) => state.step(() => state.ring(kind)),
      subscribe: (listener) => state.subscribe(listener),
    };
  }

  /** Nothing to open. */
  async start(): Promise<void> {}

  /** Nothing to close. */
  async stop(): Promise<void> {}
}
