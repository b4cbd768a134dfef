import { latch, ManualClock, type PostgresSandbox, postgresSandbox, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PgDatabase, type PgDatabaseOptions, type Tx } from '../../src/index.js';
import { failure } from '../open-databases.js';

leakCheck();

let sandbox: PostgresSandbox;
let admin: PgDatabase;
const open = (options: Partial<PgDatabaseOptions> = {}) => new PgDatabase({ url: sandbox.url, ...options });

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

const amountOf = async (id: number) =>
  (await admin.query('SELECT amount FROM account WHERE id = $1', [id])).rows[0]?.amount;
const backendsOf = async (name: string, statement = '%') =>
  Number(
    (
      await admin.query(
        'SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = $1 AND query LIKE $2',
        [`${name}:pool`, statement],
      )
    ).rows[0]?.n,
  );
const add = (tx: Tx, id: number) => tx.query('UPDATE account SET amount = amount + 1 WHERE id = $1', [id]);

describe('transactions that meet on a server', () => {
  it('serializable ones that collide all commit when they may be run again', async () => {
    await using database = open();
    const readThenWrite = async (tx: Tx) => {
      const { rows } = await tx.query<{ amount: number }>('SELECT amount FROM account WHERE id = 1');
      await tx.query('UPDATE account SET amount = $1 WHERE id = 1', [(rows[0]?.amount ?? 0) + 1]);
    };
    const runs = Array.from({ length: 8 }, () =>
      database.transaction(readThenWrite, { isolation: 'serializable', retries: 50 }),
    );
    await Promise.all(runs);
    expect(await amountOf(1)).toBe(8);
  });

  it('of two that lock each other out one gets 40P01, and both commit when they may be run again', async () => {
    await using database = open();
    const both = latch('both have their first lock');
    let first = 0;
    const cross = (from: number, to: number, retries: number) =>
      database.transaction(
        async (tx) => {
          await add(tx, from);
          if (++first === 2) both.open();
          await both.promise;
          await add(tx, to);
        },
        { retries },
      );
    const outcomes = await Promise.allSettled([cross(2, 3, 1), cross(3, 2, 1)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
    expect(first).toBe(3);
    expect([await amountOf(2), await amountOf(3)]).toEqual([2, 2]);
  });
});

describe('a pool that is exhausted', () => {
  it('refuses at the caller’s deadline, serves in order, and keeps its size', async () => {
    await using database = open({ poolSize: 1, applicationName: 'small' });
    expect(database.poolSize).toBe(1);
    const release = latch('the holder may go');
    const held = latch('the connection is held');
    const holder = database.transaction(async (tx) => {
      await tx.query('SELECT 1');
      held.open();
      await release.promise;
    });
    await held.wait();
    const startedAt = performance.now();
    const refused = Array.from({ length: 20 }, () =>
      failure(database.query('SELECT 1', [], { timeoutMs: 100 })),
    );
    for (const thrown of await Promise.all(refused))
      expect(thrown).toMatchObject({
        code: 'BACKEND_UNAVAILABLE',
        cause: { code: 'DATABASE_TIMEOUT', message: expect.stringContaining('one of 1 connections') },
      });
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    const tooLong = database.transaction(async () => {}, { timeoutMs: 50 });
    expect(await failure(tooLong)).toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    const control = new AbortController();
    const aborted = failure(database.query('SELECT 1', [], { signal: control.signal }));
    control.abort(new Error('enough'));
    expect(await aborted).toMatchObject({ message: 'enough' });
    const order: number[] = [];
    const waiting = [1, 2, 3].map((n) => database.query('SELECT 1').then(() => order.push(n)));
    release.open();
    await Promise.all([holder, ...waiting]);
    expect(order).toEqual([1, 2, 3]);
    expect(await backendsOf('small')).toBe(1);
  });
});

describe('a statement that takes too long', () => {
  it('fails at its deadline here, and the server stops it too', async () => {
    await using database = open({ applicationName: 'slow', callTimeoutMs: 200 });
    const startedAt = performance.now();
    const thrown = await failure(database.query('SELECT pg_sleep(60)'));
    expect(thrown).toMatchObject({ code: 'BACKEND_UNAVAILABLE', retryable: true });
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    await until(async () => (await backendsOf('slow', '%pg_sleep%')) === 0, {
      what: 'the server to stop it',
    });
    expect((await database.query('SELECT 1 AS n')).rows).toEqual([{ n: 1 }]);
  });

  it('is stopped by the server alone when this process does not look at its clock', async () => {
    const clock = new ManualClock();
    await using database = open({ clock, callTimeoutMs: 200, transactionTimeoutMs: 300 });
    expect(await failure(database.query('SELECT pg_sleep(60)'))).toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      details: { code: '57014' },
    });
    const inside = database.transaction((tx) => tx.query('SELECT pg_sleep(60)'));
    expect(await failure(inside)).toMatchObject({ code: 'BACKEND_UNAVAILABLE', details: { code: '57014' } });
  });

  it('a transaction that idles is ended by the server alone', async () => {
    const clock = new ManualClock();
    await using database = open({ clock, transactionTimeoutMs: 200 });
    const tx = latch<Tx>('the transaction is open');
    const outcome = failure(
      database.transaction(async (own) => {
        tx.open(own);
        await latch('never').promise;
      }),
    );
    expect(await outcome).toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    expect(await failure((await tx.wait()).query('SELECT 1'))).toMatchObject({ code: 'TX_CLOSED' });
  });

  it('may take longer than the others when it says so, and leaves nothing of that behind', async () => {
    await using database = open({ callTimeoutMs: 200, poolSize: 1 });
    await database.query('SELECT pg_sleep(0.4)', [], { timeoutMs: 20_000 });
    const { rows } = await database.query("SELECT current_setting('statement_timeout') AS v");
    expect(rows).toEqual([{ v: '200ms' }]);
  });

  it('is ended by its signal', async () => {
    await using database = open({ applicationName: 'signalled' });
    const control = new AbortController();
    const outcome = failure(database.query('SELECT pg_sleep(60)', [], { signal: control.signal }));
    await until(async () => (await backendsOf('signalled', '%pg_sleep%')) === 1, { what: 'it to run' });
    control.abort(new Error('enough'));
    expect(await outcome).toMatchObject({ message: 'enough' });
    await until(async () => (await backendsOf('signalled', '%pg_sleep%')) === 0, {
      what: 'the server to stop it',
    });
  });

  it('in a transaction, past its own deadline, ends the transaction', async () => {
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

describe('a backend that is terminated', () => {
  const pidOf = async (tx: Pick<Tx, 'query'>) =>
    (await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid;
  const terminate = (pid: number | undefined) => admin.query('SELECT pg_terminate_backend($1)', [pid]);

  it('ends its transaction: BACKEND_UNAVAILABLE outside, TX_CLOSED inside, and the next one works', async () => {
    await using database = open();
    const outcome = database.transaction(async (tx) => {
      await add(tx, 5);
      await terminate(await pidOf(tx));
      await until(() => tx.signal.aborted, { what: 'the signal' });
      expect(await failure(tx.query('SELECT 1'))).toMatchObject({ code: 'TX_CLOSED' });
    });
    expect(await failure(outcome)).toMatchObject({ code: 'BACKEND_UNAVAILABLE', status: 503 });
    expect(await amountOf(5)).toBe(0);
    await database.transaction((tx) => add(tx, 5));
    expect(await amountOf(5)).toBe(1);
  });

  it('a repeatable statement is sent again', async () => {
    await using database = open({ applicationName: 'repeat' });
    // Long enough to be ended while it runs, also on a busy machine.
    const outcome = database.query("SELECT pg_sleep(1), 'done' AS v", [], { repeatable: true });
    await until(async () => (await backendsOf('repeat', '%pg_sleep%')) === 1, { what: 'it to run' });
    await admin.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'repeat:pool'",
    );
    expect((await outcome).rows[0]?.v).toBe('done');
    const once = failure(database.query('SELECT pg_sleep(60)'));
    await until(async () => (await backendsOf('repeat', '%pg_sleep(60)%')) === 1, { what: 'it to run' });
    await admin.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'repeat:pool'",
    );
    expect(await once).toMatchObject({ code: 'BACKEND_UNAVAILABLE', details: { code: '57P01' } });
  });

  it('while idle: nobody notices', async () => {
    await using database = open();
    await terminate(await pidOf(database));
    await until(() => database.query('SELECT 1'), { what: 'an answer' });
  });
});

describe('an address', () => {
  it('of a database that is not there: what PostgreSQL says, at once', async () => {
    const url = new URL(sandbox.url);
    url.pathname = '/missing';
    await using database = open({ url: url.href, callTimeoutMs: 60_000 });
    expect(await failure(database.start())).toMatchObject({ code: '3D000' });
    expect(await failure(database.query('SELECT 1'))).toMatchObject({ code: '3D000' });
  });

  it('where nobody listens: BACKEND_UNAVAILABLE at the deadline, with the reason', async () => {
    await using database = open({ url: 'postgres://postgres@127.0.0.1:1/x', callTimeoutMs: 200 });
    expect(await failure(database.start())).toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('that is none is refused without showing what may be a password', () => {
    for (const url of ['mysql://u:secret@h/db', 'u:secret@h', undefined as unknown as string]) {
      expect(() => open({ url })).toThrow(/^PgDatabase: url must be a URL such as postgres:(?!.*secret)/);
    }
  });

  it('may carry settings of its own', async () => {
    const url = new URL(sandbox.url);
    url.searchParams.set('options', '-c work_mem=5MB');
    url.searchParams.set('application_name', 'mine');
    await using database = open({ url: url.href });
    const { rows } = await database.query(
      "SELECT current_setting('work_mem') AS a, current_setting('application_name') AS b, current_setting('DateStyle') AS c",
    );
    expect(rows).toEqual([{ a: '5MB', b: 'mine', c: expect.stringMatching(/^ISO/) }]);
  });
});

describe('prepared statements', () => {
  const prepared = (database: PgDatabase) => database.query('SELECT name FROM pg_prepared_statements');

  it('are made by name, unless the pooler cannot', async () => {
    await using database = open({ poolSize: 1 });
    await database.query('SELECT $1::int', [1], { name: 'mine' });
    expect((await prepared(database)).rows).toEqual([{ name: 'mine' }]);
    await using without = open({ poolSize: 1, prepare: false });
    await without.query('SELECT $1::int', [1], { name: 'mine' });
    expect((await prepared(without)).rows).toEqual([]);
  });
});
