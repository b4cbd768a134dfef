import { encodeId } from '@millrace/redis';
import type { IdempotencyStore } from '../ports.js';
import type { EngineLink } from './engine-link.js';

/** Effects that happen once, on Redis. */
export const redisOnce = (link: EngineLink): IdempotencyStore => {
  const run = (verb: string, key: string, token: string, ms: number, result = '') =>
    link.run('once', { verb, name: encodeId(key), token, ms, result });
  return {
    async begin(key, token, leaseMs) {
      const [kind, value] = await run('begin', key, token, leaseMs);
      if (kind === 'done') return { kind: 'done', result: String(value) };
      return kind === 'busy' ? { kind: 'busy', retryInMs: Number(value) } : { kind: 'run' };
    },
    renew: async (key, token, leaseMs) => (await run('renew', key, token, leaseMs))[0] === 'ok',
    finish: async (key, token, result, ttlMs) => (await run('finish', key, token, ttlMs, result))[0] === 'ok',
    async release(key, token) {
      await run('release', key, token, 0);
    },
  };
};
