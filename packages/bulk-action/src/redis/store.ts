import type { RedisConnection } from '@millrace/redis';
import { ERRORS } from '../errors.js';
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
import { RedisKeyBuilder } from '../services/redis-key-builder.js';
import type { BulkShard, Shard } from '../shard-port.js';
import type { StoreViews } from '../store-views.js';
import { redisAggregations } from './aggregations.js';
import { redisDeadLetters } from './dead-letters.js';
import { type BulkScripts, EngineLink } from './engine-link.js';
import { redisGate } from './gate.js';
import { redisGroups } from './groups.js';
import { redisInstances } from './instances.js';
import { LAYOUT, layoutNewer } from './layout.js';
import { redisLeases } from './leases.js';
import { redisOnce } from './once.js';
import { redisShard } from './shard.js';
import { redisUpkeep } from './upkeep.js';
import { redisViews } from './views.js';
import { RedisWakeUps } from './wake-ups.js';
import { redisWatch } from './watch.js';

/** Where the engine lives in Redis. */
export interface RedisStoreOptions {
  /** Stays the caller's: it is neither started nor stopped here. */
  readonly connection: RedisConnection;
  /** What all keys begin with (`'bulk-action:'`); stands before the hash tag. */
  readonly keyPrefix?: string | undefined;
  /** Which of several independent engines under one prefix (0). */
  readonly shard?: number | undefined;
  /** How many of them there are in all (1). */
  readonly shards?: number | undefined;
}

/** The store on Redis: the same engine for any number of processes. */
export class RedisStore implements BulkShard {
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
  readonly #link: EngineLink;
  readonly #bells: RedisWakeUps;
  readonly #shards: number;

  /**
   * @param config - the engine's; the same in every process.
   * @param options - see RedisStoreOptions.
   * @param scripts - the scripts; tests load them with another `now`.
   */
  constructor(config: ResolvedBulkActionConfig, options: RedisStoreOptions, scripts?: BulkScripts) {
    const { connection, shards = 1 } = options;
    this.#shards = shards;
    const link = new EngineLink(connection, new RedisKeyBuilder(options).base, config, scripts);
    this.#link = link;
    this.#bells = new RedisWakeUps(link);
    this.groups = redisGroups(link);
    this.views = redisViews(link);
    this.gate = redisGate(link);
    this.leases = redisLeases(link);
    this.upkeep = redisUpkeep(link);
    this.watch = redisWatch(link);
    this.deadLetters = redisDeadLetters(link);
    this.aggregations = redisAggregations(link);
    this.instances = redisInstances(link);
    this.once = redisOnce(link);
    this.shard = redisShard(link);
    this.wakeUps = this.#bells;
  }

  /**
   * Checks that Redis answers, that it never deletes keys by itself, and that this release knows the layout of the data.
   * @throws MillraceError `BACKEND_UNAVAILABLE`, `REDIS_MAY_EVICT`, `REDIS_LAYOUT_NEWER`, `SHARDS_DIFFER`.
   */
  async start(): Promise<void> {
    await this.#link.requireNoEviction();
    const given = this.#shards;
    const [layout, shards] = await this.#link.run('open', { layout: LAYOUT, shards: given });
    if (Number(layout) > LAYOUT) throw layoutNewer(Number(layout));
    // With another number most tenants would be looked for in the wrong place.
    if (Number(shards) !== given) {
      throw ERRORS.create('SHARDS_DIFFER', { base: this.#link.base, found: Number(shards), given });
    }
  }

  /** Listens no more; the connection stays open. */
  async stop(): Promise<void> {
    this.#bells.stop();
  }
}
