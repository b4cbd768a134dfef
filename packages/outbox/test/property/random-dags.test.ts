import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openOutboxDatabase, type PlaceKind, pglitePlace, postgresPlace } from '../open-outbox.js';
import { type DagLimits, randomDag } from './random-dag.js';
import { type Ground, runDag } from './run-dag.js';

/** How many times as many cases as `npm test` runs. */
const FACTOR = Number(process.env.MILLRACE_DAG_FACTOR ?? 1);

/** The seed that a failure has printed: runs the same cases, and looks for a smaller one that fails. */
const SEED = process.env.MILLRACE_DAG_SEED;

const POLLERS = 4;

async function check(place: PlaceKind, limits: DagLimits & { readonly numRuns: number }): Promise<void> {
  await using opened = await openOutboxDatabase(place, { poolSize: 10 });
  const { database, schema } = opened;
  await database.query('CREATE TABLE effect (dag text, task text)');
  const more =
    place.kind === 'postgres' ? Array.from({ length: POLLERS - 1 }, () => opened.openAnother()) : [];
  const ground: Ground = { databases: [database, ...more], schema };
  await fc.assert(
    fc.asyncProperty(randomDag(limits), async (tasks) => {
      expect(await runDag(ground, tasks)).toEqual([]);
    }),
    {
      numRuns: limits.numRuns * FACTOR,
      ...(SEED === undefined ? { endOnFailure: true } : { seed: Number(SEED) }),
    },
  );
}

const timeout = 60_000 * Math.max(1, FACTOR);

it(
  'outbox OB-1, OB-6: random DAGs of all-joins: each task after what it depends on, each effect once, the batch ends as its tasks imply (PostgreSQL, 4 pollers)',
  {
    timeout,
  },
  () => check(postgresPlace, { tasksMax: 200, plain: true, numRuns: 4 }),
);

it(
  'outbox OB-1, OB-6, OB-7, OB-8, OB-10: random DAGs of every join, policy and condition: the same (PostgreSQL, 4 pollers)',
  {
    timeout,
  },
  () => check(postgresPlace, { tasksMax: 200, numRuns: 7 }),
);

it(
  'outbox OB-1, OB-6, OB-7, OB-8, OB-10: random DAGs of every join, policy and condition: the same (PGlite)',
  {
    timeout,
  },
  () => check(pglitePlace, { tasksMax: 25, numRuns: 3 }),
);
