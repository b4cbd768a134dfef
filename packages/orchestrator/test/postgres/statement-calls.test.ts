import type { Database, QueryResult } from '@millrace/postgres';
import { describe, expect, it } from 'vitest';
import { StatementCalls, Statements } from '../../src/postgres/statement-calls.js';
import { PostgresOperationStore } from '../../src/postgres/store.js';

const NONE: QueryResult<never> = { rows: [], rowCount: 0 };

/** Calls whose database fails as often as it is told to. */
function openCalls(failures: number, code: string) {
  let sent = 0;
  const query = async () => {
    if (++sent <= failures) throw Object.assign(new Error('no'), { code, severity: 'ERROR' });
    return NONE;
  };
  const database = { query } as unknown as Database;
  return { calls: new StatementCalls(database, new Statements('s')), sent: () => sent };
}

describe('calls of statements', () => {
  it.each(['40001', '40P01'])(
    'orchestrator NFR-2: what others were in the way of (%s) is repeated',
    async (code) => {
      const { calls, sent } = openCalls(4, code);
      expect(await calls.rows('get', ['x'])).toEqual([]);
      expect(sent()).toBe(5);
    },
  );

  it('orchestrator NFR-2: in the end it is told as something that passes', async () => {
    const { calls, sent } = openCalls(99, '40P01');
    await expect(calls.rows('get', ['x'])).rejects.toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      retryable: true,
      cause: { code: '40P01' },
    });
    expect(sent()).toBe(5);
  });

  it('orchestrator NFR-2: anything else is told at once', async () => {
    const { calls, sent } = openCalls(1, '23505');
    await expect(calls.rows('get', ['x'])).rejects.toMatchObject({ code: '23505' });
    expect(sent()).toBe(1);
  });

  it('orchestrator NFR-2: a store refuses options that it cannot use', () => {
    const database = { query() {}, transaction() {}, listen() {} } as unknown as Database;
    expect(() => new PostgresOperationStore({ database: {} as Database })).toThrow(
      /database must be a Database/,
    );
    expect(() => new PostgresOperationStore({} as never)).toThrow(/database must be a Database/);
    expect(() => new PostgresOperationStore({ database, schema: '' })).toThrow(/schema/);
    expect(() => new PostgresOperationStore({ database, shema: 'x' } as never)).toThrow(
      /did you mean 'schema'/,
    );
  });
});
