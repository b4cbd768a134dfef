import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Database, type TransactionOptions, type Tx, transactionOutcome } from '../../src/index.js';
import { failure } from '../support.js';

const insert = (tx: Pick<Tx, 'query'>, note: string) => tx.query('INSERT INTO ledger VALUES ($1)', [note]);
const insertLast = (tx: Tx, note: string) =>
  tx.commitWith<{ note: string }>('INSERT INTO ledger VALUES ($1) RETURNING note', [note]);
const swallowAnError = (tx: Tx) => tx.query('SELECT 1 / 0').catch(() => {});
const rolledBack = { code: 'TX_ROLLED_BACK', cause: { code: '22012' } };

/** Transactions, also with fewer round trips: `beginWithFirst` and `commitWith`. */
export function transactionsContract(database: () => Database): void {
  beforeAll(() => database().query('CREATE TABLE ledger (note text PRIMARY KEY)'));
  beforeEach(() => database().query('DELETE FROM ledger'));
  const notes = async () => {
    const { rows } = await database().query<{ note: string }>('SELECT note FROM ledger ORDER BY note');
    return rows.map(({ note }) => note);
  };

  describe.each<[string, TransactionOptions]>([
    ['transaction', {}],
    ['transaction whose BEGIN travels with the first statement', { beginWithFirst: true }],
  ])('%s', (_, begin) => {
    const run = <T>(fn: (tx: Tx) => Promise<T>, options?: TransactionOptions) =>
      database().transaction(fn, { ...begin, ...options });
    const fail = (fn: (tx: Tx) => Promise<unknown>, options?: TransactionOptions) =>
      failure(run(fn, options));

    it('commits when the function returns, and returns its value', async () => {
      const value = await run(async (tx) => {
        await insert(tx, 'a');
        expect(tx.xid).toMatch(/^\d+@/);
        expect(await transactionOutcome(tx, tx.xid ?? '')).toBe('in progress');
        return { any: 'thing' };
      });
      expect(value).toEqual({ any: 'thing' });
      await run(async () => {});
      expect(await notes()).toEqual(['a']);
    });

    it('rolls back when the function throws, and throws the same error', async () => {
      const own = new Error('my own');
      const afterInsert = async (tx: Tx) => {
        await insert(tx, 'a');
        throw own;
      };
      for (const fn of [afterInsert, () => Promise.reject(own)]) expect(await fail(fn)).toBe(own);
      expect(await notes()).toEqual([]);
    });

    it('includes statements that the function does not await', async () => {
      await run(async (tx) => {
        for (const note of ['a', 'b', 'c']) void insert(tx, note);
      });
      expect(await notes()).toEqual(['a', 'b', 'c']);
    });

    it('closes tx at its end: TX_CLOSED', async () => {
      const escaped: Tx[] = [];
      await run(async (tx) => {
        escaped.push(tx);
        await tx.transaction(async (inner) => void escaped.push(inner));
        expect(await failure(insert(escaped[1] as Tx, 'x'))).toMatchObject({ code: 'TX_CLOSED' });
      });
      await fail(async (tx) => {
        escaped.push(tx);
        throw new Error('no');
      });
      await run(async (tx) => {
        escaped.push(tx);
        await tx.commitWith('SELECT 1');
      });
      for (const tx of escaped)
        for (const call of [insert(tx, 'late'), tx.script('SELECT 1'), tx.transaction(async () => {})].map(
          failure,
        ))
          expect(await call).toMatchObject({ code: 'TX_CLOSED' });
      expect(await notes()).toEqual([]);
    });

    it('rolls back a failed part alone', async () => {
      await run(async (tx) => {
        await insert(tx, 'a');
        const part = tx.transaction(async (inner) => {
          await insert(inner, 'b');
          await inner.transaction((deeper) => insert(deeper, 'c'));
          await insert(inner, 'a');
        });
        expect(await failure(part)).toMatchObject({ code: '23505' });
        await tx.transaction((inner) => insert(inner, 'd'));
      });
      expect(await notes()).toEqual(['a', 'd']);
    });

    it('refuses statements of the outer tx while a part is open: TX_REENTRANT', async () => {
      await run(async (tx) => {
        await tx.transaction(async (part) => {
          await insert(part, 'a');
          for (const call of [insert(tx, 'b'), tx.transaction(async () => {}), insertLast(part, 'b')].map(
            failure,
          ))
            expect(await call).toMatchObject({ code: 'TX_REENTRANT' });
        });
        await insert(tx, 'c');
      });
      expect(await notes()).toEqual(['a', 'c']);
    });

    it('never reports success when PostgreSQL rolled back: a swallowed error is TX_ROLLED_BACK', async () => {
      for (const then of [
        async () => {},
        (tx: Tx) => insert(tx, 'b'), // Shows the swallowed failure, not its echo.
        (tx: Tx) => insertLast(tx, 'b'),
      ]) {
        const thrown = await fail(async (tx) => {
          await insert(tx, 'a');
          await swallowAnError(tx);
          await then(tx);
        });
        expect(thrown).toMatchObject(rolledBack);
      }
      expect(await notes()).toEqual([]);
    });

    it('has the requested isolation', async () => {
      const level = async (tx: Tx) =>
        (await tx.query<{ v: string }>("SELECT current_setting('transaction_isolation') AS v")).rows[0]?.v;
      expect(await run(level)).toBe('read committed');
      for (const isolation of ['read committed', 'repeatable read', 'serializable'] as const)
        expect(await run(level, { isolation })).toBe(isolation);
    });

    it('reads and refuses to write if it is read-only', async () => {
      expect(await fail((tx) => insert(tx, 'a'), { readOnly: true })).toMatchObject({ code: '25006' });
      const read = (tx: Tx) => tx.query('SELECT note FROM ledger');
      expect(await run(read, { readOnly: true })).toEqual({ rows: [], rowCount: 0 });
    });

    it.each(['40001', '40P01'])('runs again after %s as often as retries allows', async (sqlState) => {
      let runs = 0;
      const collideTwice = async (tx: Tx) => {
        await insert(tx, sqlState);
        if (++runs < 3) await tx.script(`DO $$ BEGIN RAISE 'collided' USING ERRCODE = '${sqlState}'; END $$`);
        return runs;
      };
      expect(await fail(collideTwice)).toMatchObject({ code: sqlState });
      expect(runs).toBe(1);
      runs = 0;
      expect(await run(collideTwice, { retries: 2 })).toBe(3);
      expect(await notes()).toEqual([sqlState]);
    });

    it('ends at its timeout: TX_TIMEOUT outside, TX_CLOSED and an aborted signal inside', async () => {
      let held: Tx | undefined;
      const thrown = await fail(
        async (tx) => {
          held = tx;
          await insert(tx, 'a');
          expect(tx.signal.aborted).toBe(false);
          await new Promise(() => {});
        },
        { timeoutMs: 100 },
      );
      expect(thrown).toMatchObject({ code: 'TX_TIMEOUT', status: 504, retryable: true });
      expect(held?.signal.aborted).toBe(true);
      expect(await failure(insert(held as Tx, 'b'))).toMatchObject({ code: 'TX_CLOSED' });
      expect(await notes()).toEqual([]);
    });

    it('ends with the reason of its signal', async () => {
      const control = new AbortController();
      const reason = new Error('cancelled');
      const abort = async (tx: Tx) => {
        await insert(tx, 'a');
        control.abort(reason);
        await insert(tx, 'b');
      };
      expect(await fail(abort, { signal: control.signal })).toBe(reason);
      expect(await fail((tx) => insert(tx, 'c'), { signal: control.signal })).toBe(reason);
      expect(await notes()).toEqual([]);
    });

    it('is all or nothing for each of twenty at once', async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          fail(async (tx) => {
            await insert(tx, `${n}-first`);
            if (n % 2) throw new Error('odd');
            await insert(tx, `${n}-second`);
          }),
        ),
      );
      expect(outcomes.filter((thrown) => thrown === undefined)).toHaveLength(10);
      expect(await notes()).toHaveLength(20);
      expect((await notes()).every((note) => Number.parseInt(note, 10) % 2 === 0)).toBe(true);
    });

    it('commits with its last statement and returns its result', async () => {
      const result = await run(async (tx) => {
        await insert(tx, 'a');
        return insertLast(tx, 'b');
      });
      expect(result).toEqual({ rows: [{ note: 'b' }], rowCount: 1 });
      await run((tx) => insertLast(tx, 'c'));
      expect(await notes()).toEqual(['a', 'b', 'c']);
    });

    it('rolls everything back if its last statement fails', async () => {
      const thrown = await fail(async (tx) => {
        await insert(tx, 'a');
        return insertLast(tx, 'a');
      });
      expect(thrown).toMatchObject({ code: '23505' });
      expect(await notes()).toEqual([]);
    });

    it('throws what the function throws after its last statement, which stays committed', async () => {
      const own = new Error('too late');
      const thrown = await fail(async (tx) => {
        await insertLast(tx, 'a');
        throw own;
      });
      expect(thrown).toBe(own);
      expect(await notes()).toEqual(['a']);
    });
  });
}
