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

/** The server of the sandboxes of this process: that of the run or, without one, a private server that ends with the last sandbox. */
class SharedServer {
  readonly #variable: string;
  readonly #start: () => Promise<PrivateServer>;
  #own: Promise<PrivateServer> | undefined;
  #users = 0;

  /** @param variable - the environment variable that has the address of the server of the run. */
  constructor(variable: string, start: () => Promise<PrivateServer>) {
    this.#variable = variable;
    this.#start = start;
  }

  /** Returns the address, and the function that ends the use of the server. */
  async use(): Promise<{ url: string; release: () => Promise<void> }> {
    const url = process.env[this.#variable];
    if (url) return { url, release: async () => {} };
    this.#users += 1;
    try {
      this.#own ??= this.#start();
      return { url: (await this.#own).url, release: () => this.#release() };
    } catch (error) {
      await this.#release();
      throw error;
    }
  }

  async #release(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    const own = this.#own;
    this.#own = undefined;
    await own?.then(
      (server) => server.stop(),
      () => {}, // Reported by `use`.
    );
  }
}

const redisServer = new SharedServer('MILLRACE_TEST_REDIS_URL', () => startRedis());
const postgresServer = new SharedServer('MILLRACE_TEST_POSTGRES_URL', () => startPostgres());

/** Makes a namespace on the Redis of the run, or on one that is started for this process if the run has none. */
export async function redisSandbox(): Promise<RedisSandbox> {
  const { url, release } = await redisServer.use();
  const namespace = `t-${randomBytes(8).toString('hex')}`;
  const flush = () => unlinkKeysWith(url, namespace);
  return { url, namespace, flush, [Symbol.asyncDispose]: () => flush().finally(release) };
}

/** Makes a database on the PostgreSQL of the run, or on one that is started for this process if the run has none. */
export async function postgresSandbox(): Promise<PostgresSandbox> {
  const { url: serverUrl, release } = await postgresServer.use();
  const database = `t_${randomBytes(8).toString('hex')}`;
  try {
    // template0, because template1 cannot be copied while anything is connected to it.
    await run(serverUrl, `CREATE DATABASE ${database} TEMPLATE template0`);
  } catch (error) {
    await release();
    throw error;
  }
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  let dropped: Promise<void> | undefined;
  const drop = () => {
    dropped ??= run(serverUrl, `DROP DATABASE IF EXISTS ${database} WITH (FORCE)`).finally(release);
    return dropped;
  };
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
