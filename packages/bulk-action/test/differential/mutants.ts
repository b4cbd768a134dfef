import type { BulkActionConfig } from '../../src/options.js';
import type { BulkStore, GroupDefinition } from '../../src/ports.js';
import type { BulkShard } from '../../src/shard-port.js';

/** A store that is wrong in one point. */
export interface Mutant {
  readonly name: string;
  /** Wrong in what it does. */
  readonly mutate?: (store: BulkShard) => Parts;
  /** Wrong in what it was told: as if it did not read this setting. */
  readonly configure?: (config: BulkActionConfig) => BulkActionConfig;
}

/** Members that take the place of a store's own. */
export type Parts = { readonly [Port in keyof BulkShard]?: Partial<BulkShard[Port]> };

/** The store with some of its members replaced. */
export const withParts = (store: BulkShard, parts: Parts): BulkShard => ({
  groups: { ...store.groups, ...parts.groups },
  views: { ...store.views, ...parts.views },
  gate: { ...store.gate, ...parts.gate },
  leases: { ...store.leases, ...parts.leases },
  upkeep: { ...store.upkeep, ...parts.upkeep },
  watch: { ...store.watch, ...parts.watch },
  deadLetters: { ...store.deadLetters, ...parts.deadLetters },
  aggregations: { ...store.aggregations, ...parts.aggregations },
  instances: { ...store.instances, ...parts.instances },
  once: { ...store.once, ...parts.once },
  shard: { ...store.shard, ...parts.shard },
  wakeUps: store.wakeUps,
  start: () => store.start(),
  stop: () => store.stop(),
});

const UNREAD: Readonly<Record<string, readonly string[]>> = {
  limits: ['queuedJobsMax', 'tenantQueuedJobsMax', 'jobRetentionMs', 'costMax', 'groupResultBytesMax'],
  fairQueue: ['charge', 'alpha', 'maxShare', 'priorityWeights'],
  backpressure: [
    ...['globalRps', 'burst', 'readyQueueMaxSize', 'readyHorizonMs'],
    ...['defaultBackoffMs', 'maxBackoffMs'],
  ],
  workerPool: ['fetchBatchSize'],
  congestion: ['enabled', 'initialRps', 'baseBackoffMs', 'maxBackoffMs', 'statsRetentionMs'],
  aggregator: ['failedDetailsMaxCount', 'resultRetentionMs'],
  reliableQueue: ['ackTimeoutMs', 'maxOrphanCount', 'deadLetterRetentionMs'],
};

/** What stands in place of a setting that is not read, where the default would not do: first ≤ longest is checked. */
const UNREAD_AS: Readonly<Record<string, number>> = {
  maxBackoffMs: 60_000,
  defaultBackoffMs: 0,
  baseBackoffMs: 1,
};

/** Stores that do not read one of their settings. */
export const UNREAD_SETTINGS: readonly Mutant[] = Object.entries(UNREAD).flatMap(([section, names]) =>
  names.map((name) => ({
    name: `${section}.${name} is not read`,
    configure: (config) => {
      const sections = config as Readonly<Record<string, object | undefined>>;
      const value = UNREAD_AS[name];
      return { ...config, [section]: { ...sections[section], [name]: value } };
    },
  })),
);

const without =
  (...names: readonly string[]) =>
  <T extends object>(given: T): T =>
    Object.fromEntries(Object.entries(given).filter(([name]) => !names.includes(name))) as T;

/** Definitions and patches lose a field. */
const lossy =
  (...names: readonly string[]) =>
  ({ groups }: BulkStore): Parts => ({
    groups: {
      create: (definition) => groups.create(without(...names)(definition)),
      add: (definition, jobs, incoming) => groups.add(without(...names)(definition), jobs, incoming),
      update: (key, patch) => groups.update(key, without(...names)(patch)),
    },
  });

/** Stores whose answers or order are wrong in one point. */
export const WRONG_ANSWERS: readonly Mutant[] = [
  { name: 'rates of groups are forgotten', mutate: lossy('rps') },
  { name: 'caps of groups are forgotten', mutate: lossy('concurrency') },
  { name: 'deadlines of groups are forgotten', mutate: lossy('deadline') },
  {
    name: 'a new weight does not act',
    mutate: ({ groups }) => ({
      groups: { update: (key, patch) => groups.update(key, without('weight')(patch)) },
    }),
  },
  {
    name: 'a tenant keeps its weight',
    mutate: ({ groups }) => ({
      groups: { updateTenant: (id, patch) => groups.updateTenant(id, without('weight')(patch)) },
    }),
  },
  {
    name: 'another definition is no conflict',
    mutate: ({ groups }) => ({
      groups: {
        create: async (definition: GroupDefinition) => {
          const answer = await groups.create(definition);
          return answer === 'conflict' ? 'known' : answer;
        },
      },
    }),
  },
  {
    name: 'new jobs are registered in another order',
    mutate: ({ groups }) => ({
      groups: { add: (definition, jobs, incoming) => groups.add(definition, jobs.toReversed(), incoming) },
    }),
  },
  {
    name: 'a charge is not kept',
    mutate: ({ groups }) => ({
      groups: {
        add: (definition, jobs, incoming) => groups.add(definition, jobs.map(without('charge')), incoming),
      },
    }),
  },
  {
    name: 'jobs still to come are not counted',
    mutate: ({ groups }) => ({
      groups: { add: (definition, jobs) => groups.add(definition, jobs, jobs.length) },
    }),
  },
  {
    name: 'a wrong total is sealed',
    mutate: ({ groups }) => ({ groups: { seal: (key) => groups.seal(key) } }),
  },
  {
    name: 'fetch moves one job more',
    mutate: ({ gate }) => ({ gate: { fetch: (max) => gate.fetch(max + 1) } }),
  },
  {
    name: 'the next due time is a millisecond late',
    mutate: ({ gate }) => ({
      gate: {
        dispatch: async (max) => {
          const answer = await gate.dispatch(max);
          return answer.nextInMs === undefined ? answer : { ...answer, nextInMs: answer.nextInMs + 1 };
        },
      },
    }),
  },
  {
    name: 'jobs are leased in another order',
    mutate: ({ leases }) => ({
      leases: {
        reserve: async (request) => {
          const answer = await leases.reserve(request);
          return { ...answer, jobs: answer.jobs.toReversed() };
        },
      },
    }),
  },
  { name: 'a repeated request is a new one', mutate: countingRequests },
  {
    name: 'a batch is settled from its end',
    mutate: ({ leases }) => ({
      leases: { settle: async (batch) => (await leases.settle(batch.toReversed())).toReversed() },
    }),
  },
  {
    name: 'a batch is given back from its beginning',
    mutate: ({ leases }) => ({
      leases: { giveBack: async (batch) => (await leases.giveBack(batch.toReversed())).toReversed() },
    }),
  },
  {
    name: 'a stale report is called gone',
    mutate: ({ leases }) => ({
      leases: {
        settle: async (batch) =>
          (await leases.settle(batch)).map((one) => (one.status === 'stale' ? { status: 'gone' } : one)),
      },
    }),
  },
  {
    name: 'durations are rounded',
    mutate: ({ leases }) => ({
      leases: {
        settle: (batch) =>
          leases.settle(batch.map((one) => ({ ...one, durationMs: Math.round(one.durationMs) }))),
      },
    }),
  },
  {
    name: 'the back-off of orphans is not jittered',
    mutate: ({ leases }) => ({ leases: { recover: (randoms) => leases.recover(randoms.map(() => 0)) } }),
  },
  {
    name: 'a redrive knows no bound',
    mutate: ({ deadLetters }) => ({
      deadLetters: { redrive: (filter) => deadLetters.redrive(filter, 1000) },
    }),
  },
  {
    name: 'a purge does not look at the signature',
    mutate: ({ deadLetters }) => ({
      deadLetters: { purge: (filter, max) => deadLetters.purge(without('signature')(filter), max) },
    }),
  },
  {
    name: 'a page begins one item late',
    mutate: ({ views }) => ({
      views: {
        jobs: async (key, filter, limit, cursor) => {
          const page = await views.jobs(key, filter, limit, cursor);
          return cursor === undefined ? page : { ...page, items: page.items.slice(1) };
        },
      },
    }),
  },
  {
    name: 'nobody ever waits for a job',
    mutate: ({ instances }) => ({
      instances: { heartbeat: (instance) => instances.heartbeat({ ...instance, waiting: 0 }) },
    }),
  },
  {
    name: 'no group times out',
    mutate: () => ({ watch: { look: async () => ({ timedOut: [], looked: 0, more: false }) } }),
  },
  {
    name: 'a new timeout does not act',
    mutate: ({ groups }) => ({
      groups: { update: (key, patch) => groups.update(key, without('timeoutMs')(patch)) },
    }),
  },
  {
    name: 'an aggregation takes any types',
    mutate: ({ aggregations }) => ({
      aggregations: { claim: (token, ttlMs) => aggregations.claim(token, ttlMs) },
    }),
  },
  {
    name: 'a result is not kept',
    mutate: ({ leases }) => ({
      leases: {
        settle: (batch) =>
          leases.settle(batch.map((one) => ({ ...one, outcome: without('data')(one.outcome) }))),
      },
    }),
  },
  {
    name: 'numbers are not counted',
    mutate: ({ leases }) => ({
      leases: {
        settle: (batch) =>
          leases.settle(batch.map((one) => ({ ...one, outcome: without('numbers')(one.outcome) }))),
      },
    }),
  },
  {
    name: 'a failed aggregation is tried for ever',
    mutate: ({ aggregations }) => ({
      aggregations: {
        fail: async (key, round, token) =>
          (await aggregations.renew(key, round, token, 1000)) ? 'again' : 'lost',
      },
    }),
  },
  {
    name: 'a lease on an effect lasts too long',
    mutate: ({ once }) => ({ once: { begin: (key, token, ms) => once.begin(key, token, ms * 2) } }),
  },
];

/** As if every request for jobs had a number of its own. */
function countingRequests({ leases }: BulkStore): Parts {
  let seq = 0;
  return { leases: { reserve: (request) => leases.reserve({ ...request, seq: ++seq }) } };
}

/** Not wrong: tokens and cursors have no meaning to anybody but their store. */
export const ALIKE: Mutant = {
  name: 'tokens and cursors look different',
  mutate: ({ leases, views }) => {
    const far = 1_000_000;
    const near = <T extends { readonly token: number }>(lease: T): T => ({
      ...lease,
      token: lease.token - far,
    });
    return {
      leases: {
        reserve: async (request) => {
          const answer = await leases.reserve(request);
          return { ...answer, jobs: answer.jobs.map((job) => ({ ...job, token: job.token + far })) };
        },
        renew: (batch) => leases.renew(batch.map(near)),
        settle: (batch) => leases.settle(batch.map(near)),
        giveBack: (batch) => leases.giveBack(batch.map(near)),
      },
      views: {
        jobs: async (key, filter, limit, cursor) => {
          const page = await views.jobs(key, filter, limit, cursor?.slice(1));
          return { ...page, ...(page.cursor !== undefined && { cursor: `c${page.cursor}` }) };
        },
      },
    };
  },
};
