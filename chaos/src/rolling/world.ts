import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { migrateOutbox } from '@millrace/outbox';
import { PgDatabase } from '@millrace/postgres';
import {
  openLedger,
  type PostgresServer,
  type RedisServer,
  startPostgres,
  startRedis,
} from '@millrace/testkit';
import { Crew } from '../crew.js';
import { asking } from '../postgres.js';
import type { ScenarioContext } from '../registry.js';
import { loadFrom, makeNextRelease, OLD_RELEASE, type Release } from './release.js';
import { EFFECTS, type RollingBrief, type RollingScale, rollingConfig } from './settings.js';

/** Redis, PostgreSQL and places for workers, each of one release at a time. */
export interface RollingWorld extends AsyncDisposable {
  readonly redis: RedisServer;
  readonly postgres: PostgresServer;
  readonly next: Release;
  readonly ledgerPath: string;
  /** How many processes there were of each release. */
  readonly started: Record<Release['name'], number>;
  /** Ends who works at a place and starts a process of a release there. */
  occupy(place: number, release: Release): Promise<void>;
  /** Kills who works at a place, as nothing but a crash does; it is replaced by its like. */
  kill(place: number): Promise<void>;
  /** Brings the tables up to what a release wants. */
  migrate(release: Release): Promise<readonly string[]>;
  /** Ends everybody. @returns whether each has ended by itself. */
  stopAll(): Promise<boolean>;
}

/**
 * Starts the stores and makes the next release; nobody works yet.
 * @param context - the scenario's.
 */
export async function openRollingWorld(
  context: ScenarioContext,
  { leaseMs }: RollingScale,
): Promise<RollingWorld> {
  const ledgerPath = join(context.folder, 'ledger');
  const ledger = openLedger(ledgerPath);
  const release = join(context.folder, 'next');
  mkdirSync(release);
  const next = makeNextRelease(release);
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
  const crews: Crew[] = [];
  const started = { old: 0, new: 0 };
  const close = async () => {
    await Promise.all(crews.map((crew) => crew?.[Symbol.asyncDispose]()));
    await Promise.all([redis.stop(), postgres.stop()]);
    ledger.close();
  };
  const occupy = async (place: number, wanted: Release) => {
    await crews[place]?.stop();
    const brief: RollingBrief = {
      release: wanted,
      redisUrl: redis.url,
      databaseUrl: postgres.url,
      ledger: ledgerPath,
      config: rollingConfig(context.scale),
      leaseMs,
    };
    const crew = new Crew({
      program: 'rolling-worker',
      brief,
      ledger,
      output: join(context.folder, 'workers.log'),
    });
    crews[place] = crew;
    started[wanted.name]++;
    await crew.start(1);
  };
  const migrate = async (wanted: Release) => {
    const { migrateOutbox: migrateTo } = await loadFrom<{ migrateOutbox: typeof migrateOutbox }>(
      wanted,
      '@millrace/outbox',
    );
    await using database = new PgDatabase({ url: postgres.url, poolSize: 2 });
    await database.start();
    return await migrateTo(database);
  };
  try {
    await migrate(OLD_RELEASE);
    await asking(postgres.url, (client) => client.query(EFFECTS));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    redis,
    postgres,
    next,
    ledgerPath,
    started,
    occupy,
    kill: async (place) => {
      await crews[place]?.kill(0);
      await crews[place]?.everyoneUp();
    },
    migrate,
    stopAll: async () => (await Promise.all(crews.map((crew) => crew.stop()))).every((ended) => ended),
    [Symbol.asyncDispose]: close,
  };
}
