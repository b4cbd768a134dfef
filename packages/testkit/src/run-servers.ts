import { startPostgres } from './postgres-server.js';
import { startRedis } from './redis-server.js';

/** The servers of one test run. */
export interface RunServers extends AsyncDisposable {
  /** What the test processes need in their environment to find the servers. */
  readonly environment: {
    readonly MILLRACE_TEST_REDIS_URL: string;
    readonly MILLRACE_TEST_POSTGRES_URL: string;
  };
  /** Stops both. */
  stop(): Promise<void>;
}

/**
 * Starts one Redis and one PostgreSQL at the same time, for all test processes of a run to share.
 * @returns both, ready.
 * @throws Error of the one that did not start; the other has been stopped.
 */
export async function startRunServers(): Promise<RunServers> {
  const starts = await Promise.allSettled([startRedis(), startPostgres()]);
  const [redis, postgres] = starts;
  if (redis.status === 'rejected' || postgres.status === 'rejected') {
    await Promise.all(starts.map((start) => start.status === 'fulfilled' && start.value.stop()));
    throw redis.status === 'rejected' ? redis.reason : (postgres as PromiseRejectedResult).reason;
  }
  const stop = async () => {
    await Promise.all([redis.value.stop(), postgres.value.stop()]);
  };
  return {
    environment: {
      MILLRACE_TEST_REDIS_URL: redis.value.url,
      MILLRACE_TEST_POSTGRES_URL: postgres.value.url,
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
