import { describe, expect, it } from 'vitest';
import type { ResourceState } from '../../src/congestion-stats.js';
import type { QueuesView } from '../../src/model.js';
import { outerToken, shardToken } from '../../src/rules/shard-tokens.js';
import { mergeInstances, mergeQueues, mergeResources, mergeSignatures } from '../../src/rules/shard-views.js';

const queues = (n: number, fields: Partial<QueuesView> = {}): QueuesView => ({
  tenants: n,
  groups: n,
  parkedGroups: n,
  lane: n,
  ready: n,
  readyBound: n,
  nonReady: n,
  nonReadyByReason: {
    RATE_LIMITED: n,
    API_THROTTLED: 0,
    TRANSIENT_ERROR: 0,
    SCHEDULED: 0,
    NO_PROCESSOR: 0,
    ORPHANED: 1,
  },
  inFlight: n,
  deadLetters: n,
  liveSlots: n,
  waitingSlots: n,
  congestionRates: {},
  startsPerSecond: n,
  oldestWaitingMs: n,
  ...fields,
});

describe('bulk-action BA-16: what several shards show together', () => {
  it('bulk-action BA-16: queues are added; slots that wait do so in every shard, and the oldest is the oldest of all', () => {
    const merged = mergeQueues([
      queues(1, { congestionRates: { mail: 5 }, waitingSlots: 7 }),
      queues(10, { congestionRates: { mail: 6, push: 1 }, waitingSlots: 4 }),
    ]);
    expect(merged).toEqual({
      ...queues(11),
      nonReadyByReason: { ...queues(11).nonReadyByReason, ORPHANED: 2 },
      waitingSlots: 4,
      oldestWaitingMs: 10,
      congestionRates: { mail: 11, push: 1 },
    });
  });

  it('bulk-action BA-18: an instance has the slots that it has in all, and was heard of when it last was', () => {
    const one = { id: 'one', startedAt: 5, slots: 4, waiting: 3, processorTypes: ['mail'], silentMs: 200 };
    const merged = mergeInstances([
      [one],
      [{ ...one, startedAt: 4, slots: 3, waiting: 1, silentMs: 90 }],
      [],
    ]);
    expect(merged).toEqual([{ ...one, startedAt: 4, slots: 7, waiting: 1, silentMs: 90 }]);
  });

  it('bulk-action BA-8: what is rare in each shard may be the most frequent in all', () => {
    const of = (
      signature: string,
      count: number,
      lastFailedAt: number,
      firstFailedAt = lastFailedAt - 1,
    ) => ({
      ...{ signature, count, firstFailedAt, lastFailedAt, processorType: 'mail', code: 'DOWN' },
      sample: { groupId: 'g', jobId: `${signature}${lastFailedAt}`, message: 'it is down' },
    });
    const merged = mergeSignatures(
      [
        [of('a', 5, 1), of('b', 4, 9)],
        [of('c', 5, 1), of('b', 4, 7)],
      ],
      2,
    );
    expect(merged).toEqual([of('b', 8, 9, 6), of('a', 5, 1)]);
    const later = { ...of('b', 1, 9), code: 'LATER' };
    expect(mergeSignatures([[of('b', 1, 9)], [later]], 1)).toEqual([{ ...later, count: 2 }]);
  });

  it('bulk-action BA-16: resources are added by name, and one without a limit anywhere has none', () => {
    const resource = (fields: Partial<ResourceState>): ResourceState => ({
      resource: 'mail',
      rate: 1,
      limit: 10,
      concurrency: 2,
      frozenForMs: 100,
      starts: 3,
      throttles: 1,
      history: [],
      ...fields,
    });
    const point = (at: number, limit: number | null) => ({
      at,
      rate: 1,
      limit,
      concurrency: null,
      throttles: 2,
    });
    const merged = mergeResources(
      [
        [resource({ history: [point(1000, 5), point(6000, 5)] }), resource({ resource: 'a' })],
        [resource({ limit: null, frozenForMs: 0, history: [point(1200, 7), point(12_000, null)] })],
      ],
      5000,
    );
    expect(merged.map(({ resource: name }) => name)).toEqual(['a', 'mail']);
    expect(merged[1]).toEqual({
      resource: 'mail',
      rate: 2,
      limit: null,
      concurrency: 4,
      frozenForMs: 0,
      starts: 6,
      throttles: 2,
      history: [
        { at: 1200, rate: 2, limit: 12, concurrency: null, throttles: 4 },
        { at: 6000, rate: 1, limit: 5, concurrency: null, throttles: 2 },
        { at: 12_000, rate: 1, limit: null, concurrency: null, throttles: 2 },
      ],
    });
  });

  it('bulk-action BA-15: the token of one shard is worth nothing in another', () => {
    const tokens = [0, 1, 2].map((shard) => outerToken(5, 3, shard));
    expect(new Set(tokens).size).toBe(3);
    for (const [shard, token] of tokens.entries()) {
      expect(shardToken(token, 3, shard)).toBe(5);
      expect(shardToken(token, 3, (shard + 1) % 3)).toBe(0);
    }
  });
});
