import type { AggregationClaim } from '../aggregation.js';
import type { Aggregations } from '../ports.js';
import type { Places } from './places.js';
import type { Shards } from './shards.js';
import { soonest } from './soonest.js';

/** Tokens whose shard is remembered. */
const TOKENS_MAX = 1000;

/** Where tokens were used last: one that is asked with again after a lost answer finds what it holds. */
class TokenShards {
  readonly #shards = new Map<string, number>();

  of(token: string): number | undefined {
    return this.#shards.get(token);
  }

  remember(token: string, shard: number): void {
    this.#shards.delete(token);
    this.#shards.set(token, shard);
    const [oldest] = this.#shards.keys();
    if (this.#shards.size > TOKENS_MAX) this.#shards.delete(oldest as string);
  }
}

/** Asks one shard after the other, each time another one first, until one has something to add up. */
function claimInTurn(shards: Shards, places: Places): Aggregations['claim'] {
  const tokens = new TokenShards();
  let turn = 0;
  return async (token, ttlMs, types) => {
    const reviving = shards.revive();
    turn += 1;
    const last = tokens.of(token);
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
        tokens.remember(token, shard);
        places.note(answer.aggregation.key, shard);
        return answer;
      } catch (error) {
        shards.fail(shard, error);
        // It may hold something there now. If another shard gives it something else, the lock on that expires.
        tokens.remember(token, shard);
        failure ??= { error };
      }
    }
    if (answers.length === 0 && failure) throw failure.error;
    return soonest(answers);
  };
}

/** Aggregations over several shards. */
export function shardedAggregations(shards: Shards, places: Places): Aggregations {
  return {
    claim: claimInTurn(shards, places),
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
