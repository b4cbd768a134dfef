import { readFileSync } from 'node:fs';
import { wait } from '@millrace/async-utils';
import { Redis } from 'ioredis';
import pg from 'pg';
import { SOAK_PREFIX } from './settings.js';
import type { SoakWorld } from './world.js';

/** How everything was at one time. */
export interface Sample {
  /** Since the beginning. */
  readonly atMs: number;
  /** Resident bytes by process: `api-0:4711`. */
  readonly rss: Readonly<Record<string, number>>;
  readonly redisBytes: number;
  readonly redisClients: number;
  readonly databaseBytes: number;
  readonly databaseClients: number;
  /** Tries begun of all bulk jobs, since the beginning of the store. */
  readonly begun: number;
  /** Payments of our own groups that have come to their end. */
  readonly paid: number;
}

const DATABASE = `
  SELECT pg_database_size(current_database())::float8 AS bytes,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid())::int AS clients`;

/** Every try has a token of its own, counted up by the engine. */
const BEGUN = `
  local state = redis.call('GET', KEYS[1])
  return state and cmsgpack.unpack(state).token or 0`;

/** A store that is frozen or cut off just now is left out of the row, not waited for. */
const ASK_MS = 1500;

/** Looks at everything every few seconds, past everything that is tested. */
export class Sampler implements AsyncDisposable {
  readonly samples: Sample[] = [];
  readonly #world: SoakWorld;
  readonly #paid: () => number;
  readonly #redis: Redis;
  readonly #pool: pg.Pool;
  readonly #over = new AbortController();
  #looking: Promise<void> | undefined;

  constructor(world: SoakWorld, paid: () => number) {
    this.#world = world;
    this.#paid = paid;
    this.#redis = new Redis(world.redis.url, { protocol: 2, commandTimeout: ASK_MS });
    this.#redis.on('error', () => {}); // Told by the call that fails.
    const connectionString = world.postgres.url;
    this.#pool = new pg.Pool({ connectionString, max: 1, query_timeout: ASK_MS });
    this.#pool.on('error', () => {});
  }

  /**
   * Begins to look.
   * @param everyMs - how often.
   */
  start(everyMs: number): void {
    this.#looking = this.#run(everyMs);
  }

  /** Looks no more; resolves when the last look is over. */
  async stop(): Promise<void> {
    this.#over.abort();
    await this.#looking;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.#redis.disconnect();
    await this.#pool.end();
  }

  async #run(everyMs: number): Promise<void> {
    const began = performance.now();
    for (let n = 1; !this.#over.signal.aborted; n++) {
      await this.#look(performance.now() - began).catch(() => {});
      const untilMs = n * everyMs - (performance.now() - began);
      await wait(Math.max(0, untilMs), { signal: this.#over.signal }).catch(() => {});
    }
  }

  async #look(atMs: number): Promise<void> {
    const [info, begun, { rows }] = await Promise.all([
      this.#redis.info(),
      this.#redis.eval(BEGUN, 1, `${SOAK_PREFIX}{0}:state`),
      this.#pool.query<{ bytes: number; clients: number }>(DATABASE),
    ]);
    this.samples.push({
      atMs,
      rss: residentBytes(this.#world),
      redisBytes: numberIn(info, 'used_memory'),
      redisClients: numberIn(info, 'connected_clients'),
      databaseBytes: rows[0]?.bytes ?? Number.NaN,
      databaseClients: rows[0]?.clients ?? Number.NaN,
      begun: Number(begun),
      paid: this.#paid(),
    });
  }
}

const numberIn = (info: string, name: string): number =>
  Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);

function residentBytes({ places }: SoakWorld): Record<string, number> {
  const rss: Record<string, number> = {};
  for (const { name, crew } of places)
    for (const pid of crew.pids) {
      const bytes = residentOf(pid);
      if (bytes !== undefined) rss[`${name}:${pid}`] = bytes;
    }
  return rss;
}

/** Undefined of a process that is gone. */
function residentOf(pid: number): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}
