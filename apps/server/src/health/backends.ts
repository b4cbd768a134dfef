import type { Database } from '@millrace/postgres';

/** The time limit of a check. */
export const CHECK_MS = 1_000;

/** A service that the server depends on. */
export interface Backend {
  readonly name: string;
  /**
   * Checks the backend. Throws an error that describes the failure.
   * @returns a note about checks that could not run, if any.
   */
  check(): Promise<string | undefined>;
  /** Closes the connection of the checks. */
  stop?(): Promise<void>;
}

/** Checks that the database responds. */
export const databaseBackend = (database: Pick<Database, 'query'>): Backend => ({
  name: 'database',
  check: async () => {
    await database.query('SELECT 1', [], { timeoutMs: CHECK_MS });
    return undefined;
  },
});

/** Checks Redis. Loads the Redis client at the first check, because an embedded server does not need it. */
export function redisBackend(url: string): Backend {
  let opened: Promise<Backend> | undefined;
  const open = () => {
    opened ??= import('./redis-backend.js').then(({ openRedisBackend }) => openRedisBackend(url, CHECK_MS));
    return opened;
  };
  return {
    name: 'redis',
    check: async () => (await open()).check(),
    stop: async () => (await opened)?.stop?.(),
  };
}
