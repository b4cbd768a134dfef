import { type Clock, MillraceError, silentLogger, toWorkError } from '@millrace/foundation';
import { type Database, isSqlError, PgDatabase, ERRORS as POSTGRES_ERRORS } from '@millrace/postgres';
import { RedisConnection } from '@millrace/redis';
import { addressOf, rootReason } from '../../../compose/await-backends.js';
import { migrationProblems } from '../../../compose/migrate.js';
import { poolSizeOf } from '../../../compose/open-database.js';
import type { ServerConfig } from '../../../config/model.js';
import { InstanceStore } from '../../../fleet/instance-store.js';
import { ServerTables } from '../../../fleet/server-tables.js';
import { isForbidden } from '../../../health/redis-backend.js';
import { type Finding, finding } from '../finding.js';
import { type ClockOffset, clockOffset } from '../rules/clocks.js';
import { judgePostgres, type PostgresFacts } from '../rules/postgres.js';
import { judgeRedis, readInfo } from '../rules/redis.js';

/** The time limit of a call. A server cannot use a slower backend. */
const ANSWER_MS = 2_000;

/** The result of the check of a backend. */
export interface BackendCheck {
  readonly findings: readonly Finding[];
  /** The offset of its clock. `undefined` if the backend did not return its time. */
  readonly clock: ClockOffset | undefined;
}

/** Checks the Redis of REDIS_URL. */
export async function checkRedis(url: string, clock: Clock): Promise<BackendCheck> {
  const limits = { callTimeoutMs: ANSWER_MS, connectTimeoutMs: ANSWER_MS };
  await using redis = new RedisConnection({ url, connectionName: 'millrace-doctor', ...limits });
  try {
    await redis.start();
    const info = await unlessForbidden(redis, 'INFO', []);
    const fsync = await unlessForbidden(redis, 'CONFIG', ['GET', 'appendfsync']);
    const findings = judgeRedis({
      info: info === undefined ? undefined : readInfo(String(info)),
      fsync: (fsync as readonly string[] | undefined)?.[1],
    });
    return { findings, clock: await redisClock(redis, clock) };
  } catch (error) {
    return { findings: [redisFailure(url, error)], clock: undefined };
  }
}

const redisFailure = (url: string, error: unknown) =>
  finding('failure', 'redis', `Redis at ${addressOf(url)} cannot be used`, {
    seen: `${rootReason(error)} (waited ${ANSWER_MS} ms).`,
    action:
      'Start it, or correct REDIS_URL (redis://user:password@host:6379/0); look whether a firewall or `bind` and `requirepass` of redis.conf keep this machine out.',
  });

async function unlessForbidden(
  redis: RedisConnection,
  command: string,
  args: readonly string[],
): Promise<unknown> {
  try {
    return await redis.call(command, args);
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

async function redisClock(redis: RedisConnection, clock: Clock): Promise<BackendCheck['clock']> {
  const askedAt = clock.now();
  const time = await unlessForbidden(redis, 'TIME', []);
  const answeredAt = clock.now();
  if (!Array.isArray(time)) return undefined;
  const told = Number(time[0]) * 1000 + Number(time[1]) / 1000;
  return clockOffset({ of: 'Redis', askedAt, answeredAt, told, coarseMs: 1 });
}

/** Checks the PostgreSQL of DATABASE_URL. Changes nothing. */
export async function checkPostgres(config: ServerConfig, url: string, clock: Clock): Promise<BackendCheck> {
  const limits = { callTimeoutMs: ANSWER_MS, connectTimeoutMs: ANSWER_MS, poolSize: 1 };
  const applicationName = 'millrace-doctor';
  await using database = new PgDatabase({ url, applicationName, logger: silentLogger, ...limits });
  try {
    await database.start();
    const offset = await postgresClock(database, clock);
    const problems = await migrationProblems(database, config);
    const tables = new ServerTables({ database, config });
    const facts = await factsOf(tables);
    const instances = problems.length > 0 ? 1 : Math.max(1, await liveInstances(tables));
    // An instance uses its pool and one connection that listens.
    const judged = judgePostgres(facts, { perInstance: poolSizeOf(config) + 1, instances });
    return { findings: [...judged, ...judgeTables(problems, config)], clock: offset };
  } catch (error) {
    return { findings: [postgresFailure(url, error)], clock: undefined };
  }
}

async function postgresClock(database: Database, clock: Clock): Promise<ClockOffset | undefined> {
  const askedAt = clock.now();
  const { rows } = await database.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  const told = rows[0]?.now.getTime();
  if (told === undefined) return undefined;
  return clockOffset({ of: 'PostgreSQL', askedAt, answeredAt: clock.now(), told, coarseMs: 1 });
}

async function factsOf(tables: ServerTables): Promise<PostgresFacts> {
  const [row] = await tables.rows<FactsRow>('look-at-postgres');
  const { version, is_standby, connections_max, connections_reserved, connections_of_others, oldest } =
    row as FactsRow;
  return {
    version,
    isStandby: is_standby,
    connectionsMax: connections_max,
    connectionsReserved: connections_reserved,
    connectionsOfOthers: connections_of_others,
    oldest,
  };
}

interface FactsRow {
  readonly version: string;
  readonly is_standby: boolean;
  readonly connections_max: number;
  readonly connections_reserved: number;
  readonly connections_of_others: number;
  readonly oldest: PostgresFacts['oldest'];
}

async function liveInstances(tables: ServerTables): Promise<number> {
  const all = await new InstanceStore(tables).list();
  return all.filter(({ alive }) => alive).length;
}

function judgeTables(problems: readonly unknown[], { schema }: ServerConfig): readonly Finding[] {
  if (problems.length === 0)
    return [finding('ok', 'postgres.tables', `The tables in ${schema} are up to date`)];
  const outdated = problems.filter((error) => POSTGRES_ERRORS.is(error, 'SCHEMA_OUTDATED'));
  const missing = outdated.map(({ details }) => `${details.package}: ${details.missing}`);
  const lacking = finding('failure', 'postgres.tables', `The schema ${schema} lacks migrations`, {
    seen: `${missing.join('; ')}.`,
    action: 'Run: millrace migrate',
  });
  const others = problems.filter((error) => !POSTGRES_ERRORS.is(error, 'SCHEMA_OUTDATED'));
  return [
    ...(outdated.length > 0 ? [lacking] : []),
    ...others.map((error) =>
      finding('failure', 'postgres.tables', `The schema ${schema} cannot be used`, {
        seen: toWorkError(error).message,
        action: POSTGRES_ERRORS.is(error, 'SCHEMA_NEWER')
          ? 'Install the version of Millrace that made it: npm install millrace@latest'
          : null,
      }),
    ),
  ];
}

/** The advice for each SQLSTATE of a rejected connection. */
const REFUSALS: Readonly<Record<string, string>> = {
  '28P01':
    'The password in DATABASE_URL is wrong, or the user does not exist: correct it (ALTER ROLE name PASSWORD …).',
  '28000':
    'pg_hba.conf of PostgreSQL does not let this user in from this machine: add a line there, or correct the user in DATABASE_URL.',
  '3D000': 'The database in DATABASE_URL does not exist: CREATE DATABASE name; then millrace migrate',
  '42501':
    'The user of DATABASE_URL may not read the tables: GRANT USAGE ON SCHEMA, and the rights on its tables.',
  '53300': 'All connections are in use: raise max_connections, or end some.',
};

function postgresFailure(url: string, error: unknown): Finding {
  const where = `PostgreSQL at ${addressOf(url)} cannot be used`;
  const refusal = isSqlError(error) ? REFUSALS[error.code] : undefined;
  const isOld = POSTGRES_ERRORS.is(error, 'DATABASE_VERSION_UNSUPPORTED');
  const mayPass = error instanceof MillraceError && error.retryable;
  return finding('failure', 'postgres', where, {
    seen: `${rootReason(error)}${mayPass ? ` (waited ${ANSWER_MS} ms)` : ''}.`,
    action:
      refusal ??
      (isOld
        ? 'Install PostgreSQL 14 or later.'
        : 'Start it, or correct DATABASE_URL (postgres://user:password@host:5432/database); look whether a firewall or listen_addresses keeps this machine out.'),
  });
}
