import { expect, it } from 'vitest';
import { type Database, isSqlError } from '../../src/index.js';
import { failure } from '../support.js';

export function statementsContract(database: () => Database): void {
  it('returns rows and the number of rows returned or changed', async () => {
    await database().query('CREATE TABLE counted (n int)');
    const insert = await database().query('INSERT INTO counted VALUES (1), (2)');
    expect(insert).toEqual({ rows: [], rowCount: 2 });
    const update = await database().query('UPDATE counted SET n = n + 1 WHERE n > $1 RETURNING n', [1]);
    expect(update).toEqual({ rows: [{ n: 3 }], rowCount: 1 });
    const select = await database().query('SELECT n FROM counted ORDER BY n');
    expect(select).toEqual({ rows: [{ n: 1 }, { n: 3 }], rowCount: 2 });
    expect((await database().query('DELETE FROM counted WHERE n > 100')).rowCount).toBe(0);
  });

  it('throws the error of PostgreSQL with its SQLSTATE and without the parameters', async () => {
    await database().query('CREATE TABLE once (id text CONSTRAINT once_id PRIMARY KEY)');
    await database().query('INSERT INTO once VALUES ($1)', ['same']);
    const thrown = await failure(database().query('INSERT INTO once VALUES ($1)', ['same']));
    expect(isSqlError(thrown, '23505')).toBe(true);
    expect(thrown).toMatchObject({ code: '23505', constraint: 'once_id', table: 'once' });
    expect(thrown).not.toHaveProperty('params');
    expect(isSqlError(await failure(database().query('SELEKT')), '42601')).toBe(true);
    expect(isSqlError(await failure(database().query('SELECT $1::int', ['x'])), '22P02')).toBe(true);
    expect(isSqlError(await failure(database().query('SELECT 1', [1])), '08P01')).toBe(false);
    expect(await database().query('SELECT 1 AS n')).toMatchObject({ rows: [{ n: 1 }] });
  });

  it('refuses two statements in one text', async () => {
    expect(isSqlError(await failure(database().query('SELECT 1; SELECT 2')), '42601')).toBe(true);
  });

  it('runs nothing if its signal has already aborted', async () => {
    const reason = new Error('no longer wanted');
    const signal = AbortSignal.abort(reason);
    expect(await failure(database().query('CREATE TABLE unwanted ()', [], { signal }))).toBe(reason);
    expect((await database().query("SELECT to_regclass('unwanted') AS t")).rows).toEqual([{ t: null }]);
  });

  it('returns its own result to each of many calls at once, and may use a name again', async () => {
    const sql = 'SELECT $1::int AS n';
    const calls = Array.from({ length: 100 }, (_, n) => database().query(sql, [n], { name: 'again' }));
    expect((await Promise.all(calls)).map(({ rows }) => rows[0]?.n)).toEqual(calls.map((_, n) => n));
  });
}
