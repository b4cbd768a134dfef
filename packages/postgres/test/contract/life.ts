import { expect, it } from 'vitest';
import type { Database } from '../../src/index.js';
import { failure, openTransaction, type SharedOptions } from '../support.js';
import type { Use } from './listening.js';

/** From the first call to the stop. */
export function lifeContract(withDatabase: Use, open: (options?: Partial<SharedOptions>) => Database): void {
  it('refuses every call after stop, even one before start', async () => {
    const database = open();
    await Promise.all([database.stop(), database.stop()]);
    const calls = [database.query('SELECT 1'), database.transaction(async () => {}), database.start()];
    for (const call of calls.map(failure)) expect(await call).toMatchObject({ code: 'SERVICE_STOPPED' });
    database.listen('anything', () => {})();
  });

  it('stop ends an open transaction without its function, and nothing of it is kept', () =>
    withDatabase({}, async (next) => {
      await next.query('CREATE TABLE stopped (n int)');
      if (next.kind === 'pglite') await next.stop();
      const database = open();
      const { tx, thrown } = await openTransaction(database, (own) =>
        own.query('INSERT INTO stopped VALUES (1)'),
      );
      const waiting = failure(database.transaction((other) => other.query('SELECT pg_sleep(0)')));
      await database.stop();
      expect(await thrown).toMatchObject({ retryable: expect.any(Boolean) });
      expect(tx.signal.aborted).toBe(true);
      expect(await failure(tx.query('SELECT 1'))).toMatchObject({ code: 'TX_CLOSED' });
      await waiting;
      await using again = open();
      expect((await again.query('SELECT * FROM stopped')).rowCount).toBe(0);
      await again.query('DROP TABLE stopped');
    }));

  it('looks names up in its schema first, then in public, whatever the schema is called', () =>
    withDatabase({ schema: 'odd "schema, x' }, async (database) => {
      const { rows } = await database.query("SELECT current_setting('search_path') AS path");
      expect(rows).toEqual([{ path: '"odd ""schema, x", public' }]);
      await database.query('CREATE SCHEMA "odd ""schema, x"');
      await database.query('CREATE TABLE here ()');
      expect((await database.query("SELECT to_regclass('public.here') AS t")).rows).toEqual([{ t: null }]);
      await database.query('DROP SCHEMA "odd ""schema, x" CASCADE');
    }));
}
