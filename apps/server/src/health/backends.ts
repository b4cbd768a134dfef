import type { Database } from '@millrace/postgres';
import { type Backend, CHECK_MS } from './backend.js';

/** The database: whether it answers. */
export const databaseBackend = (database: Pick<Database, 'query'>): Backend => ({
  name: 'database',
  check: async () => {
    await database.query('SELECT 1', [], { timeoutMs: CHECK_MS });
    return undefined;
  },
});

/**
 * Redis, whose client is loaded when it is asked for the first time: an embedded server has no use for it.
 */
export function redisBackend(url: string): Backend {
  let opened: Promise<Backend> | undefined;
  const open = () => {
    opened ??= import('./redis-backend.js').then(({ openRedisBackend }) => openRedisBackend(url));
    return opened;
  };
  return {
    name: 'redis',
    check: async () => (await open()).check(),
    stop: async () => (await opened)?.stop?.(),
  };
}
