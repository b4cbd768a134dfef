import { seededRng, sleep, systemClock } from '@millrace/foundation';
import { PgDatabase } from '@millrace/postgres';
import { postgresSandbox, startTcpProxy } from '@millrace/testkit';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { migrateOutbox } from '../../src/migrate.js';
import { openOutboxDatabase, type PlaceKind, pglitePlace, postgresPlace } from '../open-outbox.js';
import { type DagLimits, randomDag, randomStory } from './random-dag.js';
import { type Ground, runDag } from './run-dag.js';

/** How many times as many cases as `npm test` runs. */
const FACTOR = Number(process.env.MILLRACE_DAG_FACTOR ?? 1);

/** The seed that a failure has printed: runs the same cases, and looks for a smaller one that fails. */
const SEED = process.env.MILLRACE_DAG_SEED;

const POLLERS = 4;

/** How often all connections are cut while a DAG runs. */
const CUTS = 6;

interface Limits extends DagLimits {
  readonly numRuns: number;
  /** Batches are aborted and run again, too. */
  readonly stories?: boolean | undefined;
}

async function check(place: PlaceKind, limits: Limits): Promise<void> {
  await using opened = await openOutboxDatabase(place, { poolSize: 10 });
  const { database, schema } = opened;
  await database.query('CREATE TABLE effect (dag text, task text)');
  const more =
    place.kind === 'postgres' ? Array.from({ length: POLLERS - 1 }, () => opened.openAnother()) : [];
  await assertOn({ databases: [database, ...more], schema }, limits);
}

/** The same with a network between each poller and PostgreSQL that breaks again and again. */
async function checkDisturbed(limits: Limits): Promise<void> {
  await using sandbox = await postgresSandbox();
  const address = new URL(sandbox.url);
  await using proxy = await startTcpProxy({ targetHost: address.hostname, targetPort: Number(address.port) });
  address.host = `127.0.0.1:${proxy.port}`;
  const open = () => new PgDatabase({ url: address.href, poolSize: 10, reconnectMaxMs: 50 });
  await using database = open();
  await using other = open();
  await migrateOutbox(database, { schema: 'disturbed' });
  await database.query('CREATE TABLE effect (dag text, task text)');
  const rng = seededRng('cuts');
  const disturb = async (signal: AbortSignal) => {
    // Not for ever: the pause after a loss grows each time.
    for (let cuts = 0; cuts < CUTS && (await sleep(systemClock, rng.integer(10, 150), signal)); cuts++)
      proxy.cut();
  };
  await assertOn({ databases: [database, other], schema: 'disturbed', disturb }, limits);
}

async function assertOn(ground: Ground, { numRuns, stories = false, ...limits }: Limits): Promise<void> {
  const story = stories ? randomStory(limits.tasksMax * 2) : fc.constant(undefined);
  await fc.assert(
    fc.asyncProperty(
      randomDag({ ...limits, ...(stories && { failures: 10 }) }),
      story,
      async (tasks, told) => {
        expect(await runDag(ground, tasks, told)).toEqual([]);
      },
    ),
    {
      numRuns: numRuns * FACTOR,
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
  () => check(postgresPlace, { tasksMax: 120, plain: true, numRuns: 2 }),
);

it(
  'outbox OB-1, OB-6, OB-7, OB-8, OB-10: random DAGs of every join, policy and condition, with added tasks: the same (PostgreSQL, 4 pollers)',
  {
    timeout,
  },
  () => check(postgresPlace, { tasksMax: 120, numRuns: 3 }),
);

it(
  'outbox OB-1, OB-6, OB-7, OB-8, OB-10: random DAGs of every join, policy and condition, with added tasks: the same while connections are cut at random (PostgreSQL, 2 pollers)',
  {
    timeout,
  },
  () => checkDisturbed({ tasksMax: 60, numRuns: 1 }),
);

it(
  'outbox OB-1, OB-6, OB-7, OB-8, OB-10: random batches with added tasks, aborted and retried: what is done stays done, the rest ends as if it had never ended (PostgreSQL, 4 pollers)',
  {
    timeout,
  },
  () => check(postgresPlace, { tasksMax: 30, numRuns: 6, stories: true }),
);

it(
  'outbox OB-1, OB-6, OB-7, OB-8, OB-10: random batches with added tasks, aborted and retried: the same (PGlite)',
  {
    timeout,
  },
  () => check(pglitePlace, { tasksMax: 12, numRuns: 16, stories: true }),
);
