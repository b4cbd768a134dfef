import {
  latch,
  type PostgresServer,
  recordingLogger,
  startPostgres,
  startTcpProxy,
  type TcpProxy,
  until,
} from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PgDatabase, type PgDatabaseOptions, type Queryable, type Tx } from '../../src/index.js';
import { failure, untilHeard } from '../support.js';

leakCheck();

let server: PostgresServer;
let direct: PgDatabase;
beforeAll(async () => {
  server = await startPostgres();
  direct = new PgDatabase({ url: server.url });
  await direct.query('CREATE TABLE effect (name text)');
});
beforeEach(() => direct.query('DELETE FROM effect'));
afterAll(async () => {
  await direct.stop();
  await server.stop();
});

/** Runs with a database behind a proxy. */
async function behindProxy(
  use: (database: PgDatabase, proxy: TcpProxy) => Promise<unknown>,
  options: Partial<PgDatabaseOptions> = {},
): Promise<void> {
  await using proxy = await startTcpProxy({ targetHost: server.host, targetPort: server.port });
  const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
  const limits = { callTimeoutMs: 500, connectTimeoutMs: 300, reconnectMaxMs: 50 };
  await using database = new PgDatabase({ url, ...limits, ...options });
  await use(database, proxy);
}

/**
 * Calls the database and cuts the connection when the proxy has passed a request with this text on: its reply is lost. Checks what the call returns or
 * throws, and how many effects are stored.
 */
const expectAfterCut = (
  text: string,
  call: (database: PgDatabase, proxy: TcpProxy) => Promise<unknown>,
  outcome: { readonly value: unknown } | { readonly error: object },
  stored: number,
): Promise<void> =>
  behindProxy(async (database, proxy) => {
    await database.start();
    const cut = proxy.cutAfterRequest((chunk) => chunk.includes(text));
    const [settled] = await Promise.allSettled([call(database, proxy)]);
    await cut;
    if ('value' in outcome) expect(settled).toEqual({ status: 'fulfilled', ...outcome });
    else expect(settled).toMatchObject({ status: 'rejected', reason: outcome.error });
    expect(await effects()).toBe(stored);
  });

/** The whole statement: BEGIN says READ COMMITTED. */
const COMMIT = 'COMMIT\0';
const insert = (on: Queryable) => on.query("INSERT INTO effect VALUES ('once')");
const effects = async () => (await direct.query('SELECT name FROM effect')).rowCount;
const unavailable = { code: 'BACKEND_UNAVAILABLE', retryable: true };

const IDLE_IN_TRANSACTION =
  "SELECT FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND query LIKE 'INSERT%'";
const untilIdleInTransaction = (count: number) =>
  until(async () => (await direct.query(IDLE_IN_TRANSACTION)).rowCount === count, {
    what: `${count} open transactions`,
  });

/** Begins a transaction and pauses the network before its COMMIT. */
async function commitIntoPause(database: PgDatabase, proxy: TcpProxy) {
  const paused = latch('the proxy passes nothing');
  const thrown = failure(
    database.transaction(async (tx) => {
      await insert(tx);
      proxy.pause();
      paused.open();
    }),
  );
  // The server knows of the INSERT before the client does: a cut before the pause would leave the lookup paused.
  await paused.promise;
  await untilIdleInTransaction(1);
  return { thrown };
}

describe('a reply that is lost', () => {
  it('of COMMIT: it has committed, this is found out, and the transaction succeeds', () => {
    const fn = (tx: Tx) => insert(tx).then(() => 'done');
    return expectAfterCut(COMMIT, (database) => database.transaction(fn), { value: 'done' }, 1);
  });

  it.each([
    ["INSERT INTO effect VALUES ('last')", 'it has committed, without a result', { value: undefined }, 2],
    ['SELECT 1 / 0', 'nothing was done', { error: unavailable }, 0],
  ])('of the last statement %s and its COMMIT: %s', (sql, _, outcome, stored) => {
    const fn = (tx: Tx) => insert(tx).then(() => tx.commitWith(sql));
    const call = (database: PgDatabase) => database.transaction(fn, { beginWithFirst: true });
    return expectAfterCut(COMMIT, call, outcome, stored);
  });

  it('of COMMIT, while no connection can be opened: COMMIT_UNKNOWN, never success and never failure', () => {
    const call = (database: PgDatabase, proxy: TcpProxy) =>
      database.transaction((tx) => insert(tx).then(() => proxy.refuse(true)));
    const error = { code: 'COMMIT_UNKNOWN', details: { xid: expect.stringMatching(/^\d+@/) } };
    return expectAfterCut(COMMIT, call, { error }, 1);
  });

  it('of the COMMIT of a read-only transaction: it succeeds', () => {
    const fn = (tx: Tx) => tx.query('SELECT 1').then(() => 'read');
    const call = (database: PgDatabase) => database.transaction(fn, { readOnly: true });
    return expectAfterCut(COMMIT, call, { value: 'read' }, 0);
  });

  it('because COMMIT never arrived: this is found out too, and nothing was done', () =>
    behindProxy(
      async (database, proxy) => {
        const outcome = await commitIntoPause(database, proxy);
        proxy.cut();
        proxy.resume();
        expect(await outcome.thrown).toMatchObject(unavailable);
        expect(await effects()).toBe(0);
      },
      { callTimeoutMs: 5_000 },
    ));

  it.each([150, 190, 230, 270, 310])('because nothing passes for %i ms: the answer is true', (pauseMs) =>
    behindProxy(
      async (database, proxy) => {
        const outcome = await commitIntoPause(database, proxy);
        const resumeAt = performance.now() + pauseMs;
        await until(() => performance.now() > resumeAt, { what: 'the pause to end' });
        proxy.resume();
        const thrown = (await outcome.thrown) as { code?: string } | undefined;
        await untilIdleInTransaction(0);
        const isKnown = thrown?.code !== 'COMMIT_UNKNOWN';
        if (isKnown) expect(await effects()).toBe(thrown === undefined ? 1 : 0);
      },
      { callTimeoutMs: 200 },
    ),
  );

  it('of a statement outside a transaction: BACKEND_UNAVAILABLE, and it was done once', () =>
    expectAfterCut('INSERT', insert, { error: unavailable }, 1));

  it('of a repeatable statement: it is sent again', () => {
    const sql = "INSERT INTO effect VALUES ('twice')";
    const call = (database: PgDatabase) => database.query(sql, [], { repeatable: true });
    return expectAfterCut('INSERT', call, { value: { rows: [], rowCount: 1 } }, 2);
  });

  it.each(['BEGIN', 'INSERT', 'SAVEPOINT', 'ROLLBACK\0'])(
    'of %j in a transaction: nothing is done',
    (text) => {
      const own = new Error('roll it back');
      const fn = async (tx: Tx) => {
        await insert(tx);
        await tx.transaction((part) => insert(part));
        throw own;
      };
      const error = text === 'ROLLBACK\0' ? own : unavailable;
      return expectAfterCut(text, (database) => database.transaction(fn), { error }, 0);
    },
  );
});

describe('a network that passes nothing', () => {
  it('once a call has met it, no older idle connection is used', () =>
    behindProxy(
      async (database, proxy) => {
        const pids = async () => {
          const sleeping = () =>
            database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid, pg_sleep(0.05)');
          const all = await Promise.all(Array.from({ length: 5 }, sleeping));
          return new Set(all.map(({ rows }) => rows[0]?.pid));
        };
        const before = await pids();
        expect(before.size).toBe(5);
        proxy.pause();
        const call = database.query('SELECT 1', [], { timeoutMs: 100 });
        expect(await failure(call)).toMatchObject(unavailable);
        proxy.resume();
        for (const pid of await pids()) expect(before).not.toContain(pid);
      },
      { poolSize: 5 },
    ));

  it('is noticed by the listening connection, which is replaced', () => {
    const { log, lines } = recordingLogger();
    const options = { logger: log, listenCheckMs: 50, callTimeoutMs: 200 };
    return behindProxy(async (database, proxy) => {
      const got: string[] = [];
      database.listen('silent', (payload) => got.push(payload));
      await untilHeard(direct, 'silent', got, 'before');
      proxy.dropReplies(true);
      const isNoticed = () => lines.some(({ message }) => /LISTEN lost/.test(message));
      await until(isNoticed, { what: 'the loss to be noticed' });
      proxy.dropReplies(false);
      await untilHeard(direct, 'silent', got, 'after');
    }, options);
  });
});
