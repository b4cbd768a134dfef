import { MillraceError } from '@millrace/foundation';
import { ERRORS as REDIS_ERRORS, RedisConnection } from '@millrace/redis';

/**
 * Checks that Redis responds and does not evict keys. Uses its own connection, so that a queue of waiting calls does not make Redis
 * look unresponsive.
 * @param timeoutMs - the time limit of a check.
 */
export function openRedisBackend(url: string, timeoutMs: number) {
  const redis = new RedisConnection({
    url,
    connectionName: 'millrace-health',
    callTimeoutMs: timeoutMs,
    connectTimeoutMs: timeoutMs,
    watchdogMs: 2 * timeoutMs,
  });
  return {
    name: 'redis',
    async check(): Promise<string | undefined> {
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

/** Reports whether Redis denied a command to this user. */
export const isForbidden = (error: unknown): boolean =>
  REDIS_ERRORS.is(error, 'REDIS_REFUSED') &&
  error instanceof MillraceError &&
  /NOPERM|unknown command/i.test(error.message);
