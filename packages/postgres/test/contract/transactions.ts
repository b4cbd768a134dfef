import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Database, type TransactionOptions, type Tx, transactionOutcome } from '../../src/index.js';
import { failure } from '../support.js';

const insert = (tx: Pick<Tx, 'query'>, note: string) => tx.query('INSERT INTO ledger VALUES ($1)', [note]);
const insertLast = (tx: Tx, note: string) =>
  tx.commitWith<{ note: string }>('INSERT INTO ledger VALUES ($1) RETURNING note', [note]);

const OWN = new Error('thrown by the function');
const DUPLICATE = { code: '23505' };
const ROLLED_BACK = { code: 'TX_ROLLED_BACK', cause: { code: '22012' } };

/** A letter is inserted; a list is a part whose error is swallowed, as is the error of `1/0`. */
type Steps = readonly (string | Steps)[];

async function play(tx: Tx, steps: Steps): Promise<void> {
  for (const step of steps) {
    if (typeof step !== 'string') await tx.transaction((part) => play(part, step)).catch(() => {});
    else if (step === '1/0') await tx.query('SELECT 1 / 0').catch(() => {});
    else if (step === 'throw') throw OWN;
    else if (step.startsWith('commit ')) await insertLast(tx, step.slice('commit '.length));
    else await insert(tx, step);
  }
}

/** The steps of a function, what its transaction throws, and what is stored then. */
const CASES: readonly (readonly [name: string, steps: Steps, thrown: object | undefined, stored: string])[] =
  [
    ['commits when the function returns', ['a', 'b'], undefined, 'a b'],
    ['commits nothing if nothing was done', [], undefined, ''],
    ['rolls back when the function throws', ['a', 'throw'], OWN, ''],
    ['rolls back when the function throws at once', ['throw'], OWN, ''],
    ['rolls back a failed part alone', ['a', ['b', ['c'], 'a'], 'd'], undefined, 'a d'],
    ['commits with its last statement', ['a', 'commit b'], undefined, 'a b'],
    ['rolls back if its last statement fails', ['a', 'commit a'], DUPLICATE, ''],
    ['keeps what its last statement committed', ['commit a', 'throw'], OWN, 'a'],
  ];

/** Transactions, also with fewer round trips: `beginWithFirst` and `commitWith`. */
export function transactionsContract(database: () => Database): void {
  beforeAll(() => database().query('CREATE TABLE ledger (note text PRIMARY KEY)'));
  beforeEach(() => database().query('DELETE FROM ledger'));
  const notes = async () => {
    const { rows } = await database().query<{ note: string }>('SELECT note FROM ledger ORDER BY note');
    return rows.map(({ note }) => note);
  };

  describe.each<[name: string, TransactionOptions]>([
    ['transaction', {}],
    ['transaction whose BEGIN travels with the first statement', { beginWithFirst: true }],
  ])('%s', (_, begin) => {
    const run = <T>(fn: (tx: Tx) => Promise<T>, options?: TransactionOptions) =>
      database().transaction(fn, { ...begin, ...options });
    const fail = (fn: (tx: Tx) => Promise<unknown>, options?: TransactionOptions) =>
      failure(run(fn, options));

    it.each(CASES)('%s', async (_, steps, thrown, stored) => {
      const error = await fail((tx) => play(tx, steps));
      if (thrown) expect(error).toMatchObject(thrown);
      else expect(error).toBeUndefined();
      expect((await notes()).join(' ')).toBe(stored);
    });

    it('never reports success when PostgreSQL rolled back: a swallowed error is TX_ROLLED_BACK', async () => {
      for (const then of [[], ['b'], ['commit b']])
        expect(await fail((tx) => play(tx, ['a', '1/0', ...then]))).toMatchObject(ROLLED_BACK);
      expect(await notes()).toEqual([]);
    });

    it('includes statements that the function does not await', async () => {
      await run(async (tx) => void ['a', 'b', 'c'].map((note) => insert(tx, note)));
      expect(await notes()).toEqual(['a', 'b', 'c']);
    });

    it('returns the value of the function, such as the result of the last statement', async () => {
      const last = await run(async (tx) => {
        await insert(tx, 'a');
        expect(tx.xid).toMatch(/^\d+@/);
        expect(await transactionOutcome(tx, tx.xid ?? '')).toBe('in progress');
        return insertLast(tx, 'b');
      });
      expect(last).toEqual({ rows: [{ note: 'b' }], rowCount: 1 });
    });

    it('closes tx at its end: TX_CLOSED', async () => {
      const escaped: Tx[] = [];
      const steps: Steps[] = [[], ['throw'], ['commit a']];
      for (const step of steps)
        await fail(async (tx) => {
          await tx.transaction(async (part) => void escaped.push(part));
          expect(await failure(insert(escaped.at(-1) as Tx, 'x'))).toMatchObject({ code: 'TX_CLOSED' });
          escaped.push(tx);
          await play(tx, step);
        });
      for (const tx of escaped) {
        const calls = [insert(tx, 'late'), tx.script('SELECT 1'), tx.transaction(async () => {})];
        for (const call of calls.map(failure)) expect(await call).toMatchObject({ code: 'TX_CLOSED' });
      }
      expect([escaped.length, await notes()]).toEqual([6, ['a']]);
    });

    it('refuses statements of the outer tx while a part is open: TX_REENTRANT', async () => {
      await run(async (tx) => {
        await tx.transaction(async (part) => {
          await insert(part, 'a');
          const calls = [insert(tx, 'b'), tx.transaction(async () => {}), insertLast(part, 'b')];
          for (const call of calls.map(failure)) expect(await call).toMatchObject({ code: 'TX_REENTRANT' });
        });
        await insert(tx, 'c');
      });
      expect(await notes()).toEqual(['a', 'c']);
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
      const numbers = Array.from({ length: 20 }, (_, n) => n);
      const stepsOf = (n: number) => [`${n}-a`, n % 2 ? 'throw' : `${n}-b`];
      await Promise.all(numbers.map((n) => fail((tx) => play(tx, stepsOf(n)))));
      expect(await notes()).toEqual(
        numbers
          .filter((n) => n % 2 === 0)
          .flatMap(stepsOf)
          .sort(),
      );
    });
  });
}
