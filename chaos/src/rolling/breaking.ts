import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { resolveBulkActionConfig } from '@millrace/bulk-action';
import { openRedisStore } from '@millrace/bulk-action/redis';
import { toWorkError } from '@millrace/foundation';
import { requireOutboxMigrated } from '@millrace/outbox';
import { migrate, PgDatabase } from '@millrace/postgres';
import { until } from '@millrace/testkit';
import { Redis } from 'ioredis';
import { KEY_PREFIX } from '../bulk/settings.js';
import { asking } from '../postgres.js';
import { addMigration, folderOf } from './release.js';
import type { RollingWorld } from './world.js';

/** What became of the data under a process that runs on. */
export interface Standstill {
  /** How often it was refused while it was watched. */
  readonly refusals: number;
  readonly isUnchanged: boolean;
}

const META = `${KEY_PREFIX}{0}:meta`;
/** So often a process that runs on has tried, before it is believed to leave everything as it is. */
const REFUSALS_MIN = 5;
const WITHIN_MS = 10_000;

/** What a breaking release does to a table: statements of older ones no longer fit. */
const BREAKING_SQL = `-- breaking: older releases know the column by another name
ALTER TABLE outbox_evt RENAME COLUMN claim_id TO holder_id;
`;
const MENDING_SQL = `
  ALTER TABLE millrace.outbox_evt RENAME COLUMN holder_id TO claim_id;
  DELETE FROM millrace.schema_migration WHERE package = 'outbox' AND breaking`;

/** Changes of a release that older ones cannot work with, made under their feet and taken back. */
export class BreakingRelease {
  readonly #world: RollingWorld;
  readonly #folder: string;
  readonly #redis: Redis;

  constructor(world: RollingWorld, folder: string) {
    this.#world = world;
    this.#folder = folder;
    this.#redis = new Redis(world.redis.url, { protocol: 2 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#redis.disconnect();
  }

  /** Changes the layout in Redis, and looks at who runs on. */
  async breakRedis(): Promise<Standstill> {
    await this.#redis.hset(META, 'layout', 2);
    return this.#watch(
      () => this.#refusedByRedis(),
      () => this.#fingerprintOfRedis(),
    );
  }

  /** Takes it back. */
  async mendRedis(): Promise<void> {
    await this.#redis.hset(META, 'layout', 1);
  }

  /** The same for the tables. */
  async breakTables(): Promise<Standstill> {
    const sql = join(this.#folder, 'sql');
    mkdirSync(sql, { recursive: true });
    cpSync(join(folderOf(this.#world.next, '@millrace/outbox'), 'sql'), sql, { recursive: true });
    addMigration(sql, 'breaking', BREAKING_SQL);
    await using database = new PgDatabase({ url: this.#world.postgres.url, poolSize: 2 });
    await database.start();
    await migrate(database, { package: 'outbox', folder: pathToFileURL(`${sql}/`) });
    return this.#watch(
      () => this.#rolledBack(),
      () => this.#fingerprintOfTables(),
    );
  }

  /** Takes it back. */
  mendTables(): Promise<unknown> {
    return asking(this.#world.postgres.url, (client) => client.query(MENDING_SQL));
  }

  /** What a process of the old release says that is started on Redis now; undefined: it starts. */
  async refusalOfRedis(): Promise<string | undefined> {
    const place = { url: this.#world.redis.url, keyPrefix: KEY_PREFIX };
    const store = openRedisStore(resolveBulkActionConfig({}), place);
    try {
      return await refusalOf(store.start());
    } finally {
      await store.stop();
    }
  }

  /** The same for the tables. */
  async refusalOfTables(): Promise<string | undefined> {
    await using database = new PgDatabase({ url: this.#world.postgres.url, poolSize: 2 });
    await database.start();
    return await refusalOf(requireOutboxMigrated(database));
  }

  async #watch(refused: () => Promise<number>, fingerprint: () => Promise<string>): Promise<Standstill> {
    // What was under way when it changed has met its end by then.
    const first = await this.#after(refused, await refused(), 1);
    const before = await fingerprint();
    const last = await this.#after(refused, first, REFUSALS_MIN);
    return { refusals: last - first, isUnchanged: (await fingerprint()) === before };
  }

  #after(count: () => Promise<number>, from: number, more: number): Promise<number> {
    const enough = async () => {
      const now = await count();
      return now >= from + more ? now : 0;
    };
    return until(enough, { what: 'a running process to be refused', deadlineMs: WITHIN_MS, intervalMs: 20 });
  }

  async #refusedByRedis(): Promise<number> {
    return Number(/^errorstat_LAYOUT:count=(\d+)/m.exec(await this.#redis.info('errorstats'))?.[1] ?? 0);
  }

  /** Everything under the prefix, as Redis would copy it. */
  async #fingerprintOfRedis(): Promise<string> {
    const keys = (await this.#redis.keys(`${KEY_PREFIX}*`)).sort();
    const values = await Promise.all(keys.map((key) => this.#redis.dumpBuffer(key)));
    return keys.map((key, n) => `${key} ${values[n]?.toString('base64')}`).join('\n');
  }

  /** Transactions that PostgreSQL had to roll back: statements that failed. */
  async #rolledBack(): Promise<number> {
    const { rows } = await asking(this.#world.postgres.url, (client) =>
      client.query(
        'SELECT xact_rollback::int AS count FROM pg_stat_database WHERE datname = current_database()',
      ),
    );
    return Number(rows[0]?.count);
  }

  async #fingerprintOfTables(): Promise<string> {
    const { rows } = await asking(this.#world.postgres.url, (client) =>
      client.query(`
        SELECT (SELECT string_agg(t::text, E'\\n' ORDER BY t.id) FROM millrace.outbox_evt t) AS tasks,
          (SELECT string_agg(b::text, E'\\n' ORDER BY b.id) FROM millrace.batch_instance b) AS batches,
          (SELECT string_agg(r::text, E'\\n' ORDER BY r.id) FROM millrace.outbox_ready r) AS ready`),
    );
    return JSON.stringify(rows);
  }
}

async function refusalOf(starting: Promise<unknown>): Promise<string | undefined> {
  try {
    await starting;
    return undefined;
  } catch (error) {
    const { code, message } = toWorkError(error);
    return `${code}: ${message}`;
  }
}
