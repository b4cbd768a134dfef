import { MillraceError } from '@millrace/foundation';
import { ERRORS as REDIS_ERRORS, RedisConnection } from '@millrace/redis';
import { type Backend, CHECK_MS } from './backend.js';

/**
 * Redis: whether it answers, and whether it keeps what it is given. By a connection of its own, so that a queue of calls that wait is
 * not taken for a Redis that is silent.
 */
export function openRedisBackend(url: string): Backend {
  const redis = new RedisConnection({
    url,
    connectionName: 'millrace-health',
    callTimeoutMs: CHECK_MS,
    connectTimeoutMs: CHECK_MS,
    watchdogMs: 2 * CHECK_MS,
  });
  return {
    name: 'redis',
    async check() {
      try {
        await redis.requireNoEviction();
        return undefined;
      } catch (error) {
        if (!isForbidden(error)) throw error;
        await redis.call('PING');
        return 'The user of redisUrl may not run INFO, so nobody has looked whether maxmemory-policy is noeviction; allow +info';
      }
    },
    stop: () => redis.stop(),
  };
}

/** Whether Redis answers, and says that this user may not ask. */
export const isForbidden = (error: unknown): boolean =>
  REDIS_ERRORS.is(error, 'REDIS_REFUSED') &&
  error instanceof MillraceError &&
  /NOPERM|unknown command/i.test(error.message);
