import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import type { Database, Tx } from '../../src/index.js';
import { failure, type SharedOptions } from '../open-databases.js';
import type { Use } from './listening.js';

/** From the first call to the stop. */
export function lifeContract(withDatabase: Use, open: (options?: Partial<SharedOptions>) => Database): void {
  describe('life', () => {
    it('works without start, and start may be called again and again', () =>
      withDatabase({}, async (database) => {
        expect((await database.query('SELECT 1 AS n')).rows).toEqual([{ n: 1 }]);
        await Promise.all([database.start(), database.start()]);
      }));

    it('stop before start is safe and final', async () => {
      const database = open();
      await Promise.all([database.stop(), database.stop()]);
      expect(await failure(database.query('SELECT 1'))).toMatchObject({ code: 'SERVICE_STOPPED' });
      expect(await failure(database.transaction(async () => {}))).toMatchObject({ code: 'SERVICE_STOPPED' });
      expect(await failure(database.start())).toMatchObject({ code: 'SERVICE_STOPPED' });
      database.listen('anything', () => {})();
    });

    it('stop ends a transaction whose function never does; nothing of it is kept', () =>
      withDatabase({}, async (next) => {
        await next.query('CREATE TABLE stopped (n int)');
        if (next.kind === 'pglite') await next.stop();
        const database = open();
        const held = latch<Tx>('a transaction is open');
        const never = latch('never');
        const outcome = failure(
          database.transaction(async (tx) => {
            await tx.query('INSERT INTO stopped VALUES (1)');
            held.open(tx);
            await never.promise;
          }),
        );
        const tx = await held.wait(10_000);
        const waiting = failure(database.transaction((other) => other.query('SELECT pg_sleep(0)')));
        await database.stop();
        expect(await outcome).toMatchObject({ retryable: expect.any(Boolean) });
        expect(tx.signal.aborted).toBe(true);
        expect(await failure(tx.query('SELECT 1'))).toMatchObject({ code: 'TX_CLOSED' });
        await waiting;
        never.open();
        await using again = open();
        expect((await again.query('SELECT * FROM stopped')).rowCount).toBe(0);
        await again.query('DROP TABLE stopped');
      }));

    it('the schema is looked in first, then public, however it is called', () =>
      withDatabase({ schema: 'odd "schema, x' }, async (database) => {
        const { rows } = await database.query("SELECT current_setting('search_path') AS path");
        expect(rows).toEqual([{ path: '"odd ""schema, x", public' }]);
        await database.query('CREATE SCHEMA "odd ""schema, x"');
        await database.query('CREATE TABLE here ()');
        expect((await database.query("SELECT to_regclass('public.here') AS t")).rows).toEqual([{ t: null }]);
        await database.query('DROP SCHEMA "odd ""schema, x" CASCADE');
      }));
  });
}
