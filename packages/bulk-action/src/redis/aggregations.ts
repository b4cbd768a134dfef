import {
  AGGREGATION_LOOKS_MAX,
  AGGREGATION_PAUSE_MS,
  AGGREGATION_RETRIES,
  type AggregationClaim,
  type StoredResult,
} from '../aggregation.js';
import { type Aggregations } from '../ports.js';
import { plainCursor } from '../rules/shard-pages.js';
import type { EngineLink } from './engine-link.js';
import type { Values } from './scripts.js';

/** Aggregations on Redis. */
export const redisAggregations = (link: EngineLink): Aggregations => {
  const claim = async (key: string, token: string, ttlMs: number, types?: readonly string[]) =>
    claimOf(
      await link.run('claimAggregation', {
        key,
        token,
        ttlMs,
        looksMax: AGGREGATION_LOOKS_MAX,
        any: types ? 0 : 1,
        types: types ?? [],
      }),
    );
  return {
    claim: async (token, ttlMs, types) => (await claim('', token, ttlMs, types)) ?? {},
    claimGroup: (key, token, ttlMs) => claim(key, token, ttlMs),
    renew: async (key, round, token, ttlMs) =>
      (await link.run('renewAggregation', { key, round, token, ttlMs })) === 1,
    async page(key, limit, cursor) {
      const [next, ...items] = await link.run('readResults', {
        key,
        limit,
        cursor: plainCursor(cursor) ?? 0,
      });
      return {
        items: items.map((text) => resultOf(String(text))),
        ...(Number(next) >= 0 && { cursor: String(next) }),
      };
    },
    async find(key, jobId, max, cursor) {
      const [next, text] = await link.run('findResult', { key, jobId, max, cursor: cursor ?? '-' });
      if (text !== undefined) return { found: resultOf(String(text)) };
      return Number(next) > 0 ? { cursor: String(next) } : {};
    },
    finish: async (key, round, token, data = '') =>
      (await link.run('finishAggregation', { key, round, token, data })) as 'done' | 'lost',
    fail: async (key, round, token, message) =>
      (await link.run('failAggregation', {
        key,
        round,
        token,
        message,
        retries: AGGREGATION_RETRIES,
        pauseMs: AGGREGATION_PAUSE_MS,
      })) as 'again' | 'failed' | 'lost',
  };
};

/** As lua/claim-aggregation.lua answers. */
function claimOf([kind, ...rest]: Values): AggregationClaim | undefined {
  if (kind === 'no') return undefined;
  if (kind === 'none') {
    const nextInMs = Number(rest[0]);
    return nextInMs < 0 ? {} : { nextInMs };
  }
  const [key, round, total, success, failed, startedAt, completedAt, traceparent, ...types] = rest;
  return {
    aggregation: {
      key: String(key),
      round: Number(round),
      types: types.map(String),
      total: Number(total),
      success: Number(success),
      failed: Number(failed),
      startedAt: Number(startedAt),
      completedAt: Number(completedAt),
      traceparent: String(traceparent),
    },
  };
}

/** Job, data and type in lines, as lua/results.lua keeps them; only the type may hold a line break. */
function resultOf(text: string): StoredResult {
  const first = text.indexOf('\n');
  const second = text.indexOf('\n', first + 1);
  const data = text.slice(first + 1, second);
  return {
    jobId: text.slice(0, first),
    processorType: text.slice(second + 1),
    ...(data !== '' && { data }),
  };
}
