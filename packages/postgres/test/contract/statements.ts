import { describe, expect, it } from 'vitest';
import { type Database, isSqlError } from '../../src/index.js';
import { failure } from '../open-databases.js';

/** Single statements. */
export function statementsContract(database: () => Database): void {
  describe('query', () => {
    it('gives rows and how many it returned or changed', async () => {
      await database().query('CREATE TABLE counted (n int)');
      expect(await database().query('INSERT INTO counted VALUES (1), (2)')).toEqual({
        rows: [],
        rowCount: 2,
      });
      const update = await database().query('UPDATE counted SET n = n + 1 WHERE n > $1 RETURNING n', [1]);
      expect(update).toEqual({ rows: [{ n: 3 }], rowCount: 1 });
      expect(await database().query('SELECT n FROM counted ORDER BY n')).toEqual({
        rows: [{ n: 1 }, { n: 3 }],
        rowCount: 2,
      });
      expect((await database().query('DELETE FROM counted WHERE n > 100')).rowCount).toBe(0);
    });

    it('throws what PostgreSQL says with its SQLSTATE, and without the parameters', async () => {
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

    it('takes one statement: a second one in the same text is refused', async () => {
      const thrown = await failure(database().query('SELECT 1; SELECT 2'));
      expect(isSqlError(thrown, '42601')).toBe(true);
    });

    it('a signal that has aborted keeps the statement from running', async () => {
      const reason = new Error('no longer wanted');
      const thrown = await failure(
        database().query('CREATE TABLE unwanted ()', [], { signal: AbortSignal.abort(reason) }),
      );
      expect(thrown).toBe(reason);
      expect((await database().query("SELECT to_regclass('unwanted') AS t")).rows).toEqual([{ t: null }]);
    });

    it('a name may be used again and again', async () => {
      for (const n of [1, 2]) {
        const { rows } = await database().query('SELECT $1::int AS n', [n], { name: 'again' });
        expect(rows).toEqual([{ n }]);
      }
    });

    it('many at once all get their own answer', async () => {
      const all = Array.from({ length: 100 }, (_, n) => database().query('SELECT $1::int AS n', [n]));
      expect((await Promise.all(all)).map(({ rows }) => rows[0]?.n)).toEqual(all.map((_, n) => n));
    });
  });
}
