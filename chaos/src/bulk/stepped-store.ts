import type { Aggregations, BulkStore, Gate, Leases } from '@millrace/bulk-action';
import type { AtStep, DEEDS } from './steps.js';

type Stepping = <T>(
  deed: (typeof DEEDS)[number],
  call: () => Promise<T>,
  /** Whether the call has done something: what follows an empty one is the same as what precedes it. */
  did?: (answer: T) => boolean,
) => Promise<T>;

/**
 * A store that says where it is, for all that a worker process calls. What it stores is the store's that it stands before.
 */
export function steppedStore(store: BulkStore, at: AtStep): BulkStore {
  const { groups, views, deadLetters, once, wakeUps, upkeep, watch, instances } = store;
  const step: Stepping = async (deed, call, did = () => true) => {
    at(`before ${deed}`);
    const answer = await call();
    if (did(answer)) at(`after ${deed}`);
    return answer;
  };
  return {
    ...{ groups, views, deadLetters, once, wakeUps },
    gate: steppedGate(store.gate, step),
    leases: steppedLeases(store.leases, step, at),
    aggregations: steppedAggregations(store.aggregations, step),
    upkeep: {
      sweep: (max) =>
        step(
          'sweep',
          () => upkeep.sweep(max),
          ({ swept }) => swept > 0,
        ),
    },
    watch: {
      look: (max) => step('look', () => watch.look(max)),
      reconcile: (max, cursor) => step('reconcile', () => watch.reconcile(max, cursor)),
    },
    instances: {
      heartbeat: (instance) => step('heartbeat', () => instances.heartbeat(instance)),
      leave: (instanceId) => step('leave', () => instances.leave(instanceId)),
      list: () => instances.list(),
    },
    start: () => store.start(),
    stop: () => store.stop(),
  };
}

const steppedGate = (gate: Gate, step: Stepping): Gate => ({
  fetch: (max) =>
    step(
      'fetch',
      () => gate.fetch(max),
      ({ ready }) => ready > 0,
    ),
  dispatch: (max) =>
    step(
      'dispatch',
      () => gate.dispatch(max),
      ({ moved }) => moved > 0,
    ),
  admit: (key, jobId) => gate.admit(key, jobId),
  checkRate: (key, cost) => gate.checkRate(key, cost),
});

const steppedLeases = (leases: Leases, step: Stepping, at: AtStep): Leases => ({
  reserve: (request) =>
    step(
      'reserve',
      () => leases.reserve(request),
      ({ jobs }) => jobs.length > 0,
    ),
  renew: (refs) => step('renew', () => leases.renew(refs)),
  async settle(settlements) {
    const kinds = [...new Set(settlements.map(({ outcome }) => outcome.kind))];
    for (const kind of kinds) at(`before settle ${kind}`);
    const answers = await leases.settle(settlements);
    for (const kind of kinds) at(`after settle ${kind}`);
    return answers;
  },
  giveBack: (refs) => step('give back', () => leases.giveBack(refs)),
  recover: (randoms) =>
    step(
      'recover',
      () => leases.recover(randoms),
      ({ recovered }) => recovered > 0,
    ),
  giveBackAll: (instanceId, max) => leases.giveBackAll(instanceId, max),
  ...(leases.partOf && { partOf: (key) => leases.partOf?.(key) ?? 0 }),
});

const steppedAggregations = (aggregations: Aggregations, step: Stepping): Aggregations => ({
  claim: (token, ttlMs, types) =>
    step(
      'claim aggregation',
      () => aggregations.claim(token, ttlMs, types),
      ({ aggregation }) => aggregation !== undefined,
    ),
  claimGroup: (key, token, ttlMs) => aggregations.claimGroup(key, token, ttlMs),
  renew: (key, round, token, ttlMs) =>
    step('renew aggregation', () => aggregations.renew(key, round, token, ttlMs)),
  page: (key, limit, cursor) => step('page of results', () => aggregations.page(key, limit, cursor)),
  find: (key, jobId, max, cursor) => aggregations.find(key, jobId, max, cursor),
  finish: (key, round, token, data) =>
    step('finish aggregation', () => aggregations.finish(key, round, token, data)),
  fail: (key, round, token, message) =>
    step('fail aggregation', () => aggregations.fail(key, round, token, message)),
});
