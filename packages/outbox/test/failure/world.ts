import { type Database, PgDatabase, type PgDatabaseOptions } from '@millrace/postgres';
import { postgresSandbox, startTcpProxy, type TcpProxy, until } from '@millrace/testkit';
import { expect } from 'vitest';
import type { TransactionalContext } from '../../src/define-dag.js';
import { migrateOutbox } from '../../src/migrate.js';
import { Outbox, type OutboxSetup } from '../../src/outbox.js';
import { Statements } from '../../src/postgres/statements.js';
import { findViolations, type InvariantOptions } from '../check-invariants.js';

/** A row that a transactional handler has written. */
interface Effect {
  readonly batch: string;
  readonly task: string;
  /** Who wrote it, when a test tells several apart. */
  readonly by: string;
}

/** What one failure test works with. */
export interface World {
  /** Straight to the server: what a test looks at must not fail with what it breaks. */
  readonly database: PgDatabase;
  readonly schema: string;
  /** A network that fails on command. */
  startProxy(): Promise<TcpProxy>;
  /** Another Database on the same data, as another process would have. */
  open(options?: Partial<PgDatabaseOptions> & { readonly through?: TcpProxy | undefined }): PgDatabase;
  /** A started outbox; on a Database of its own unless it is given one. */
  startOutbox(
    setup: Omit<OutboxSetup, 'database' | 'schema'> & { readonly database?: Database },
  ): Promise<Outbox>;
  /** Waits until every batch has ended and is counted. */
  settle(deadlineMs?: number): Promise<void>;
  /** What handlers have written, in the order of the writing. */
  effects(): Promise<readonly Effect[]>;
  /** One column of one task. */
  task(batchId: string, key: string): Promise<StoredTask>;
}

/** A task as its row has it. */
interface StoredTask {
  readonly status: string;
  readonly attempts: number;
  readonly lost_cnt: number;
  readonly result: unknown;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly claim_id: string | null;
}

/** Where the server is, and what the test leaves behind. */
export interface WorldOptions extends InvariantOptions {
  /** A server of the test's own; the one of the run unless given. */
  readonly url?: string | undefined;
}

/** How long to wait for what must happen, on a machine that is busy with other things. */
export const PATIENCE_MS = 15_000;

/** Waits for what must happen. */
export const eventually = <T>(what: string, condition: () => T | PromiseLike<T>) =>
  until(condition, { what, deadlineMs: PATIENCE_MS });

const SCHEMA = 'Outbox of failures';

/** A world that somebody has to end: that stops all it opened and checks the invariants of all its batches. */
export interface OpenWorld extends World {
  end(): Promise<void>;
}

/** Makes a database for one test, or for several that share it. */
export async function openWorld({ url, ...invariants }: WorldOptions = {}): Promise<OpenWorld> {
  const sandbox = url === undefined ? await postgresSandbox() : undefined;
  const address = url ?? sandbox?.url ?? '';
  const database = new PgDatabase({ url: address });
  await database.query(`DROP SCHEMA IF EXISTS "${SCHEMA}" CASCADE`);
  await database.query('DROP TABLE IF EXISTS effect');
  await migrateOutbox(database, { schema: SCHEMA });
  await database.query(
    'CREATE TABLE effect (id bigint GENERATED ALWAYS AS IDENTITY, batch text, task text, by text)',
  );
  const opened: AsyncDisposable[] = [];
  return {
    ...makeWorld(database, address, opened),
    end: async () => {
      try {
        for (const one of opened.reverse()) await one[Symbol.asyncDispose]();
        expect(await findViolations(database, SCHEMA, invariants)).toEqual([]);
      } finally {
        await database.stop();
        await sandbox?.drop();
      }
    },
  };
}

/**
 * Runs a test in a database of its own. At its end everything it opened is stopped, and the invariants of all its batches are
 * checked.
 */
export async function withWorld(
  body: (world: World) => Promise<void>,
  options: WorldOptions = {},
): Promise<void> {
  const world = await openWorld(options);
  let failure: { readonly error: unknown } | undefined;
  await body(world).catch((error: unknown) => {
    failure = { error };
  });
  const end = world.end();
  if (!failure) return end;
  await end.catch(() => {}); // What the test itself found comes first.
  throw failure.error;
}

function makeWorld(database: PgDatabase, url: string, opened: AsyncDisposable[]): World {
  const keep = <T extends AsyncDisposable>(one: T): T => {
    opened.push(one);
    return one;
  };
  const open: World['open'] = ({ through, ...options } = {}) => {
    const address = new URL(url);
    if (through) address.host = `127.0.0.1:${through.port}`;
    return keep(new PgDatabase({ url: address.href, reconnectMaxMs: 50, poolSize: 8, ...options }));
  };
  const rows = async <R extends object>(sql: string, params: readonly string[] = []) =>
    (await database.query<R>(sql.replaceAll('{schema}', `"${SCHEMA}"`), params, { repeatable: true })).rows;
  return {
    database,
    schema: SCHEMA,
    open,
    startProxy: async () => {
      const { hostname, port } = new URL(url);
      return keep(await startTcpProxy({ targetHost: hostname, targetPort: Number(port) }));
    },
    startOutbox: async ({ database: own, ...setup }) => {
      const outbox = keep(
        new Outbox({
          database: own ?? open(),
          schema: SCHEMA,
          concurrency: 4,
          pollIntervalMs: 50,
          gracePeriodMs: 2_000,
          ...setup,
        }),
      );
      await outbox.start();
      return outbox;
    },
    settle: async (deadlineMs = PATIENCE_MS) => {
      const left = () =>
        rows<{ id: string }>(
          `SELECT id::text FROM {schema}.batch_instance WHERE status = 'RUNNING'
           UNION ALL SELECT batch_id::text || ' ' || coalesce(task_key, '') FROM {schema}.outbox_tick`,
        );
      await until(async () => (await left()).length === 0, { what: 'every batch to end', deadlineMs });
    },
    effects: () => rows<Effect>('SELECT batch, task, by FROM effect ORDER BY id'),
    task: async (batchId, key) => {
      const [row] = await rows<StoredTask>(
        `SELECT status, attempts, lost_cnt, result, error, claim_id FROM {schema}.outbox_evt
         WHERE batch_id = $1::bigint AND task_key = $2`,
        [batchId, key],
      );
      if (!row) throw new Error(`batch ${batchId} has no task ${key}`);
      return row;
    },
  };
}

/** What a transactional handler does here: leaves a row. */
export async function writeEffect(
  { tx, batch, taskKey }: Pick<TransactionalContext, 'tx' | 'batch' | 'taskKey'>,
  by = '',
): Promise<void> {
  await tx.query('INSERT INTO effect (batch, task, by) VALUES ($1, $2, $3)', [batch.id, taskKey, by]);
}

/**
 * A Database whose single statements and listening go one way and whose transactions another, so that a test can cut off one of
 * them: heartbeats from the handlers they are for.
 */
export function splitDatabase({
  transactions,
  statements,
}: {
  readonly transactions: Database;
  readonly statements: Database;
}): Database {
  return {
    kind: 'postgres',
    poolSize: transactions.poolSize,
    start: async () => {},
    stop: async () => {},
    query: (sql, params, options) => statements.query(sql, params, options),
    listen: (channel, handler) => statements.listen(channel, handler),
    transaction: (fn, options) => transactions.transaction(fn, options),
    [Symbol.asyncDispose]: async () => {},
  };
}

/**
 * Ends what listens of a Database, and keeps it from coming back: hints no longer reach it, while its other connections work on.
 * @param world - the test's.
 * @param proxy - the one the Database goes through; its pool is warm.
 */
export async function cutListening(world: World, proxy: TcpProxy, applicationName: string): Promise<void> {
  const listening = () =>
    world.database.query<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()',
      [`${applicationName}:listen`],
    );
  await eventually('the listening to begin', async () => (await listening()).rowCount > 0);
  proxy.refuse(true);
  for (const { pid } of (await listening()).rows)
    await world.database.query('SELECT pg_terminate_backend($1)', [pid]);
  await eventually('the listening to end', async () => (await listening()).rowCount === 0);
}

/**
 * Finds chunks that carry a statement of an outbox: its text when it is parsed, its name when it is known already.
 * @param verb - the file in `sql/verbs`, or COMMIT or BEGIN.
 */
export function carries(verb: string, schema: string): (chunk: Buffer) => boolean {
  if (verb === 'COMMIT') return (chunk) => chunk.includes('COMMIT\0'); // BEGIN says READ COMMITTED.
  if (verb === 'BEGIN') return (chunk) => chunk.includes(verb);
  const { sql, name } = new Statements(schema).get(verb);
  return (chunk) => chunk.includes(sql) || chunk.includes(name);
}
