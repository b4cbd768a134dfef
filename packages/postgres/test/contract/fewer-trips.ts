import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database, Tx } from '../../src/index.js';
import { failure } from '../open-databases.js';

/** Transactions that wait for fewer replies. */
export function fewerTripsContract(database: () => Database): void {
  const insert = (tx: Pick<Tx, 'query'>, note: string) => tx.query('INSERT INTO trip VALUES ($1)', [note]);
  const notes = async () =>
    (await database().query<{ note: string }>('SELECT note FROM trip ORDER BY note')).rows.map(
      ({ note }) => note,
    );
  const last = (tx: Tx, note: string) =>
    tx.commitWith<{ note: string }>('INSERT INTO trip VALUES ($1) RETURNING note', [note]);

  describe('commitWith', () => {
    beforeAll(() => database().query('CREATE TABLE trip (note text PRIMARY KEY)'));
    beforeEach(() => database().query('DELETE FROM trip'));

    it('commits with its statement, gives its result, and closes tx', async () => {
      let escaped: Tx | undefined;
      const result = await database().transaction(async (tx) => {
        escaped = tx;
        await insert(tx, 'a');
        return last(tx, 'b');
      });
      expect(result).toEqual({ rows: [{ note: 'b' }], rowCount: 1 });
      expect(await notes()).toEqual(['a', 'b']);
      expect(await failure(insert(escaped as Tx, 'c'))).toMatchObject({ code: 'TX_CLOSED' });
    });

    it('rolls everything back when its statement fails, and throws what PostgreSQL said', async () => {
      await database().query("INSERT INTO trip VALUES ('there')");
      const thrown = await failure(
        database().transaction(async (tx) => {
          await insert(tx, 'a');
          return last(tx, 'there');
        }),
      );
      expect(thrown).toMatchObject({ code: '23505' });
      expect(await notes()).toEqual(['there']);
    });

    it('does not hide a failure that was swallowed before', async () => {
      const thrown = await failure(
        database().transaction(async (tx) => {
          await tx.query('SELECT 1 / 0').catch(() => {});
          return last(tx, 'a');
        }),
      );
      expect(thrown).toMatchObject({ code: 'TX_ROLLED_BACK', cause: { code: '22012' } });
      expect(await notes()).toEqual([]);
    });

    it('what the function throws after it is thrown, and what was committed stays', async () => {
      const own = new Error('too late');
      const thrown = await failure(
        database().transaction(async (tx) => {
          await last(tx, 'a');
          throw own;
        }),
      );
      expect(thrown).toBe(own);
      expect(await notes()).toEqual(['a']);
    });

    it('is refused in a part of a transaction', async () => {
      const thrown = await failure(database().transaction((tx) => tx.transaction((part) => last(part, 'a'))));
      expect(thrown).toMatchObject({ code: 'TX_REENTRANT' });
      expect(await notes()).toEqual([]);
    });

    it('a statement that fails shows the failure that was swallowed, not its echo', async () => {
      const thrown = await failure(
        database().transaction(async (tx) => {
          await tx.query('SELECT 1 / 0').catch(() => {});
          await insert(tx, 'a');
        }),
      );
      expect(thrown).toMatchObject({ code: 'TX_ROLLED_BACK', cause: { code: '22012' } });
    });
  });

  describe('beginWithFirst', () => {
    const options = { beginWithFirst: true };

    it('is a transaction all the same: commits, rolls back, and knows its number after its first statement', async () => {
      await database().query('DELETE FROM trip');
      await database().transaction(async (tx) => {
        await insert(tx, 'a');
        expect(tx.xid).toMatch(/^\d+@/);
        await last(tx, 'b');
      }, options);
      await failure(
        database().transaction(async (tx) => {
          await insert(tx, 'c');
          throw new Error('no');
        }, options),
      );
      await failure(
        database().transaction(() => Promise.reject(new Error('before its first statement')), options),
      );
      await database().transaction(async () => {}, options);
      await database().transaction((tx) => last(tx, 'd'), options);
      expect(await notes()).toEqual(['a', 'b', 'd']);
    });

    it('writes nothing when BEGIN is refused', async () => {
      await database().query('DELETE FROM trip');
      const thrown = await failure(
        database().transaction((tx) => insert(tx, 'a'), { ...options, readOnly: true }),
      );
      expect(thrown).toMatchObject({ code: '25006' });
      expect(await notes()).toEqual([]);
    });
  });
}
