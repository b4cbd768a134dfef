import { randomBytes } from 'node:crypto';
import { withPostgres, withRedis } from './clients.js';
import { startPostgres } from './postgres-server.js';
import type { PrivateServer } from './private-server.js';
import { startRedis } from './redis-server.js';

/** A namespace on a Redis for one test file. Disposing of it removes its keys. */
export interface RedisSandbox extends AsyncDisposable {
  readonly url: string;
  /** Part of every key the test writes. Contains no braces: the code under test chooses its hash tags. */
  readonly namespace: string;
  /** Removes every key that contains the namespace. */
  flush(): Promise<void>;
}

/** A database for one test file. Disposing of it is the same as `drop`. */
export interface PostgresSandbox extends AsyncDisposable {
  readonly url: string;
  readonly database: string;
  /** Drops the database and the connections to it. A second call does nothing. */
  drop(): Promise<void>;
}

const KEYS_PER_BATCH = 1_000;

const privateServers = new Map<string, Promise<PrivateServer>>();

/** The address of the server of the run or, without one, of a private server that ends with this process. */
async function serverOf(variable: string, start: () => Promise<PrivateServer>): Promise<string> {
  const url = process.env[variable];
  if (url) return url;
  const server = privateServers.get(variable) ?? start();
  privateServers.set(variable, server);
  return (await server).url;
}

/** Makes a namespace on the Redis of the run, or on one that is started for this process if the run has none. */
export async function redisSandbox(): Promise<RedisSandbox> {
  const url = await serverOf('MILLRACE_TEST_REDIS_URL', startRedis);
  const namespace = `t-${randomBytes(8).toString('hex')}`;
  const flush = () => unlinkKeysWith(url, namespace);
  return { url, namespace, flush, [Symbol.asyncDispose]: flush };
}

/** Makes a database on the PostgreSQL of the run, or on one that is started for this process if the run has none. */
export async function postgresSandbox(): Promise<PostgresSandbox> {
  const serverUrl = await serverOf('MILLRACE_TEST_POSTGRES_URL', startPostgres);
  const database = `t_${randomBytes(8).toString('hex')}`;
  // template0, because template1 cannot be copied while anything is connected to it.
  await run(serverUrl, `CREATE DATABASE ${database} TEMPLATE template0`);
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  const drop = () => run(serverUrl, `DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
  return { url: url.href, database, drop, [Symbol.asyncDispose]: drop };
}

function unlinkKeysWith(url: string, namespace: string): Promise<void> {
  return withRedis(url, async (redis) => {
    let cursor = '0';
    do {
      const [next, keys] = await redis.scan(cursor, 'MATCH', `*${namespace}*`, 'COUNT', KEYS_PER_BATCH);
      if (keys.length > 0) await redis.unlink(...keys);
      cursor = next;
    } while (cursor !== '0');
  });
}

const run = (url: string, sql: string) => withPostgres(url, async (client) => void (await client.query(sql)));
