import { describe, expect, it } from 'vitest';
import { type Database, quoteIdentifier, type SqlParameter, toJson } from '../../src/index.js';
import { failure } from '../support.js';

const HOSTILE = ['', "'; DROP x --", '$1', '\\', '"', '{}', 'NULL', 'ü 😀', '\n\t\r', '__proto__', '%', ','];

export function valuesContract(database: () => Database): void {
  const one = async (sql: string, params: readonly SqlParameter[] = []) =>
    (await database().query<{ v: unknown }>(`SELECT ${sql} AS v`, params)).rows[0]?.v;

  describe('values', () => {
    it.each<[string, unknown]>([
      ['true', true],
      ['12::smallint', 12],
      ['(-2147483648)::int', -2147483648],
      ['9007199254740993::bigint', '9007199254740993'],
      ['1.10::numeric', '1.10'],
      ['1.5::float8', 1.5],
      ["'NaN'::float8", Number.NaN],
      ["'a'::text", 'a'],
      ['NULL', null],
      ["DATE '2026-02-03'", '2026-02-03'],
      ["TIMESTAMP '2026-02-03 04:05:06.7'", '2026-02-03 04:05:06.7'],
      ["TIMESTAMPTZ '2026-02-03 04:05:06.789123+05:30'", new Date('2026-02-02T22:35:06.789Z')],
      ["TIMESTAMPTZ '0044-03-15 12:00:00+00 BC'", new Date('-000043-03-15T12:00:00Z')],
      ["'infinity'::timestamptz", Infinity],
      ["'-infinity'::timestamptz", -Infinity],
      ['\'{"a": [1, null]}\'::jsonb', { a: [1, null] }],
      ["'null'::jsonb", null],
      ["'\\x00ff'::bytea", Buffer.from([0, 255])],
      ["ARRAY['a', NULL, 'NULL', '', '{\",\\']", ['a', null, 'NULL', '', '{",\\']],
      ['ARRAY[[1,2]]', [[1, 2]]],
      ["'[5:6]={7,8}'::int[]", [7, 8]],
      ["'{}'::text[]", []],
      ['ARRAY[1::bigint]', ['1']],
      ["ARRAY['{}'::jsonb]", [{}]],
      ["interval '1 day'", '1 day'],
      ["'5a8b2c1e-0000-4000-8000-000000000000'::uuid", '5a8b2c1e-0000-4000-8000-000000000000'],
    ])('returns %s as %s', async (sql, expected) => {
      expect(await one(sql)).toEqual(expected);
    });

    it.each<[string, SqlParameter, unknown]>([
      ['$1::bool', false, false],
      ['$1::bigint', 2n ** 60n, String(2n ** 60n)],
      ['$1::float8', 0.1, 0.1],
      ['$1::text', undefined, null],
      ['$1::timestamptz', new Date('2026-11-15T17:00:00.123Z'), new Date('2026-11-15T17:00:00.123Z')],
      ['$1::bytea', new Uint8Array([0, 92, 255]).subarray(1), Buffer.from([92, 255])],
      ['$1::jsonb', { a: "it's", b: [{}], __proto: null }, { a: "it's", b: [{}], __proto: null }],
      ['$1::jsonb', toJson([1, 'x', null]), [1, 'x', null]],
      ['$1::jsonb', toJson('text'), 'text'],
      ['$1::int[]', [1, null, 3], [1, null, 3]],
      ['$1::bool[]', [true, false], [true, false]],
      ['$1::jsonb[]', [{ a: '"' }], [{ a: '"' }]],
      ['$1::bytea[]', [new Uint8Array([1, 92])], [Buffer.from([1, 92])]],
      ['$1::text[]', [], []],
    ])('stores in %s the parameter %s', async (sql, parameter, expected) => {
      expect(await one(sql, [parameter])).toEqual(expected);
    });

    it('hostile texts come back unchanged, alone, in arrays and in JSON', async () => {
      for (const text of HOSTILE) expect(await one('$1::text', [text])).toBe(text);
      expect(await one('$1::text[]', [HOSTILE])).toEqual(HOSTILE);
      expect(await one('$1::jsonb', [{ HOSTILE }])).toEqual({ HOSTILE });
      expect(await one('$1::jsonb', [toJson('\\u0000')])).toBe('\\u0000');
    });

    it.each<[string, unknown]>([
      ['a NUL character', 'a\u0000b'],
      ['half a surrogate pair', '\ud800'],
      ['one deep in an array', [['\udfff']]],
      ['a NUL in JSON', { a: '\u0000' }],
      ['half a pair in JSON', { a: ['\ud834'] }],
      ['an invalid date', new Date(Number.NaN)],
      ['a function', () => 1],
      ['a symbol', Symbol('x')],
      ['bigint in JSON', { a: 1n }],
    ])('refuses %s before anything is sent', async (_, parameter) => {
      const thrown = await failure(database().query('SELECT $1', [parameter as SqlParameter]));
      expect(thrown).toMatchObject({ code: 'PARAMETER_INVALID', status: 400 });
    });

    it('quotes any name, and refuses one that PostgreSQL would shorten or cannot store', async () => {
      for (const name of [
        ...HOSTILE.filter(Boolean),
        'x; DROP SCHEMA public',
        '1',
        'select',
        'é'.repeat(31),
      ]) {
        const table = quoteIdentifier(name);
        await database().query(`CREATE TABLE ${table} (${table} int)`);
        await database().query(`INSERT INTO ${table} VALUES (1)`);
        const { rows } = await database().query(`SELECT ${table} FROM ${table}`);
        expect(rows).toEqual([Object.fromEntries([[name, 1]])]);
      }
      for (const name of ['', 'a\u0000', '\ud800', 'x'.repeat(64), 'é'.repeat(32), 5 as unknown as string])
        expect(() => quoteIdentifier(name)).toThrow(/1 to 63 bytes/);
    });
  });
}
