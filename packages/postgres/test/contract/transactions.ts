import { latch } from '@millrace/testkit';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Database, type Tx, transactionOutcome } from '../../src/index.js';
import { failure } from '../open-databases.js';

const insert = (tx: Pick<Tx, 'query'>, note: string) => tx.query('INSERT INTO ledger VALUES ($1)', [note]);

/** Transactions. */
export function transactionsContract(database: () => Database): void {
  const notes = async () =>
    (await database().query<{ note: string }>('SELECT note FROM ledger ORDER BY note')).rows.map(
      (r) => r.note,
    );

  describe('transaction', () => {
    beforeAll(() => database().query('CREATE TABLE ledger (note text PRIMARY KEY)'));
    beforeEach(() => database().query('DELETE FROM ledger'));

    it('commits when the function returns, and gives what it returned', async () => {
      const value = await database().transaction(async (tx) => {
        await insert(tx, 'a');
        expect(await transactionOutcome(tx, tx.xid ?? '')).toBe('in progress');
        return { any: 'thing' };
      });
      expect(value).toEqual({ any: 'thing' });
      expect(await notes()).toEqual(['a']);
    });

    it('rolls back when the function throws, and throws the same', async () => {
      const own = new Error('my own');
      const thrown = failure(
        database().transaction(async (tx) => {
          await insert(tx, 'a');
          throw own;
        }),
      );
      expect(await thrown).toBe(own);
      expect(await notes()).toEqual([]);
    });

    it('what was not awaited belongs to it all the same', async () => {
      await database().transaction(async (tx) => {
        for (const note of ['a', 'b', 'c']) void insert(tx, note);
      });
      expect(await notes()).toEqual(['a', 'b', 'c']);
    });

    it('after its end tx answers TX_CLOSED', async () => {
      const escaped: Tx[] = [];
      await database().transaction(async (tx) => {
        escaped.push(tx);
        await tx.transaction(async (inner) => void escaped.push(inner));
        expect(await failure(insert(escaped[1] as Tx, 'x'))).toMatchObject({ code: 'TX_CLOSED' });
      });
      await failure(
        database().transaction(async (tx) => {
          escaped.push(tx);
          throw new Error('no');
        }),
      );
      for (const tx of escaped) {
        expect(await failure(insert(tx, 'late'))).toMatchObject({ code: 'TX_CLOSED' });
        expect(await failure(tx.script('SELECT 1'))).toMatchObject({ code: 'TX_CLOSED' });
        expect(await failure(tx.transaction(async () => {}))).toMatchObject({ code: 'TX_CLOSED' });
      }
      expect(await notes()).toEqual([]);
    });

    it('a part that fails is rolled back alone', async () => {
      await database().transaction(async (tx) => {
        await insert(tx, 'a');
        const thrown = await failure(
          tx.transaction(async (part) => {
            await insert(part, 'b');
            await part.transaction((deeper) => insert(deeper, 'c'));
            await insert(part, 'a');
          }),
        );
        expect(thrown).toMatchObject({ code: '23505' });
        await tx.transaction((part) => insert(part, 'd'));
      });
      expect(await notes()).toEqual(['a', 'd']);
    });

    it('while a part is open the outer tx refuses statements: they would share its fate', async () => {
      await database().transaction(async (tx) => {
        await tx.transaction(async (part) => {
          await insert(part, 'a');
          expect(await failure(insert(tx, 'b'))).toMatchObject({ code: 'TX_REENTRANT' });
          expect(await failure(tx.transaction(async () => {}))).toMatchObject({ code: 'TX_REENTRANT' });
        });
        await insert(tx, 'c');
      });
      expect(await notes()).toEqual(['a', 'c']);
    });

    it('never reports success when PostgreSQL rolled back: a swallowed error is TX_ROLLED_BACK', async () => {
      const thrown = await failure(
        database().transaction(async (tx) => {
          await insert(tx, 'a');
          await insert(tx, 'a').catch(() => {});
        }),
      );
      expect(thrown).toMatchObject({ code: 'TX_ROLLED_BACK', cause: { code: '23505' } });
      expect(await notes()).toEqual([]);
    });

    it('has the isolation that was asked for', async () => {
      const level = async (tx: Tx) =>
        (await tx.query<{ v: string }>("SELECT current_setting('transaction_isolation') AS v")).rows[0]?.v;
      expect(await database().transaction(level)).toBe('read committed');
      for (const isolation of ['read committed', 'repeatable read', 'serializable'] as const)
        expect(await database().transaction(level, { isolation })).toBe(isolation);
    });

    it('read-only: reads, and writes are the statement’s fault', async () => {
      const thrown = await failure(database().transaction((tx) => insert(tx, 'a'), { readOnly: true }));
      expect(thrown).toMatchObject({ code: '25006' });
      const read = (tx: Tx) => tx.query('SELECT note FROM ledger');
      expect(await database().transaction(read, { readOnly: true })).toEqual({ rows: [], rowCount: 0 });
    });

    it('runs again after a serialization failure or deadlock only when asked', async () => {
      for (const sqlState of ['40001', '40P01']) {
        let runs = 0;
        const twiceUnlucky = async (tx: Tx) => {
          await insert(tx, sqlState);
          if (++runs < 3)
            await tx.script(`DO $$ BEGIN RAISE 'collided' USING ERRCODE = '${sqlState}'; END $$`);
          return runs;
        };
        expect(await failure(database().transaction(twiceUnlucky))).toMatchObject({ code: sqlState });
        expect(runs).toBe(1);
        expect(await failure(database().transaction(twiceUnlucky, { retries: 0 }))).toMatchObject({
          code: sqlState,
        });
        runs = 0;
        expect(await database().transaction(twiceUnlucky, { retries: 2 })).toBe(3);
      }
      expect(await notes()).toEqual(['40001', '40P01']);
    });

    it('past its timeout it is over: TX_TIMEOUT outside, TX_CLOSED and an aborted signal inside, nothing done', async () => {
      const held = latch<Tx>('the function holds a tx');
      const never = latch('never');
      const transaction = failure(
        database().transaction(
          async (tx) => {
            await insert(tx, 'a');
            held.open(tx);
            await never.promise;
          },
          { timeoutMs: 300 },
        ),
      );
      const tx = await held.wait();
      expect(tx.signal.aborted).toBe(false);
      expect(await transaction).toMatchObject({ code: 'TX_TIMEOUT', status: 504, retryable: true });
      expect(tx.signal.aborted).toBe(true);
      expect(await failure(insert(tx, 'b'))).toMatchObject({ code: 'TX_CLOSED' });
      expect(await notes()).toEqual([]);
      never.open();
    });

    it('a signal ends it with its reason', async () => {
      const control = new AbortController();
      const reason = new Error('cancelled');
      const transaction = failure(
        database().transaction(
          async (tx) => {
            await insert(tx, 'a');
            control.abort(reason);
            await insert(tx, 'b');
          },
          { signal: control.signal },
        ),
      );
      expect(await transaction).toBe(reason);
      expect(await notes()).toEqual([]);
      const unstarted = database().transaction((tx) => insert(tx, 'c'), { signal: control.signal });
      expect(await failure(unstarted)).toBe(reason);
      expect(await notes()).toEqual([]);
    });

    it('twenty at once: all or nothing each, one after the other where there is one session', async () => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, (_, n) =>
          database().transaction(async (tx) => {
            await insert(tx, `${n}-first`);
            if (n % 2) throw new Error('odd');
            await insert(tx, `${n}-second`);
          }),
        ),
      );
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
      expect((await notes()).every((note) => Number.parseInt(note, 10) % 2 === 0)).toBe(true);
      expect(await notes()).toHaveLength(20);
    });
  });
}
