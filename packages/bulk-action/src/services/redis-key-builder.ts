import { parseGroupRef } from '../rules/ids.js';
import { jumpHash } from '../rules/jump-hash.js';
import { shardTag } from '../rules/shard-tag.js';

/** What the keys of one engine depend on. */
export interface RedisKeyOptions {
  /** What all keys begin with (`'bulk-action:'`); stands before the hash tag. */
  readonly keyPrefix?: string | undefined;
  /** Which of several independent engines under one prefix (0). */
  readonly shard?: number | undefined;
  /** How many of them there are in all (1). */
  readonly shards?: number | undefined;
}

const DEFAULT_KEY_PREFIX = 'bulk-action:';

/** Every key of an engine, as docs/redis-keys.md lists and explains them, behind the hash tag. */
export const REDIS_KEYS = {
  meta: 'meta',
  state: 'state',
  groupRecords: 'gr',
  tenantRecords: 'tn',
  group: 'g:<group>',
  jobs: 'j:<group>',
  jobTries: 's:<group>',
  jobOrder: 'o:<group>',
  lane: 'l:<group>:<round>',
  results: 'r:<group>',
  failedCodes: 'fc:<group>',
  failedJobs: 'fj:<group>',
  jobResults: 'rs:<group>',
  resultNumbers: 'rn:<group>',
  aggregations: 'agg',
  aggregationTokens: 'aggt',
  tenants: 'tenants',
  groups: 'groups',
  namespace: 'ns:<tenant>',
  tenantOrder: 'tf',
  groupOrder: 'gf:<tenant>',
  processorTypes: 'types',
  resources: 'rc',
  resourceSeats: 'se',
  resourceTenantOrder: 'rt:<resource>',
  resourceGroupOrder: 'rg:<tenant>/<resource>',
  resourceHistory: 'rh:<resource>',
  groupHistory: 'gh:<group>',
  parked: 'parked',
  ready: 'ready',
  nonReady: 'nr',
  scheduled: 'sched',
  inFlight: 'fl',
  leaseEnds: 'fz',
  instances: 'instances',
  instance: 'i:<instance>',
  expiries: 'exp',
  watched: 'watch',
  graves: 'graves',
  deadLetters: 'dl',
  deadLetterRecords: 'dlr',
  deadLettersOfGroup: 'dlg:<group>',
  deadLettersOfSignature: 'dls:<hash>',
  once: 'once:<key>',
  homes: 'dir',
  homeAges: 'dirz',
  corrupt: 'corrupt',
  wakeFetch: 'w:fetch',
  wakeWork: 'w:work',
  wakeDispatch: 'w:dispatch',
  wakeAggregate: 'w:aggregate',
  wakeAgain: 'w:<kind>:again:<random>',
} as const;

/** The name of a key in REDIS_KEYS. */
export type RedisKeyName = keyof typeof REDIS_KEYS;

type Placeholder<P extends string> = P extends `${string}<${infer Name}>${infer Rest}`
  ? Name | Placeholder<Rest>
  : never;

/** What a key is made of besides its name: nothing, or a value for each `<…>` of its pattern. */
export type RedisKeyValues<N extends RedisKeyName> = {
  readonly [P in Placeholder<(typeof REDIS_KEYS)[N]>]: string | number;
};

type Arguments<N extends RedisKeyName> = [Placeholder<(typeof REDIS_KEYS)[N]>] extends [never]
  ? []
  : [values: RedisKeyValues<N>];

/** The names of an engine's keys in Redis, for those who look at them; only the engine writes them. */
export class RedisKeyBuilder {
  /** What all keys begin with, hash tag included. */
  readonly base: string;

  readonly #keyPrefix: string;
  readonly #shards: number;

  /** @param options - see RedisKeyOptions. */
  constructor({ keyPrefix = DEFAULT_KEY_PREFIX, shard = 0, shards = 1 }: RedisKeyOptions = {}) {
    this.#keyPrefix = keyPrefix;
    this.#shards = shards;
    this.base = `${keyPrefix}{${shardTag(shard, shards)}}:`;
  }

  /**
   * The keys of another shard.
   * @param shard - 0 to shards − 1.
   */
  ofShard(shard: number): RedisKeyBuilder {
    return new RedisKeyBuilder({ keyPrefix: this.#keyPrefix, shards: this.#shards, shard });
  }

  /**
   * The keys of the shard where a tenant is: its groups, jobs and limits.
   * @param tenantId - the fairness unit.
   */
  ofTenant(tenantId: string): RedisKeyBuilder {
    return this.ofShard(jumpHash(tenantId, this.#shards));
  }

  /** The channel on which events are published. */
  get events(): string {
    return `${this.base}events`;
  }

  /**
   * The key of something.
   * @param name - what; see REDIS_KEYS.
   * @param values - the rest of it; a `group` plain or as `tenant/id`.
   * @throws MillraceError `ID_INVALID`.
   */
  key<N extends RedisKeyName>(name: N, ...[values]: Arguments<N>): string {
    const given = (values ?? {}) as Readonly<Record<string, string | number>>;
    const rest = REDIS_KEYS[name].replace(/<(\w+)>/g, (_, part: string) =>
      part === 'group' ? parseGroupRef(given[part]).key : String(given[part]),
    );
    return this.base + rest;
  }
}
