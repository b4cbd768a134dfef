import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inSchema } from '../open-store.js';
import { compareStores } from './compare.js';
import { type DatabaseSide, memorySide, openDatabaseSide } from './sides.js';

/** Mistakes in the functions of the database: which, in which function, what stands there and what would be wrong. */
const MUTANTS: readonly (readonly [mistake: string, name: string, right: string, wrong: string])[] = [
  ['an old owner may settle', 'settle', 'AND o.token = g.token', ''],
  ['nobody has to own what is settled', 'settle', 'AND o.owner IS NOT NULL', 'AND o.ended_at IS NULL'],
  [
    'a refusal counts as a try',
    'settle',
    "o.attempts - (g.what = 'released' OR g.refused)::integer",
    'o.attempts',
  ],
  [
    'a settlement overrides an outcome written ahead',
    'settle',
    'WHEN o.ahead OR g.what IN',
    'WHEN g.what IN',
  ],
  [
    'a cancelled operation gets another try',
    'settle',
    'due_at = CASE WHEN NOT o.ahead THEN',
    'due_at = CASE WHEN true THEN',
  ],
  ['a claim does not change the token', 'claim', 'token = o.token + 1', 'token = o.token'],
  ['what is not due is claimed', 'claim', 'WHERE o.due_at <= moment', 'WHERE o.due_at IS NOT NULL'],
  ['any route is claimed', 'claim', "AND o.event_type = split_part(r.route, '.', 2)", ''],
  [
    'another body is no conflict',
    'accept_known',
    "WHEN h.body_hash = g.body_hash THEN 'known'",
    "WHEN true THEN 'known'",
  ],
  ['the key of a running operation expires', 'accept_known', 'WHERE h.ended_at IS NOT NULL AND', 'WHERE'],
  [
    'a backing is not told of a cancellation',
    'cancel',
    "o.backing_kind IS NULL AND o.kind = 'inline'",
    'true',
  ],
  ['an operation is made final under its owner', 'finalize', 'AND o.owner IS NULL', ''],
  [
    'an inline operation is ended by a backing',
    'end_backed',
    "AND (o.backing_kind IS NOT NULL OR o.kind <> 'inline')",
    '',
  ],
  [
    'an end overrides an outcome written ahead',
    'end',
    'CASE WHEN o.ahead THEN o.outcome ELSE end_outcome END',
    'end_outcome',
  ],
  ['one try too many', 'reap', 'o.attempts >= o.attempts_max', 'o.attempts > o.attempts_max'],
  ['waits from the future are left', 'reap', 'c.due_from > moment', 'false'],
  ['leases from the future are left', 'reap', 'c.lease_from > moment', 'false'],
  ['a short watch ends a long one', 'watch', 'greatest(o.waited_until,', 'greatest(NULL,'],
];
/** Those that have told one first: a sequence that tells nothing costs as much as one that does. */
const TELLING = [7, 24, 3, 5, 10, 2, 21, 32, 39, 58];
const SEEDS = [...TELLING, ...Array.from({ length: 150 }, (_, n) => n + 1)];

describe('mistakes in the functions of the database', () => {
  let side: DatabaseSide;
  beforeAll(async () => {
    side = await openDatabaseSide();
  }, 60_000);
  afterAll(() => side.close());

  const definitionOf = async (name: string): Promise<string> => {
    const { rows } = await side.database.query<{ text: string }>(
      inSchema(
        `SELECT pg_get_functiondef(oid) AS text FROM pg_proc
         WHERE proname = 'operation_' || $1 AND pronamespace = '{schema}'::regnamespace`,
      ),
      [name],
    );
    return rows[0]?.text ?? '';
  };

  it.each(MUTANTS)('orchestrator NFR-2: the comparison notices: %s', async (_, name, right, wrong) => {
    const definition = await definitionOf(name);
    expect(definition).toContain(right);
    await side.database.query(definition.replaceAll(right, () => wrong));
    try {
      for (const seed of SEEDS) {
        await side.empty();
        // What breaks a constraint of the table is noticed too.
        const difference = await compareStores(`${seed}`, [memorySide(), side], () => {}).catch(String);
        if (difference !== undefined) return;
      }
      throw new Error(`nobody noticed it in ${SEEDS.length} sequences`);
    } finally {
      await side.database.query(definition);
    }
  });
});
