import type { AggregationClaim } from '../aggregation.js';
import type { Aggregations } from '../ports.js';
import type { Places } from './places.js';
import type { Shards } from './shards.js';
import { soonest } from './soonest.js';

/** Tokens whose shard is remembered. */
const TOKENS_MAX = 1000;

/** Aggregations over several shards. */
export function shardedAggregations(shards: Shards, places: Places): Aggregations {
  /** Where a token was used last: asked again after a lost answer, it finds what it holds. */
  const tokens = new Map<string, number>();
  let turn = 0;

  const remember = (token: string, shard: number) => {
    tokens.delete(token);
    tokens.set(token, shard);
    const [oldest] = tokens.keys();
    if (tokens.size > TOKENS_MAX) tokens.delete(oldest as string);
  };

  const claim = async (
    token: string,
    ttlMs: number,
    types?: readonly string[],
  ): Promise<AggregationClaim> => {
    const reviving = shards.revive();
    turn += 1;
    const last = tokens.get(token);
    const first = last ?? turn % shards.count;
    const order = Array.from({ length: shards.count }, (_, n) => (first + n) % shards.count);
    const isWorth = (shard: number) => shards.works(shard) || shard === last;
    if (!order.some(isWorth)) await reviving;
    const worth = order.filter(isWorth);
    const answers: AggregationClaim[] = [];
    let failure: { readonly error: unknown } | undefined;
    for (const shard of worth.length > 0 ? worth : order) {
      try {
        const answer = await shards.at(shard).aggregations.claim(token, ttlMs, types);
        answers.push(answer);
        if (!answer.aggregation) continue;
        remember(token, shard);
        places.note(answer.aggregation.key, shard);
        return answer;
      } catch (error) {
        shards.fail(shard, error);
        // It may hold something there now. If another shard gives it something else, the lock on that expires.
        remember(token, shard);
        failure ??= { error };
      }
    }
    if (answers.length === 0 && failure) throw failure.error;
    return soonest(answers);
  };

  return {
    claim,
    claimGroup: (key, token, ttlMs) =>
      places.at(
        key,
        ({ aggregations }) => aggregations.claimGroup(key, token, ttlMs),
        (answer) => answer === undefined,
      ),
    renew: (key, round, token, ttlMs) =>
      places.at(
        key,
        ({ aggregations }) => aggregations.renew(key, round, token, ttlMs),
        (held) => !held,
      ),
    page: (key, limit, cursor) =>
      places.at(
        key,
        ({ aggregations }) => aggregations.page(key, limit, cursor),
        ({ items, cursor: next }) => items.length === 0 && next === undefined,
      ),
    find: (key, jobId, max, cursor) =>
      places.at(
        key,
        ({ aggregations }) => aggregations.find(key, jobId, max, cursor),
        ({ found, cursor: next }) => found === undefined && next === undefined,
      ),
    finish: (key, round, token, data) =>
      places.at(
        key,
        ({ aggregations }) => aggregations.finish(key, round, token, data),
        (answer) => answer === 'lost',
      ),
    fail: (key, round, token, message) =>
      places.at(
        key,
        ({ aggregations }) => aggregations.fail(key, round, token, message),
        (answer) => answer === 'lost',
      ),
  };
}
