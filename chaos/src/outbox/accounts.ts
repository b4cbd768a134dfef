import { wait } from '@millrace/async-utils';
import type { Queryable } from '@millrace/postgres';
import { some, type Verdict } from '../registry.js';
import type { Evidence } from './evidence.js';
import { taskName, tasksOf, wanted } from './plan.js';

/**
 * The names of so many accounts. Few for those who change two of them at once: they get into each other's way.
 * @param count - how many.
 */
export const accountNames = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `account-${index}`);

/** Between two changes: long enough for another one to hold what comes next. */
const HOLD_MS = 25;

/**
 * Rows that many tasks change.
 * @param count - how many.
 */
export const accountTable = (count: number): string => `
  CREATE TABLE account (name text PRIMARY KEY, changes integer NOT NULL DEFAULT 0);
  INSERT INTO account (name) SELECT unnest('{${accountNames(count).join()}}'::text[]);
`;

/** $1 name: locks the account until the transaction ends. */
export const CHANGE_ACCOUNT = 'UPDATE account SET changes = changes + 1 WHERE name = $1';

/**
 * Changes accounts one after the other. Whoever does so in another order at the same time meets this in a deadlock, and whoever has changed one
 * since the transaction began makes it fail where it is SERIALIZABLE.
 */
export async function changeAccounts(tx: Queryable, names: readonly string[]): Promise<void> {
  for (const [at, name] of names.entries()) {
    if (at > 0) await wait(HOLD_MS);
    await tx.query(CHANGE_ACCOUNT, [name]);
  }
}

/** Every account was changed once by each task that is done and changes it, however often those were run. */
export function checkAccounts(
  { plan, tasks }: Pick<Evidence, 'plan' | 'tasks'>,
  changes: ReadonlyMap<string, number>,
): Verdict {
  const due = new Map<string, number>();
  for (const batch of wanted(plan))
    for (const { key, mode } of tasksOf(plan, batch)) {
      const isDone = tasks.get(taskName(batch.bizKey, key))?.status === 'DONE';
      const accounts = isDone && mode === 'transactional' ? batch.payload.scripts[key]?.accounts : undefined;
      for (const name of accounts ?? []) due.set(name, (due.get(name) ?? 0) + 1);
    }
  const names = [...new Set([...changes.keys(), ...due.keys()])];
  const wrong = names
    .filter((name) => (changes.get(name) ?? 0) !== (due.get(name) ?? 0))
    .map((name) => `${name} was changed ${changes.get(name)} instead of ${due.get(name) ?? 0} times`);
  const total = [...due.values()].reduce((sum, count) => sum + count, 0);
  return {
    invariant: 'I2 each change counted once',
    held: wrong.length === 0 && total > 0,
    evidence: wrong.length > 0 ? some(wrong) : `${total} changes of ${changes.size} accounts`,
  };
}
