import { PgDatabase } from '@millrace/postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PostgresOperationStore } from '../../src/postgres/index.js';
import { BACKED, CANCELLED, Home, OK, RETRY } from '../contract/home.js';
import { inSchema, openDatabase, SCHEMA, type StoreDatabase } from '../open-store.js';

/** Operations that have nothing to do with what is asked for. */
const OTHERS = 4_000;
/** Rows that one verb on one operation may touch, with its own versions and dead entries of the tests before. */
const ROWS_MAX = 100;

let home: StoreDatabase;
let database: PgDatabase;
let operations: Home;

/** What every verb does to one operation, or to the few that it may take. */
const VERBS: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['accept', () => operations.accept()],
  ['accept of a known key', () => operations.accept({ idemKey: 'the same' })],
  ['begin', () => operations.running()],
  ['settle', () => operations.settled(OK)],
  [
    'retry and claim',
    async () => {
      await operations.settled({ ...RETRY, delayMs: 0 });
      await operations.claim(1);
    },
  ],
  [
    'claim by routes',
    async () => {
      await operations.settled({ ...RETRY, delayMs: 0 });
      await operations.claim(1, ['ORDER.PLACE']);
    },
  ],
  ['extend', async () => operations.store.runs.extend([await operations.running()], 1_000)],
  ['get', async () => operations.get((await operations.pending()).opId)],
  ['watch', async () => operations.store.views.watch([(await operations.pending()).opId], 1_000)],
  ['list', () => operations.store.views.list({ bizKey: 'order-1' }, 5, undefined)],
  ['backed', () => operations.store.repairs.backed('bulk', undefined, 5)],
  [
    'end of a backing',
    async () =>
      operations.store.repairs.endBacked((await operations.settled(BACKED, { kind: 'bulk' })).opId, OK),
  ],
  ['cancel', async () => operations.store.repairs.cancel((await operations.pending()).opId, CANCELLED)],
  [
    'cancel and finalize',
    async () => {
      const { opId } = await operations.settled(BACKED, { kind: 'bulk' });
      await operations.store.repairs.cancel(opId, CANCELLED);
      await operations.store.repairs.ahead(5);
      await operations.store.repairs.ahead(5, opId);
      await operations.store.repairs.finalize(opId);
    },
  ],
  ['prune', () => operations.store.repairs.prune(3_600_000, 5)],
];

/** Rows of operations that this connection has read so far. */
async function rowsRead(): Promise<number> {
  await database.query('SELECT pg_stat_force_next_flush()');
  const { rows } = await database.query<{ read: number }>(
    "SELECT (seq_tup_read + idx_tup_fetch)::integer AS read FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'operation'",
    [SCHEMA],
  );
  return rows[0]?.read ?? 0;
}

/** Operations of somebody else that run. */
async function addRunning(name: string, count: number): Promise<void> {
  await database.query(
    inSchema(`INSERT INTO {schema}.operation (op_id, tenant, domain, event_type, biz_key, idem_key, body_hash, payload, kind, attempts_max, on_lost,
      idempotent, state, owner, lease_from, lease_until, accepted_at, started_at, updated_at)
    SELECT gen_random_uuid(), '', 'ORDER', 'PLACE', 'order-1', '${name} ' || n, 'h', '{}', 'inline', 3, 'retry', false, 'IN_PROGRESS', 'somebody',
      now(), now() + interval '1 hour', now(), now(), now() FROM generate_series(1, ${count}) AS n`),
  );
}

/** Makes all plans on one connection while there are so many operations, then adds those that have nothing to do with them. */
async function plannedWith(operationsBefore: number): Promise<void> {
  home = await openDatabase('postgres');
  // One connection: a plan belongs to the connection that made it.
  database = new PgDatabase({ url: home.url as string, poolSize: 1 });
  const store = new PostgresOperationStore({ database, schema: SCHEMA });
  await store.start();
  operations = new Home({
    store,
    clear: async () => {},
    moveTime: async () => {},
    transaction: (fn) => database.transaction(fn),
    close: async () => {},
  });
  await addRunning('before', operationsBefore);
  for (const [, call] of VERBS) await call();
  await operations.store.views.openCounts();
  await database.query(
    inSchema(`INSERT INTO {schema}.operation (op_id, tenant, domain, event_type, biz_key, idem_key, body_hash, payload, kind, attempts_max, on_lost,
      idempotent, state, outcome, accepted_at, started_at, updated_at, ended_at)
    SELECT gen_random_uuid(), '', 'ORDER', 'PLACE', 'order-1', 'other ' || n, 'h', '{}', 'inline', 3, 'retry', false, 'COMPLETED', '{"type":"Ok"}',
      now(), now(), now(), now() FROM generate_series(1, ${OTHERS}) AS n`),
  );
  await addRunning('running', OTHERS);
}

async function end(): Promise<void> {
  await database.stop();
  await home.close();
}

// With some, indexes look as good as the right one that do not on an empty table: there are no statistics yet.
describe.each([0, 200])('plans that were made while there were %i operations', (operationsBefore) => {
  beforeAll(() => plannedWith(operationsBefore));
  afterAll(end);

  it.each(VERBS)('orchestrator NFR-1: %s reads no more rows than it needs', async (_, call) => {
    const before = await rowsRead();
    await call();
    expect((await rowsRead()) - before).toBeLessThan(ROWS_MAX);
  });

  it('orchestrator NFR-1: reap looks at what has an owner, and at nothing that has ended', async () => {
    const before = await rowsRead();
    await operations.store.repairs.reap(5);
    expect((await rowsRead()) - before).toBeLessThan(OTHERS + operationsBefore + 2 * ROWS_MAX);
  });

  it('orchestrator NFR-1: to count what has not ended, nothing that has is looked at', async () => {
    await database.query(
      inSchema(`UPDATE {schema}.operation SET state = 'COMPLETED', outcome = '{"type":"Ok"}', owner = NULL, lease_from = NULL,
        lease_until = NULL, ended_at = now() WHERE idem_key ~ '^(running|before) '`),
    );
    await database.query(inSchema('VACUUM ANALYZE {schema}.operation'));
    const before = await rowsRead();
    const { byState } = await operations.store.views.openCounts();
    expect(byState.PENDING + byState.IN_PROGRESS).toBeGreaterThan(0);
    expect((await rowsRead()) - before).toBeLessThan(ROWS_MAX);
  });
});
