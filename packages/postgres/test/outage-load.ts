import { until } from '@millrace/testkit';
import { expect } from 'vitest';
import { ERRORS, type PgDatabase, transactionOutcome } from '../src/index.js';
import { failure } from './open-databases.js';

/** What the callers of a load were told, by the number of their transaction. */
export interface Told {
  readonly committed: number[];
  readonly refused: number[];
  readonly unknown: { readonly n: number; readonly xid: string }[];
}

/**
 * Runs transactions in several loops while something happens; each inserts its own number. Any answer is allowed but a
 * wrong one: see `requireTruth`.
 */
export async function underLoad(database: PgDatabase, happening: () => Promise<unknown>): Promise<Told> {
  await database.query('DROP TABLE IF EXISTS load');
  await database.query('CREATE TABLE load (n int PRIMARY KEY, part int)');
  const told: Told = { committed: [], refused: [], unknown: [] };
  let next = 0;
  let over = false;
  const loops = Array.from({ length: 6 }, async () => {
    while (!over) {
      const n = next++;
      const thrown = await failure(
        database.transaction(async (tx) => {
          await tx.query('INSERT INTO load VALUES ($1, 1)', [n]);
          await tx.query('UPDATE load SET part = 2 WHERE n = $1', [n]);
        }),
      );
      if (thrown === undefined) told.committed.push(n);
      else if (ERRORS.is(thrown, 'COMMIT_UNKNOWN')) told.unknown.push({ n, xid: String(thrown.details.xid) });
      else if (ERRORS.is(thrown, 'BACKEND_UNAVAILABLE') || ERRORS.is(thrown, 'TX_TIMEOUT'))
        told.refused.push(n);
      else throw thrown;
    }
  });
  try {
    await until(() => told.committed.length > 20, { what: 'the load to begin' });
    await happening();
    const before = told.committed.length;
    await until(() => told.committed.length > before + 20, { what: 'the load to go on', deadlineMs: 15_000 });
  } finally {
    over = true;
    await Promise.all(loops);
  }
  return told;
}

/** What was said to be committed is there, whole; what was refused is not; what nobody knew can be asked. */
export async function requireTruth(database: PgDatabase, told: Told): Promise<void> {
  const { rows } = await database.query<{ n: number; part: number }>('SELECT n, part FROM load');
  const there = new Set(rows.map(({ n }) => n));
  expect(rows.every(({ part }) => part === 2)).toBe(true);
  expect(told.committed.filter((n) => !there.has(n))).toEqual([]);
  expect(told.refused.filter((n) => there.has(n))).toEqual([]);
  for (const { n, xid } of told.unknown) {
    const truth = there.has(n) ? 'committed' : 'aborted';
    expect([truth, 'unknown']).toContain(await transactionOutcome(database, xid));
  }
}
