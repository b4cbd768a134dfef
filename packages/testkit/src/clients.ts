import { Redis } from 'ioredis';
import pg from 'pg';

/**
 * Connects to a Redis, calls `use` and disconnects. Fails at once, without retries, if the server is gone.
 * @param timeoutMs - limit of the connect and of each command (none).
 */
export async function withRedis<T>(
  url: string,
  use: (redis: Redis) => Promise<T>,
  timeoutMs?: number,
): Promise<T> {
  const redis = new Redis(url, {
    lazyConnect: true,
    protocol: 2,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    enableReadyCheck: false,
    disableClientInfo: true,
    disconnectTimeout: 1,
    ...(timeoutMs && { connectTimeout: timeoutMs, commandTimeout: timeoutMs }),
  });
  redis.on('error', () => {}); // Reported by the call that fails.
  try {
    return await use(redis);
  } finally {
    const { stream } = redis;
    redis.disconnect();
    // A frozen server does not close its side.
    stream?.destroy();
  }
}

/** Connects to a PostgreSQL, calls `use` and disconnects. */
export async function withPostgres<T>(
  url: string,
  use: (client: pg.Client) => Promise<T>,
  timeoutMs?: number,
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    ...(timeoutMs && { connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs }),
  });
  client.on('error', () => {}); // Reported by the call that fails.
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end();
  }
}
