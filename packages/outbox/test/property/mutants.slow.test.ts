import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type OutboxDatabase, openOutboxDatabase, postgresPlace } from '../open-outbox.js';
import { randomDag } from './random-dag.js';
import { runDag } from './run-dag.js';

/** Ways to break an outbox, by what stands in its functions; each must be found, or the random DAGs prove nothing. */
const MUTANTS = [
  [
    'a task starts one parent too early',
    'outbox_end_tasks',
    'e.pre_cnt - t.ok_cnt)',
    'e.pre_cnt - t.ok_cnt - 1)',
  ],
  [
    'an all-done join wants successes',
    'outbox_end_tasks',
    'WHEN d.any_end THEN 1',
    'WHEN d.any_end THEN n.pass',
  ],
  [
    'a failure under `continue` is no input',
    'outbox_claim_ready',
    "OR (p.status = 'FAILED' AND p.on_failure = 'continue')",
    '',
  ],
  [
    'what is added is not waited for',
    'outbox_add_tasks',
    "('all', 'all-done') THEN j.cnt",
    "('all', 'all-done') THEN 0",
  ],
  ['attempts are counted twice', 'outbox_claim_ready', 'e.attempts + 1', 'e.attempts + 2'],
] as const;

const DAGS = fc.sample(randomDag({ tasksMax: 50 }), { seed: 11, numRuns: 6 });

let opened: OutboxDatabase;
beforeAll(async () => {
  opened = await openOutboxDatabase(postgresPlace, { poolSize: 10 });
  await opened.database.query('CREATE TABLE effect (dag text, task text)');
});
afterAll(() => opened[Symbol.asyncDispose]());

async function findings(): Promise<string[]> {
  for (const tasks of DAGS) {
    const found = await runDag({ databases: [opened.database], schema: opened.schema }, tasks);
    if (found.length > 0) return found;
  }
  return [];
}

it('outbox OB-1: random DAGs find nothing wrong with an outbox as it is', async () => {
  expect(await findings()).toEqual([]);
});

it.each(MUTANTS)('outbox OB-1: random DAGs find a mutant: %s', async (_, name, right, wrong) => {
  const { database } = opened;
  const { rows } = await database.query<{ text: string }>(
    'SELECT pg_get_functiondef(oid) AS text FROM pg_proc WHERE proname = $1',
    [name],
  );
  const text = rows[0]?.text ?? '';
  expect(text, `${name} no longer has this text: break it in another way`).toContain(right);
  await database.query(text.replace(right, wrong));
  try {
    expect(await findings()).not.toEqual([]);
  } finally {
    await database.query(text);
  }
});
