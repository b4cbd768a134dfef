import { ManualClock, type PostgresSandbox, postgresSandbox, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PgDatabase, type PgDatabaseOptions, type Queryable, type Tx } from '../../src/index.js';
import { failure, openTransaction } from '../support.js';

leakCheck();

let sandbox: PostgresSandbox;
let admin: PgDatabase;
const open = (options: Partial<PgDatabaseOptions> = {}) => new PgDatabase({ url: sandbox.url, ...options });
const openAt = (change: (url: URL) => void, options: Partial<PgDatabaseOptions> = {}) => {
  const url = new URL(sandbox.url);
  change(url);
  return open({ url: url.href, ...options });
};

beforeAll(async () => {
  sandbox = await postgresSandbox();
  admin = open({ applicationName: 'admin' });
  await admin.query('CREATE TABLE account (id int PRIMARY KEY, amount int NOT NULL)');
  await admin.query('INSERT INTO account SELECT n, 0 FROM generate_series(1, 10) AS n');
});
afterAll(async () => {
  await admin.stop();
  await sandbox.drop();
});

const add = (tx: Tx, id: number) => tx.query('UPDATE account SET amount = amount + 1 WHERE id = $1', [id]);
const amountOf = async (id: number) =>
  (await admin.query('SELECT amount FROM account WHERE id = $1', [id])).rows[0]?.amount;
const selectOne = async (database: Queryable, sql: string) =>
  (await database.query<{ v: unknown }>(`SELECT ${sql} AS v`)).rows[0]?.v;
const backendsOf = (name: string, condition = 'true') =>
  selectOne(
    admin,
    `(SELECT count(*)::int FROM pg_stat_activity WHERE application_name = '${name}:pool' AND ${condition})`,
  );
const untilRunning = (name: string, count: number) =>
  until(async () => (await backendsOf(name, "state = 'active'")) === count, { what: `${count} running` });

it('commits all of several serializable transactions that collide, if they may run again', async () => {
  await using database = open();
  const readThenWrite = async (tx: Tx) => {
    const { rows } = await tx.query<{ amount: number }>('SELECT amount FROM account WHERE id = 1');
    await tx.query('UPDATE account SET amount = $1 WHERE id = 1', [(rows[0]?.amount ?? 0) + 1]);
  };
  const options = { isolation: 'serializable', retries: 50 } as const;
  await Promise.all(Array.from({ length: 8 }, () => database.transaction(readThenWrite, options)));
  expect(await amountOf(1)).toBe(8);
});

it('refuses a call at its deadline if no connection is free, and serves the others in order', async () => {
  await using database = open({ poolSize: 1, applicationName: 'small' });
  const holder = await openTransaction(database);
  const startedAt = performance.now();
  const query = (options: { timeoutMs?: number; signal?: AbortSignal }) =>
    failure(database.query('SELECT 1', [], options));
  for (const thrown of await Promise.all(Array.from({ length: 20 }, () => query({ timeoutMs: 100 }))))
    expect(thrown).toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      cause: { code: 'DATABASE_TIMEOUT', message: expect.stringContaining('one of 1 connections') },
    });
  expect(performance.now() - startedAt).toBeLessThan(2_000);
  const tooLong = database.transaction(async () => {}, { timeoutMs: 50 });
  expect(await failure(tooLong)).toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
  const control = new AbortController();
  const aborted = query({ signal: control.signal });
  control.abort(new Error('enough'));
  expect(await aborted).toMatchObject({ message: 'enough' });
  const order: number[] = [];
  const waiting = [1, 2, 3].map((n) => database.query('SELECT 1').then(() => order.push(n)));
  await holder.end();
  await Promise.all(waiting);
  expect(order).toEqual([1, 2, 3]);
  expect([database.poolSize, await backendsOf('small')]).toEqual([1, 1]);
});

describe('a statement that takes too long', () => {
  it('fails at its deadline here, and the server stops it too', async () => {
    await using database = open({ applicationName: 'slow', callTimeoutMs: 200 });
    const startedAt = performance.now();
    const thrown = await failure(database.query('SELECT pg_sleep(60)'));
    expect(thrown).toMatchObject({ code: 'BACKEND_UNAVAILABLE', retryable: true });
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    await untilRunning('slow', 0);
    expect(await selectOne(database, '1')).toBe(1);
  });

  it('ends with the reason of its signal, and the server stops it too', async () => {
    await using database = open({ applicationName: 'signalled' });
    const control = new AbortController();
    const outcome = failure(database.query('SELECT pg_sleep(60)', [], { signal: control.signal }));
    await untilRunning('signalled', 1);
    control.abort(new Error('enough'));
    expect(await outcome).toMatchObject({ message: 'enough' });
    await untilRunning('signalled', 0);
  });

  it('is stopped by the server alone when the clock of this process stands still', async () => {
    const clock = new ManualClock();
    await using database = open({ clock, callTimeoutMs: 200, transactionTimeoutMs: 300 });
    const sleep = (on: Queryable) => on.query('SELECT pg_sleep(60)');
    const cancelled = { code: 'BACKEND_UNAVAILABLE', details: { code: '57014' } };
    expect(await failure(sleep(database))).toMatchObject(cancelled);
    expect(await failure(database.transaction(sleep))).toMatchObject(cancelled);
    const idle = await openTransaction(database);
    expect(await idle.thrown).toMatchObject({ code: 'BACKEND_UNAVAILABLE', status: 503 });
    expect(idle.tx.signal.aborted).toBe(true);
    expect(await failure(idle.tx.query('SELECT 1'))).toMatchObject({ code: 'TX_CLOSED' });
  });

  it('may have a longer limit, which the next statement on the connection does not get', async () => {
    await using database = open({ callTimeoutMs: 200, poolSize: 1 });
    await database.query('SELECT pg_sleep(0.4)', [], { timeoutMs: 20_000 });
    expect(await selectOne(database, "current_setting('statement_timeout')")).toBe('200ms');
  });

  it('ends its transaction at its own deadline', async () => {
    await using database = open();
    const outcome = database.transaction(async (tx) => {
      await add(tx, 4);
      await tx.query('SELECT pg_sleep(60)', [], { timeoutMs: 100 }).catch(() => {});
      expect(await failure(tx.query('SELECT 1'))).toMatchObject({ code: 'TX_CLOSED' });
    });
    expect(await failure(outcome)).toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    expect(await amountOf(4)).toBe(0);
  });
});

describe('url', () => {
  it('of a missing database fails at once with the error of PostgreSQL', async () => {
    await using database = openAt((url) => (url.pathname = '/missing'), { callTimeoutMs: 60_000 });
    for (const call of [database.start(), database.query('SELECT 1')].map(failure))
      expect(await call).toMatchObject({ code: '3D000' });
  });

  it('without a server fails at the deadline with BACKEND_UNAVAILABLE and the reason', async () => {
    await using database = open({ url: 'postgres://postgres@127.0.0.1:1/x', callTimeoutMs: 200 });
    expect(await failure(database.start())).toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it.each(['mysql://u:secret@h/db', 'u:secret@h', undefined])('%s is refused without its password', (url) => {
    const message = /^PgDatabase: url must be a URL such as postgres:(?!.*secret)/;
    expect(() => open({ url: url as string })).toThrow(message);
  });

  it('may carry settings', async () => {
    await using database = openAt(({ searchParams }) => {
      searchParams.set('options', '-c work_mem=5MB');
      searchParams.set('application_name', 'mine');
    });
    const settings = ['work_mem', 'application_name', 'DateStyle'].map(
      (name) => `current_setting('${name}')`,
    );
    expect(await selectOne(database, `ARRAY[${settings}]`)).toEqual([
      '5MB',
      'mine',
      expect.stringMatching(/^ISO/),
    ]);
  });
});

it.each([
  [true, ['mine']],
  [false, []],
])('prepares named statements if prepare is %s', async (prepare, names) => {
  await using database = open({ poolSize: 1, prepare });
  await database.query('SELECT $1::int', [1], { name: 'mine' });
  expect(await selectOne(database, 'ARRAY(SELECT name FROM pg_prepared_statements)')).toEqual(names);
});
