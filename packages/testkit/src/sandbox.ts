import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import pg from 'pg';
import { startPostgres } from './postgres-server.js';
import { startRedis } from './redis-server.js';
import { shareServer } from './shared-server.js';

/** A part of a Redis that belongs to one test file. Disposing of it removes its keys and gives the server back. */
export interface RedisSandbox extends AsyncDisposable {
  readonly url: string;
  /** Belongs in every key the test writes; holds no braces, so that the code under test chooses its hash tags. */
  readonly namespace: string;
  /** Removes every key that has the namespace in it; the sandbox can be used on. */
  flush(): Promise<void>;
}

/** A database that belongs to one test file. Disposing of it is the same as `drop`. */
export interface PostgresSandbox extends AsyncDisposable {
  readonly url: string;
  readonly database: string;
  /** Drops the database, whoever is still connected, and gives the server back; a second call does nothing. */
  drop(): Promise<void>;
}

const KEYS_PER_BATCH = 1_000;

const redisOfThisProcess = shareServer(() => startRedis());
const postgresOfThisProcess = shareServer(() => startPostgres());

/**
 * Gives a test file its own namespace on the Redis of the run (`MILLRACE_TEST_REDIS_URL`), or on one that is
 * started for this process when the run has none.
 * @returns an empty sandbox.
 * @throws Error when a server has to be started and cannot be.
 */
export async function redisSandbox(): Promise<RedisSandbox> {
  const { url, release } = await serverOf('MILLRACE_TEST_REDIS_URL', redisOfThisProcess);
  const namespace = `t-${randomBytes(8).toString('hex')}`;
  const flush = () => unlinkKeysWith(url, namespace);
  return {
    url,
    namespace,
    flush,
    [Symbol.asyncDispose]: () => flush().finally(release),
  };
}

/**
 * Gives a test file its own database on the PostgreSQL of the run (`MILLRACE_TEST_POSTGRES_URL`), or on one that is
 * started for this process when the run has none.
 * @returns a sandbox with an empty database.
 * @throws Error when a server has to be started and cannot be, or refuses the database.
 */
export async function postgresSandbox(): Promise<PostgresSandbox> {
  const { url: maintenanceUrl, release } = await serverOf(
    'MILLRACE_TEST_POSTGRES_URL',
    postgresOfThisProcess,
  );
  const database = `t_${randomBytes(8).toString('hex')}`;
  try {
    // template0, since template1 cannot be copied while anybody is connected to it.
    await run(maintenanceUrl, `CREATE DATABASE ${database} TEMPLATE template0`);
  } catch (error) {
    await release();
    throw error;
  }
  const url = new URL(maintenanceUrl);
  url.pathname = `/${database}`;
  let dropped: Promise<void> | undefined;
  const drop = () => {
    dropped ??= run(maintenanceUrl, `DROP DATABASE IF EXISTS ${database} WITH (FORCE)`).finally(release);
    return dropped;
  };
  return { url: url.href, database, drop, [Symbol.asyncDispose]: drop };
}

async function serverOf(
  variable: string,
  ownServer: () => Promise<{ server: { url: string }; release: () => Promise<void> }>,
): Promise<{ url: string; release: () => Promise<void> }> {
  const urlOfTheRun = process.env[variable];
  if (urlOfTheRun) return { url: urlOfTheRun, release: async () => {} };
  const { server, release } = await ownServer();
  return { url: server.url, release };
}

async function unlinkKeysWith(url: string, namespace: string): Promise<void> {
  // No second try: a flush against a server that a test has killed must fail at once instead of waiting for it.
  const redis = new Redis(url, {
    lazyConnect: true,
    protocol: 2,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  redis.on('error', () => {}); // Reported by the call that fails.
  try {
    await redis.connect();
    let cursor = '0';
    do {
      const [next, keys] = await redis.scan(cursor, 'MATCH', `*${namespace}*`, 'COUNT', KEYS_PER_BATCH);
      if (keys.length > 0) await redis.unlink(...keys);
      cursor = next;
    } while (cursor !== '0');
  } finally {
    redis.disconnect();
  }
}

async function run(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {}); // Reported by the call that fails.
  try {
    await client.connect();
    await client.query(sql);
  } finally {
    await client.end();
  }
}
