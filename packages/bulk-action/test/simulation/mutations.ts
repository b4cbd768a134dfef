import type { LeaseRef, ReserveAnswer } from '../../src/lease.js';
import type { BulkStore, GroupDefinition, Leases } from '../../src/ports.js';
import type { Invariant } from './truth.js';

/** A store that breaks one promise, and by what a run notices. */
export interface Mutation {
  readonly name: string;
  readonly breaks: readonly Invariant[];
  mutate(store: BulkStore): BulkStore;
}

const withLeases = (store: BulkStore, change: (leases: Leases) => Partial<Leases>): BulkStore => ({
  ...store,
  leases: { ...store.leases, ...change(store.leases) },
  start: () => store.start(),
  stop: () => store.stop(),
});

const withDefinitions = (
  store: BulkStore,
  change: <T extends Partial<GroupDefinition> | object>(given: T) => T,
): BulkStore => {
  const { groups } = store;
  return {
    ...store,
    groups: {
      ...groups,
      create: (definition) => groups.create(change(definition)),
      add: (definition, jobs, incoming) => groups.add(change(definition), jobs, incoming),
      update: (key, patch) => groups.update(key, change(patch)),
      updateTenant: (id, patch) => groups.updateTenant(id, change(patch)),
    },
    start: () => store.start(),
    stop: () => store.stop(),
  };
};

const without =
  (...names: readonly string[]) =>
  <T extends object>(given: T): T =>
    Object.fromEntries(Object.entries(given).filter(([name]) => !names.includes(name))) as T;

/** Remembers which token holds each job, as the store does. */
function watchTokens(leases: Leases): {
  readonly reserve: Leases['reserve'];
  readonly current: (lease: LeaseRef) => number;
} {
  const tokens = new Map<string, number>();
  return {
    reserve: async (request): Promise<ReserveAnswer> => {
      const answer = await leases.reserve(request);
      for (const { key, jobId, token } of answer.jobs) tokens.set(`${key}#${jobId}`, token);
      return answer;
    },
    current: ({ key, jobId, token }) => tokens.get(`${key}#${jobId}`) ?? token,
  };
}

/** Stores that are broken on purpose: a simulation that does not notice them proves nothing. */
export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'the fence lets stale tokens through',
    breaks: ['I4'],
    mutate: (store) =>
      withLeases(store, (leases) => {
        const { reserve, current } = watchTokens(leases);
        return {
          reserve,
          settle: (settlements) => leases.settle(settlements.map((one) => ({ ...one, token: current(one) }))),
        };
      }),
  },
  {
    name: 'a repeated reserve is taken for a new one',
    breaks: ['SEQ'],
    mutate: (store) =>
      withLeases(store, (leases) => {
        let seq = 0;
        return { reserve: (request) => leases.reserve({ ...request, seq: ++seq }) };
      }),
  },
  {
    name: 'giving a job back spends a retry',
    breaks: ['I3'],
    mutate: (store) =>
      withLeases(store, (leases) => ({
        giveBack: async (refs) => {
          const error = { code: 'X', message: 'x' };
          const retry = {
            kind: 'retry',
            error,
            reason: 'TRANSIENT_ERROR',
            delayMs: 0,
            spendsRetry: true,
          } as const;
          const answers = await leases.settle(refs.map((ref) => ({ ...ref, durationMs: 0, outcome: retry })));
          return answers.map(({ status }) => (status === 'accepted' ? 'lane' : status));
        },
      })),
  },
  {
    name: 'a settlement is acknowledged and forgotten',
    breaks: ['I2', 'I8'],
    mutate: (store) =>
      withLeases(store, (leases) => {
        let settled = 0;
        return {
          settle: async (settlements) => {
            const [first] = settlements;
            if (settlements.length !== 1 || first?.outcome.kind !== 'success' || ++settled !== 3)
              return leases.settle(settlements);
            return [{ status: 'accepted', jobStatus: 'COMPLETED', groupStatus: 'RUNNING' }];
          },
        };
      }),
  },
  {
    name: 'expired leases are never recovered',
    breaks: ['I10'],
    mutate: (store) =>
      withLeases(store, () => ({ recover: async () => ({ recovered: 0, dead: [], more: false }) })),
  },
  {
    name: 'leases are taken away before they end',
    breaks: ['I3'],
    mutate: (store) =>
      withLeases(store, (leases) => ({
        recover: async (randoms) => {
          await leases.giveBackAll('i1', 1);
          return leases.recover(randoms);
        },
      })),
  },
  {
    name: 'caps are ignored',
    breaks: ['I5'],
    mutate: (store) => withDefinitions(store, without('concurrency')),
  },
  {
    name: 'rates are ignored',
    breaks: ['I7'],
    mutate: (store) => withDefinitions(store, without('rps', 'burst')),
  },
  {
    name: 'weights are ignored',
    breaks: ['I6'],
    mutate: (store) =>
      withDefinitions(store, (given) => ({
        ...given,
        ...('weight' in given && { weight: 1 }),
        ...('priorityLevel' in given && { priorityLevel: 'normal' }),
      })),
  },
  {
    name: 'the last job of a batch is dropped',
    breaks: ['I8', 'I1'],
    mutate: (store) => {
      const { groups } = store;
      const add: typeof groups.add = async (definition, jobs, incoming) => {
        const answer = await groups.add(definition, jobs.slice(0, -1), incoming);
        return answer.kind === 'added' ? { ...answer, added: jobs.length } : answer;
      };
      return { ...store, groups: { ...groups, add }, start: () => store.start(), stop: () => store.stop() };
    },
  },
  {
    name: 'the lock on results keeps nobody away, and whoever adds them up last wins',
    breaks: ['I4'],
    mutate: (store) => {
      const { aggregations } = store;
      const done = new Set<string>();
      const finish: typeof aggregations.finish = async (key, round, token, data) => {
        const answer = await aggregations.finish(key, round, token, data);
        if (answer === 'done') done.add(`${key} ${round}`);
        return done.has(`${key} ${round}`) ? 'done' : answer;
      };
      return {
        ...store,
        aggregations: {
          ...aggregations,
          claim: (token, _ttlMs, types) => aggregations.claim(token, 0, types),
          finish,
        },
        start: () => store.start(),
        stop: () => store.stop(),
      };
    },
  },
  {
    name: 'results are given twice',
    breaks: ['I14'],
    mutate: (store) => {
      const { aggregations } = store;
      const page: typeof aggregations.page = async (...args) => {
        const { items, ...rest } = await aggregations.page(...args);
        return { ...rest, items: [...items, ...items] };
      };
      return {
        ...store,
        aggregations: { ...aggregations, page },
        start: () => store.start(),
        stop: () => store.stop(),
      };
    },
  },
  {
    name: 'groups that make progress time out',
    breaks: ['I10'],
    mutate: (store) =>
      withDefinitions(store, (given) => ('timeoutMs' in given ? { ...given, timeoutMs: 50 } : given)),
  },
  {
    name: 'pausing does nothing',
    breaks: ['PAUSE'],
    mutate: (store) => {
      const { groups } = store;
      const pause: typeof groups.pause = async () => ({ kind: 'done', status: 'RUNNING', changed: true });
      return { ...store, groups: { ...groups, pause }, start: () => store.start(), stop: () => store.stop() };
    },
  },
];
