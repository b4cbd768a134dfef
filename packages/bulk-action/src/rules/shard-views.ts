import type { ResourcePoint, ResourceState } from '../congestion-stats.js';
import type { DeadLetterSignature, InstanceView, QueuesView } from '../model.js';

/* What all shards show together. */

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** The sum of limits; one that is not there is none. */
const sumOfLimits = (limits: readonly (number | null)[]): number | null =>
  limits.includes(null) ? null : sum(limits as readonly number[]);

/** Values by name, added. */
function added<K extends string>(records: readonly Readonly<Record<K, number>>[]): Record<K, number> {
  const total = new Map<K, number>();
  for (const record of records)
    for (const [name, value] of Object.entries(record) as [K, number][])
      total.set(name, (total.get(name) ?? 0) + value);
  return Object.fromEntries(total) as Record<K, number>;
}

/** Items of one name together, in the order in which the names first come. */
function grouped<T>(lists: readonly (readonly T[])[], nameOf: (item: T) => string | number): T[][] {
  const found = new Map<string | number, T[]>();
  for (const item of lists.flat()) {
    const name = nameOf(item);
    const same = found.get(name);
    if (same) same.push(item);
    else found.set(name, [item]);
  }
  return [...found.values()];
}

/**
 * The queues of all shards.
 * @param shards - of each.
 */
export function mergeQueues(shards: readonly QueuesView[]): QueuesView {
  const total = (
    name: { [K in keyof QueuesView]: QueuesView[K] extends number ? K : never }[keyof QueuesView],
  ) => sum(shards.map((queues) => queues[name]));
  return {
    tenants: total('tenants'),
    groups: total('groups'),
    parkedGroups: total('parkedGroups'),
    lane: total('lane'),
    ready: total('ready'),
    readyBound: total('readyBound'),
    nonReady: total('nonReady'),
    nonReadyByReason: added(shards.map(({ nonReadyByReason }) => nonReadyByReason)),
    inFlight: total('inFlight'),
    deadLetters: total('deadLetters'),
    liveSlots: total('liveSlots'),
    // A slot waits in every shard at once; the shard that was asked last knows of the starts in all others.
    waitingSlots: Math.min(...shards.map(({ waitingSlots }) => waitingSlots)),
    congestionRates: added(shards.map(({ congestionRates }) => congestionRates)),
    startsPerSecond: total('startsPerSecond'),
    oldestWaitingMs: Math.max(...shards.map(({ oldestWaitingMs }) => oldestWaitingMs)),
  };
}

/**
 * The instances as all shards know them.
 * @param shards - of each.
 */
export const mergeInstances = (shards: readonly (readonly InstanceView[])[]): InstanceView[] =>
  grouped(shards, ({ id }) => id).map((same) => ({
    id: (same[0] as InstanceView).id,
    startedAt: Math.min(...same.map(({ startedAt }) => startedAt)),
    slots: sum(same.map(({ slots }) => slots)),
    waiting: Math.min(...same.map(({ waiting }) => waiting)),
    processorTypes: [...new Set(same.flatMap(({ processorTypes }) => processorTypes))],
    silentMs: Math.min(...same.map(({ silentMs }) => silentMs)),
  }));

/**
 * The causes of dead letters, the most frequent first.
 * @param shards - of each shard or part of a list, all of them: one that is rare in each may be frequent in all. What fails in the same
 * millisecond as another is later in a later one.
 * @param limit - how many to show.
 */
export const mergeSignatures = (
  shards: readonly (readonly DeadLetterSignature[])[],
  limit: number,
): DeadLetterSignature[] =>
  grouped(shards, ({ signature }) => signature)
    .map((same) => ({
      ...same.reduce((last, one) => (one.lastFailedAt >= last.lastFailedAt ? one : last)),
      count: sum(same.map(({ count }) => count)),
      firstFailedAt: Math.min(...same.map(({ firstFailedAt }) => firstFailedAt)),
    }))
    .sort((a, b) => b.count - a.count || (a.signature < b.signature ? -1 : 1))
    .slice(0, limit);

/**
 * The called services as all shards know them, by name.
 * @param shards - of each.
 * @param pointEveryMs - the least time between two points of a history.
 */
export const mergeResources = (
  shards: readonly (readonly ResourceState[])[],
  pointEveryMs: number,
): ResourceState[] =>
  grouped(shards, ({ resource }) => resource)
    .map((same) => ({
      resource: (same[0] as ResourceState).resource,
      rate: sum(same.map(({ rate }) => rate)),
      limit: sumOfLimits(same.map(({ limit }) => limit)),
      concurrency: sumOfLimits(same.map(({ concurrency }) => concurrency)),
      // As long as one shard may call it, it is called.
      frozenForMs: Math.min(...same.map(({ frozenForMs }) => frozenForMs)),
      starts: sum(same.map(({ starts }) => starts)),
      throttles: sum(same.map(({ throttles }) => throttles)),
      history: mergeHistories(
        same.map(({ history }) => history),
        pointEveryMs,
      ),
    }))
    .sort((a, b) => (a.resource < b.resource ? -1 : 1));

/** Points of the same interval are added; a shard has at most one in each. */
const mergeHistories = (
  histories: readonly (readonly ResourcePoint[])[],
  pointEveryMs: number,
): ResourcePoint[] =>
  grouped(histories, ({ at }) => Math.floor(at / pointEveryMs))
    .map((same) => ({
      at: Math.max(...same.map(({ at }) => at)),
      rate: sum(same.map(({ rate }) => rate)),
      limit: sumOfLimits(same.map(({ limit }) => limit)),
      concurrency: sumOfLimits(same.map(({ concurrency }) => concurrency)),
      throttles: sum(same.map(({ throttles }) => throttles)),
    }))
    .sort((a, b) => a.at - b.at);
