import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@millrace/foundation';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { databaseOf } from '../../src/compose/open-database.js';
import { type ConfigSources, loadConfig } from '../../src/config/load-config.js';

const SECRET = 'a-secret-of-24-characters';

describe('loadConfig', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-config-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const load = (given: Partial<ConfigSources> = {}) => loadConfig({ env: {}, folder, ...given });
  const file = (content: unknown, name = 'millrace.config.json') =>
    writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  const problemsOf = (given: Partial<ConfigSources> = {}): Promise<readonly string[]> =>
    load(given).then(
      () => [],
      (error) => {
        expect(error.code).toBe('CONFIG_INVALID');
        return error.details.all ?? [error.details.problems];
      },
    );

  it('needs nothing', async () => {
    const { config, given } = await load();
    expect(config).toMatchObject({ port: 3000, host: '127.0.0.1', role: 'all', dataDir: '.millrace' });
    expect([...given]).toEqual([]);
  });

  it('takes a flag before a variable, that before the file, that before the default', async () => {
    file({ port: 1, host: 'localhost', logLevel: 'warn', limits: { streamsMax: 7, bodyBytesMax: 8 } });
    const env = { PORT: '2', HOST: '127.0.0.2', MILLRACE_LIMIT_STREAMS_MAX: '9' };
    const { config, given } = await load({ flags: { port: '3' }, env });
    expect(config).toMatchObject({ port: 3, host: '127.0.0.2', logLevel: 'warn', schema: 'millrace' });
    expect(config.limits).toMatchObject({ streamsMax: 9, bodyBytesMax: 8, jobsPerRequest: 10_000 });
    const origins = ['port', 'host', 'logLevel', 'limits.streamsMax'].map((path) => given.get(path)?.origin);
    expect(origins).toEqual([
      '--port',
      'HOST',
      'logLevel in millrace.config.json',
      'MILLRACE_LIMIT_STREAMS_MAX',
    ]);
  });

  it('reads a module too, by its name, and what it names is beside it', async () => {
    file('export default { app: "./app.js", dataDir: "data", bulk: { keepResults: true } };', 'other.mjs');
    const { config } = await load({ flags: { config: 'other.mjs' } });
    expect(config).toMatchObject({ app: join(folder, 'app.js'), dataDir: join(folder, 'data') });
    expect(config.bulk).toEqual({ keepResults: true });
  });

  it('takes an empty variable for none', async () => {
    expect((await load({ env: { PORT: '', REDIS_URL: '' } })).config).toMatchObject({ port: 3000 });
  });

  it('says what is not known, and what is near', async () => {
    file({ prot: 1, limits: { streamMax: 1 }, outbox: { leaseMS: 1 }, bulk: { workerPol: {} } });
    const problems = await problemsOf({ env: { MILLRACE_DATADIR: 'x', MILLRACE_TEST_REDIS_URL: 'x' } });
    expect(problems).toEqual([
      'the variable MILLRACE_DATADIR is not known; did you mean MILLRACE_DATA_DIR?',
      'prot in millrace.config.json is not known; did you mean port?',
      'limits.streamMax in millrace.config.json is not known; did you mean limits.streamsMax?',
      "bulk in millrace.config.json: bulk-action: there is no option 'workerPol'; did you mean 'workerPool'?",
      'outbox in millrace.config.json: leaseMS is not known; did you mean leaseMs?',
    ]);
  });

  it.each([
    [{ env: { PORT: 'abc' } }, "PORT must be an integer from 0 to 65535, got 'abc'"],
    [{ env: { PORT: '1e3' } }, "PORT must be an integer from 0 to 65535, got '1e3'"],
    [{ flags: { port: '65536' } }, '--port must be an integer from 0 to 65535, got 65536'],
    [{ flags: { role: 'boss' } }, "--role must be one of all, api, worker, got 'boss'"],
    [
      { env: { MILLRACE_GRACE_PERIOD_MS: '0' } },
      'MILLRACE_GRACE_PERIOD_MS must be an integer from 1 to 2147483647, got 0',
    ],
    [
      { env: { MILLRACE_LIMIT_STREAMS_MAX: '0' } },
      'MILLRACE_LIMIT_STREAMS_MAX must be an integer of at least 1, got 0',
    ],
    [
      { env: { REDIS_URL: `http://u:${SECRET}@h` } },
      'REDIS_URL must be a URL such as redis://user:password@host:6379/0, got (not shown)',
    ],
    [
      { env: { MILLRACE_API_KEYS: `ann:boss:${SECRET}` } },
      'MILLRACE_API_KEYS: key 1 (ann) needs the role read, operate or admin',
    ],
  ] as const)('%j: %s', async (given, problem) => {
    expect(await problemsOf(given)).toEqual([problem]);
  });

  it('takes as many connections as the outbox needs, and refuses fewer where tasks run', async () => {
    const env = { DATABASE_URL: 'postgres://h/d', REDIS_URL: 'redis://h' };
    const poolSizeIn = async (content: object, more = {}) => {
      file(content);
      return databaseOf((await load({ env: { ...env, ...more } })).config, silentLogger).poolSize;
    };
    expect(await poolSizeIn({})).toBe(15);
    expect(await poolSizeIn({ outbox: { concurrency: 50 } })).toBe(53);
    expect(await poolSizeIn({ databasePoolSize: 60, outbox: { concurrency: 50 } })).toBe(60);
    expect(await poolSizeIn({}, { MILLRACE_DATABASE_POOL_SIZE: '5', MILLRACE_ROLE: 'api' })).toBe(5);
    const problems = await problemsOf({ env: { ...env, MILLRACE_DATABASE_POOL_SIZE: '5' } });
    expect(problems).toEqual([
      expect.stringMatching(/concurrency must be at most the database's poolSize less 3/),
    ]);
  });

  it('says which backends a role needs', async () => {
    const problems = await problemsOf({ env: { MILLRACE_ROLE: 'worker', REDIS_URL: 'redis://h' } });
    expect(problems).toEqual([expect.stringMatching(/^the role worker needs DATABASE_URL/)]);
  });

  it.each([
    ['{ "apiKeys": "ann:read:planted-secret", ', 'millrace.config.json', /is no JSON/],
    ['[]', 'millrace.config.json', /must hold an object of settings/],
    ['export default 1', 'millrace.config.js', /must hold an object of settings/],
    ['throw new Error("broken")', 'millrace.config.js', /cannot be loaded: broken/],
    ['{ "limits": 1 }', 'millrace.config.json', /limits in millrace.config.json must be an object/],
    [
      '{ "outbox": 1 }',
      'millrace.config.json',
      /outbox in millrace.config.json must be an object of settings, got 1/,
    ],
    [
      '{ "orchestrator": { "tries": { "maxRetrys": 1 } } }',
      'millrace.config.json',
      /maxRetrys .* did you mean maxRetries/,
    ],
    ['{ "orchestrator": { "leaseMs": 1 } }', 'millrace.config.json', /^orchestrator in .* leaseMs/],
    ['{ "chat": { "maxWorkers": 0 } }', 'millrace.config.json', /^chat in .* maxWorkers/],
    ['{ "outbox": { "database": {} } }', 'millrace.config.json', /database is not known/],
  ])('refuses the file %j', async (content, name, problem) => {
    file(content, name);
    const [first] = await problemsOf();
    expect(first).toMatch(problem);
    expect(first).not.toContain('planted-secret');
  });

  it('refuses two files, and one that is not there', async () => {
    expect(await problemsOf({ flags: { config: 'none.json' } })).toEqual([
      expect.stringMatching(/none\.json does not exist/),
    ]);
    file({});
    file('export default {}', 'millrace.config.js');
    expect(await problemsOf()).toEqual([expect.stringMatching(/keep one of them/)]);
  });
});
