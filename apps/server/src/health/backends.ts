import { MillraceError } from '@millrace/foundation';
import type { Database } from '@millrace/postgres';
import { ERRORS as REDIS_ERRORS, RedisConnection } from '@millrace/redis';

/** How long a backend may take to answer. */
export const CHECK_MS = 1_000;

/** Something that a server needs. */
export interface Backend {
  readonly name: string;
  /**
   * Asks it. Throws with what is wrong.
   * @returns what could not be looked at, if anything.
   */
  check(): Promise<string | undefined>;
  /** Lets go of what the asking needs. */
  stop?(): Promise<void>;
}

/**
 * The database: whether it answers.
 * @param database - opened.
 */
export const databaseBackend = (database: Pick<Database, 'query'>): Backend => ({
  name: 'database',
  check: async () => {
    await database.query('SELECT 1', [], { timeoutMs: CHECK_MS });
    return undefined;
  },
});

/**
 * Redis: whether it answers, and whether it keeps what it is given. By a connection of its own, so that a queue of calls that wait is
 * not taken for a Redis that is silent.
 * @param url - where it is.
 */
export function redisBackend(url: string): Backend {
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

/**
 * Whether Redis answers, and says that this user may not ask.
 * @param error - that a call to it failed with.
 */
export const isForbidden = (error: unknown): boolean =>
  REDIS_ERRORS.is(error, 'REDIS_REFUSED') &&
  error instanceof MillraceError &&
  /NOPERM|unknown command/i.test(error.message);
