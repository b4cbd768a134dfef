import { type Logger, silentLogger } from '@millrace/foundation';
import type { ResolvedBulkActionConfig } from '../options.js';
import type {
  Aggregations,
  BulkStore,
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
import type { BulkShard } from '../shard-port.js';
import type { StoreViews } from '../store-views.js';
import { shardedAggregations } from './aggregations.js';
import { shardedDeadLetters } from './dead-letters.js';
import { shardedGate } from './gate.js';
import { shardedGroups } from './groups.js';
import { shardedLeases } from './leases.js';
import { Places } from './places.js';
import { shardedInstances, shardedOnce, shardedWakeUps } from './presence.js';
import { Shards, together } from './shards.js';
import { shardedUpkeep, shardedWatch } from './upkeep.js';
import { shardedViews } from './views.js';

/**
 * Several stores as one: tenants are spread over them by jump hash. Each is an engine of its own, with its own fair order, limits
 * and congestion control; see ADR 0008. While one does not answer, the others go on.
 */
export class ShardedStore implements BulkStore {
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
  readonly #shards: Shards;

  /**
   * @param config - of the whole engine.
   * @param stores - the shards, in the same order in every process; each with its part of the limits, see `shardConfig`.
   * @param dependencies - `log`: told of shards that fail and come back.
   */
  constructor(
    config: Pick<ResolvedBulkActionConfig, 'congestion'>,
    stores: readonly BulkShard[],
    { log = silentLogger }: { readonly log?: Logger | undefined } = {},
  ) {
    const shards = new Shards(stores, log);
    const places = new Places(shards);
    this.#shards = shards;
    this.groups = shardedGroups(shards, places);
    this.views = shardedViews(shards, places, config);
    this.gate = shardedGate(shards, places);
    this.leases = shardedLeases(shards, places);
    this.upkeep = shardedUpkeep(shards);
    this.watch = shardedWatch(shards);
    this.deadLetters = shardedDeadLetters(shards, places);
    this.aggregations = shardedAggregations(shards, places);
    this.instances = shardedInstances(shards);
    this.once = shardedOnce(shards);
    this.wakeUps = shardedWakeUps(shards);
  }

  /**
   * Opens all; when one cannot be opened, the others are closed again.
   * @throws MillraceError `BACKEND_UNAVAILABLE` and what else a shard refuses to work with.
   */
  async start(): Promise<void> {
    try {
      // The first one says whether the data is that of so many shards; before that the others are left alone.
      await this.#shards.at(0).start();
      await together(this.#shards.stores.slice(1).map((store) => store.start()));
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Closes all. */
  async stop(): Promise<void> {
    await together(this.#shards.stores.map((store) => store.stop()));
  }
}
