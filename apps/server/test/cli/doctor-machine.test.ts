import { chmodSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PgDatabase, PgliteDatabase } from '@millrace/postgres';
import {
  freePort,
  type PostgresSandbox,
  pgliteFolder,
  postgresSandbox,
  type RedisServer,
  redisSandbox,
  startPostgres,
  startRedis,
} from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrated, redisCommand } from '../health/backends.js';
import { diagnose } from './doctor.js';

let folder: string;
let closedPort: number;
/** Nobody answers there: what is told of the server is not looked at here. */
let nobody: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-doctor-'));
  closedPort = await freePort();
  nobody = `http://127.0.0.1:${closedPort}`;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const machine = (env: Record<string, string>, ...args: string[]) =>
  diagnose(['--url', nobody, ...args], { env, folder });

describe('doctor, settings', () => {
  it('tells every setting that cannot be used, and looks at no backend', async () => {
    const { of, findings, exitCode } = await machine({ PORT: 'x', MILLRACE_ROLE: 'boss' });
    expect(of('settings')).toMatchObject([
      {
        level: 'failure',
        seen: expect.stringContaining('PORT must be'),
        action: expect.stringContaining('millrace config'),
      },
      { level: 'failure', seen: expect.stringContaining('MILLRACE_ROLE must be one of all, api, worker') },
    ]);
    expect(findings.filter(({ side }) => side === 'machine')).toHaveLength(3);
    expect(exitCode).toBe(1);
  });

  it('tells what a start would be refused for, and settings that are out of range', async () => {
    const file = join(folder, 'tuned.json');
    const workerPool = {
      workerCount: 20,
      fetchIntervalMs: 5,
      fetchBatchSize: 1000,
      shutdownGracePeriodMs: 60_000,
      jobTimeoutMs: 35_000,
    };
    writeFileSync(file, JSON.stringify({ host: '0.0.0.0', bulk: { workerPool } }));
    const { of } = await machine({}, '--config', file);
    expect(of('settings.keys')).toMatchObject([
      { level: 'failure', seen: expect.stringContaining('MILLRACE_API_KEYS=') },
    ]);
    expect(of('tuning.fetchInterval')).toMatchObject([{ level: 'note' }]);
    expect(of('tuning.fetchBatch')).toMatchObject([
      { level: 'note', action: expect.stringContaining('from 40 to 100') },
    ]);
    expect(of('tuning.shutdown')).toMatchObject([{ level: 'warning' }]);
    expect(of('tuning.jobTimeout')).toMatchObject([{ level: 'note' }]);
  });

  it('loads the application as a server would', async () => {
    const [good, bad] = [join(folder, 'good.mjs'), join(folder, 'bad.mjs')];
    const index = new URL('../../src/index.ts', import.meta.url).href;
    writeFileSync(
      good,
      `import { defineApp } from ${JSON.stringify(index)};\nexport default defineApp({ processors: [] });\n`,
    );
    const secret = 'planted-secret-of-24-characters';
    writeFileSync(bad, `throw new Error("no such table, says ${secret}");\n`);
    expect((await machine({ MILLRACE_APP: good })).of('app')).toMatchObject([
      { level: 'ok', title: expect.stringContaining('0 processors') },
    ]);
    const broken = await machine({ MILLRACE_APP: bad, MILLRACE_API_KEYS: `root:admin:${secret}` });
    expect(broken.of('app')).toMatchObject([
      { level: 'failure', seen: expect.stringContaining('no such table') },
    ]);
    expect(broken.text).not.toContain(secret);
  });
});

describe('doctor, embedded database', () => {
  it('sees who has it open, and disturbs nobody', async () => {
    using owned = await pgliteFolder(async (dataDir) => {
      await using made = new PgliteDatabase({ dataDir });
      await made.start();
    });
    const dataDir = dirname(owned.dataDir);
    renameSync(owned.dataDir, join(dataDir, 'database'));
    await using database = new PgliteDatabase({ dataDir: join(dataDir, 'database') });
    await database.start();
    const locks = () => readdirSync(join(dataDir, 'database.lock'));
    const before = locks();
    const found = (await machine({ MILLRACE_DATA_DIR: dataDir })).of('embedded.owner');
    expect(found).toMatchObject([
      { level: 'note', seen: expect.stringContaining(`process ${process.pid} on`) },
    ]);
    expect(locks()).toEqual(before);
    expect((await database.query<{ one: number }>('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await database.stop();
    expect((await machine({ MILLRACE_DATA_DIR: dataDir })).of('embedded.folder')).toMatchObject([
      { level: 'ok' },
    ]);
  });

  it('says when nothing can be written there', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    expect((await machine({ MILLRACE_DATA_DIR: join(file, 'data') })).of('embedded.folder')).toMatchObject([
      {
        level: 'failure',
        seen: expect.stringContaining('ENOTDIR'),
        action: expect.stringContaining('MILLRACE_DATA_DIR'),
      },
    ]);
    const fresh = await machine({ MILLRACE_DATA_DIR: join(folder, 'not', 'yet') });
    expect(fresh.of('embedded.folder')).toMatchObject([{ level: 'ok' }]);
    expect(readdirSync(folder)).not.toContain('not');
  });
});

describe('doctor, Redis', () => {
  let redis: RedisServer;
  const look = async (url = redis.url) => machine({ REDIS_URL: url });
  const set = (...args: string[]) => redisCommand(redis.url, 'CONFIG', 'SET', ...args);

  beforeAll(async () => {
    redis = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] });
  });
  afterAll(() => redis.stop());

  it('names the eviction policy and the command that changes it, then is content', async () => {
    const wrong = await look();
    expect(wrong.of('redis.eviction')).toMatchObject([
      {
        level: 'failure',
        seen: expect.stringContaining('maxmemory-policy is allkeys-lru'),
        action: expect.stringMatching(/CONFIG SET maxmemory-policy noeviction.*redis\.conf/),
      },
    ]);
    expect(wrong.of('redis.durability')).toMatchObject([
      { level: 'note', seen: 'The append-only file is off.' },
    ]);
    expect(wrong.of('clocks')).toMatchObject([{ level: 'ok' }]);
    await set('maxmemory-policy', 'noeviction', 'appendonly', 'yes', 'appendfsync', 'always');
    const right = await look();
    expect(right.findings.filter(({ check, level }) => check.startsWith('redis') && level !== 'ok')).toEqual(
      [],
    );
    await set('appendfsync', 'everysec', 'maxmemory', '1500kb');
    const full = await look();
    expect(full.of('redis.durability')).toMatchObject([{ level: 'note', seen: 'appendfsync is everysec.' }]);
    expect(full.of('redis.memory')).toMatchObject([{ seen: expect.stringContaining('of 1.5 MB') }]);
    await set('maxmemory', '0');
  });

  it('says what a user may not see, and shows no password', async () => {
    const password = 'planted-password-of-a-user';
    await redisCommand(
      redis.url,
      'ACL',
      'SETUSER',
      'jobs',
      'on',
      `>${password}`,
      '~*',
      '+@all',
      '-info',
      '-config',
    );
    const { host } = new URL(redis.url);
    const limited = await look(`redis://jobs:${password}@${host}`);
    expect(limited.of('redis.info')).toMatchObject([
      { level: 'warning', action: expect.stringContaining('+info') },
    ]);
    expect(limited.text).not.toContain(password);
  });
});

describe('doctor, PostgreSQL', () => {
  let sandbox: PostgresSandbox;
  const look = (url = sandbox.url) => machine({ DATABASE_URL: url });

  beforeAll(async () => {
    sandbox = await postgresSandbox();
  });
  afterAll(() => sandbox.drop());

  it('names the migrations that are missing and the command that applies them, then is content', async () => {
    const missing = await look();
    expect(missing.of('postgres.tables')).toMatchObject([
      {
        level: 'failure',
        seen: expect.stringMatching(/outbox: 0001.*orchestrator: 0001.*server: 0001/),
        action: 'Run: millrace migrate',
      },
    ]);
    expect(missing.of('postgres.version')).toMatchObject([{ level: 'ok' }]);
    await migrated(sandbox.url);
    const right = await look();
    const bad = right.findings.filter(({ side, level }) => side === 'machine' && level !== 'ok');
    expect(bad).toEqual([]);
    expect(right.of('postgres.connections')).toMatchObject([
      { seen: expect.stringMatching(/1 × 16 .*max_connections 200/) },
    ]);
    expect(right.of('clocks')).toMatchObject([{ title: expect.stringContaining('PostgreSQL') }]);
  });

  it('says when a newer version made the tables', async () => {
    await using database = new PgDatabase({ url: sandbox.url });
    await database.query(
      `INSERT INTO millrace.schema_migration (package, number, name, checksum, breaking)
       SELECT 'server', max(number) + 1, '0999-from-the-future', 'x', true FROM millrace.schema_migration WHERE package = 'server'`,
    );
    expect((await look()).of('postgres.tables')).toMatchObject([
      {
        level: 'failure',
        seen: expect.stringContaining('0999-from-the-future'),
        action: expect.stringContaining('npm install'),
      },
    ]);
    await database.query("DELETE FROM millrace.schema_migration WHERE name = '0999-from-the-future'");
  });

  it('says what PostgreSQL refuses a caller for', async () => {
    const nowhere = new URL(sandbox.url);
    nowhere.pathname = '/no-such-database';
    expect((await look(nowhere.href)).of('postgres')).toMatchObject([
      {
        level: 'failure',
        seen: expect.stringContaining('no-such-database'),
        action: expect.stringContaining('CREATE DATABASE'),
      },
    ]);
  });
});

describe.concurrent('doctor, backends that refuse', () => {
  it('says that Redis does not know the user', async ({ expect }) => {
    await using sandbox = await redisSandbox();
    const { host } = new URL(sandbox.url);
    const { of, text } = await machine({ REDIS_URL: `redis://nobody:planted-wrong-word@${host}` });
    expect(of('redis')).toMatchObject([{ level: 'failure', seen: expect.stringContaining('WRONGPASS') }]);
    expect(text).not.toContain('planted-wrong-word');
  });

  it('says which backends are away, where they were looked for, and for how long', async ({ expect }) => {
    const { of, exitCode, ok } = await machine({
      REDIS_URL: `redis://:planted-secret@127.0.0.1:${closedPort}`,
      DATABASE_URL: `postgres://me:planted-secret@127.0.0.1:${closedPort}/jobs`,
    });
    for (const [check, address, setting] of [
      ['redis', `redis://127.0.0.1:${closedPort}`, 'REDIS_URL'],
      ['postgres', `postgres://127.0.0.1:${closedPort}/jobs`, 'DATABASE_URL'],
    ] as const)
      expect(of(check)).toMatchObject([
        {
          level: 'failure',
          title: expect.stringContaining(address),
          seen: expect.stringMatching(/ECONNREFUSED.*waited 2000 ms/),
          action: expect.stringContaining(setting),
        },
      ]);
    expect({ exitCode, ok }).toEqual({ exitCode: 1, ok: false });
  });

  it('says that a password is wrong, without it', async ({ expect }) => {
    const rules = join(folder, 'pg_hba.conf');
    writeFileSync(rules, 'host all stranger all scram-sha-256\nhost all all all trust\n', { mode: 0o644 });
    chmodSync(folder, 0o755);
    await using server = await startPostgres({ args: ['-c', `hba_file=${rules}`] });
    const { host } = new URL(server.url);
    const { of, text } = await machine({
      DATABASE_URL: `postgres://stranger:planted-wrong-word@${host}/postgres`,
    });
    expect(of('postgres')).toMatchObject([
      {
        level: 'failure',
        seen: expect.stringContaining('password'),
        action: expect.stringContaining('DATABASE_URL is wrong'),
      },
    ]);
    expect(text).not.toContain('planted-wrong-word');
  });
});
