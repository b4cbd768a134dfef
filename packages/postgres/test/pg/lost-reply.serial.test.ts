import {
  latch,
  type PostgresServer,
  recordingLogger,
  startPostgres,
  startTcpProxy,
  until,
} from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PgDatabase, type PgDatabaseOptions, type Tx } from '../../src/index.js';
import { failure } from '../open-databases.js';

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

const proxyToServer = () => startTcpProxy({ targetHost: server.host, targetPort: server.port });
const open = (port: number, options: Partial<PgDatabaseOptions> = {}) =>
  new PgDatabase({
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    callTimeoutMs: 500,
    connectTimeoutMs: 300,
    reconnectMaxMs: 50,
    ...options,
  });
const effects = async () => (await direct.query('SELECT name FROM effect')).rowCount;
const insert = (tx: Pick<Tx, 'query'>) => tx.query("INSERT INTO effect VALUES ('once')");
const holds = (text: string) => (chunk: Buffer) => chunk.includes(text);
/** The whole statement: BEGIN says READ COMMITTED. */
const isCommit = holds('COMMIT\0');

describe('a reply that is lost', () => {
  it('of COMMIT: it has committed, this is found out, and the transaction succeeds', async () => {
    await using proxy = await proxyToServer();
    await using database = open(proxy.port);
    const cut = proxy.cutAfterRequest(isCommit);
    const value = await database.transaction(async (tx) => {
      await insert(tx);
      return 'done';
    });
    await cut;
    expect(value).toBe('done');
    expect(await effects()).toBe(1);
  });

  it('of a last statement and its COMMIT: it has committed, this is found out; nobody knows the result', async () => {
    await using proxy = await proxyToServer();
    await using database = open(proxy.port);
    const cut = proxy.cutAfterRequest(isCommit);
    const result = await database.transaction(
      async (tx) => {
        await insert(tx);
        return tx.commitWith("INSERT INTO effect VALUES ('last')");
      },
      { beginWithFirst: true },
    );
    await cut;
    expect(result).toBeUndefined();
    expect(await effects()).toBe(2);
  });

  it('of a last statement that failed, and its COMMIT: nothing was done', async () => {
    await using proxy = await proxyToServer();
    await using database = open(proxy.port);
    const cut = proxy.cutAfterRequest(isCommit);
    const thrown = await failure(
      database.transaction(async (tx) => {
        await insert(tx);
        return tx.commitWith('SELECT 1 / 0');
      }),
    );
    await cut;
    expect(thrown).toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    expect(await effects()).toBe(0);
  });

  it('of COMMIT, with nobody to ask: COMMIT_UNKNOWN, never success and never failure', async () => {
    await using proxy = await proxyToServer();
    await using database = open(proxy.port);
    const cut = proxy.cutAfterRequest(isCommit);
    const outcome = failure(
      database.transaction(async (tx) => {
        await insert(tx);
        proxy.refuse(true);
      }),
    );
    await cut;
    const thrown = (await outcome) as { details: { xid: string } };
    expect(thrown).toMatchObject({
      code: 'COMMIT_UNKNOWN',
      details: { xid: expect.stringMatching(/^\d+@/) },
    });
    expect(await effects()).toBe(1);
  });

  it('of the COMMIT of a transaction that only read: of no consequence', async () => {
    await using proxy = await proxyToServer();
    await using database = open(proxy.port);
    const cut = proxy.cutAfterRequest(isCommit);
    const read = (tx: Tx) => tx.query('SELECT 1 AS n');
    expect((await database.transaction(read, { readOnly: true })).rows).toEqual([{ n: 1 }]);
    await cut;
  });

  it('because COMMIT never arrived: this is found out too, and nothing was done', async () => {
    await using proxy = await proxyToServer();
    await using database = open(proxy.port, { callTimeoutMs: 5_000 });
    const paused = latch('nothing passes any more');
    const outcome = failure(
      database.transaction(async (tx) => {
        await insert(tx);
        proxy.pause();
        paused.open();
      }),
    );
    // The server says so before the client knows: cut then, the network would be paused later, and for good.
    await paused.promise;
    // The client has sent it when the transaction’s own signal no longer matters; the network then breaks for good.
    await until(async () => (await idleInTransaction()) === 1, { what: 'the server to wait for COMMIT' });
    proxy.cut();
    proxy.resume();
    expect(await outcome).toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    expect(await effects()).toBe(0);
  });

  it('because the network swallows everything for a while: the answer is the truth, whichever it is', async () => {
    for (let round = 0; round < 5; round++) {
      await direct.query('DELETE FROM effect');
      await using proxy = await proxyToServer();
      await using database = open(proxy.port, { callTimeoutMs: 200 });
      const outcome = failure(
        database.transaction(async (tx) => {
          await insert(tx);
          proxy.pause();
        }),
      );
      await until(async () => (await idleInTransaction()) === 1, { what: 'the server to wait for COMMIT' });
      const resumeAt = performance.now() + 150 + 40 * round;
      await until(() => performance.now() > resumeAt, { what: 'the network' });
      proxy.resume();
      const thrown = (await outcome) as { code?: string } | undefined;
      const known = thrown?.code !== 'COMMIT_UNKNOWN';
      await until(async () => (await idleInTransaction()) === 0, { what: 'the end of the transaction' });
      if (known) expect(await effects()).toBe(thrown === undefined ? 1 : 0);
    }
  });

  it('of a statement outside a transaction: BACKEND_UNAVAILABLE, and it was done once', async () => {
    await using proxy = await proxyToServer();
    await using database = open(proxy.port);
    await database.start();
    const cut = proxy.cutAfterRequest(holds('INSERT'));
    expect(await failure(insert(database))).toMatchObject({ code: 'BACKEND_UNAVAILABLE', retryable: true });
    await cut;
    expect(await effects()).toBe(1);
  });

  it('of a repeatable statement: it is sent again', async () => {
    await using proxy = await proxyToServer();
    await using database = open(proxy.port);
    await database.start();
    const cut = proxy.cutAfterRequest(holds('INSERT'));
    await database.query("INSERT INTO effect VALUES ('twice')", [], { repeatable: true });
    await cut;
    expect(await effects()).toBe(2);
  });

  it.each(['BEGIN', 'INSERT', 'SAVEPOINT', 'ROLLBACK'])(
    'of %s in a transaction: nothing is done',
    async (word) => {
      await using proxy = await proxyToServer();
      await using database = open(proxy.port);
      const cut = proxy.cutAfterRequest(holds(word === 'ROLLBACK' ? 'ROLLBACK\0' : word));
      const outcome = database.transaction(async (tx) => {
        await insert(tx);
        await tx.transaction((part) => insert(part));
        throw new Error('roll it back');
      });
      const thrown = await failure(outcome);
      if (word === 'ROLLBACK') expect(thrown).toMatchObject({ message: 'roll it back' });
      else expect(thrown).toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
      await cut;
      expect(await effects()).toBe(0);
      expect((await database.query('SELECT 1 AS n')).rows).toEqual([{ n: 1 }]);
    },
  );

  it('a network that swallows everything: after one call has met it, no idle connection from before is used', async () => {
    await using proxy = await proxyToServer();
    await using database = open(proxy.port, { poolSize: 5 });
    await Promise.all(Array.from({ length: 5 }, () => database.query('SELECT pg_sleep(0.05)')));
    const before = new Set(await pidsOfPool());
    expect(before.size).toBe(5);
    proxy.pause();
    expect(await failure(database.query('SELECT 1', [], { timeoutMs: 100 }))).toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
    });
    proxy.resume();
    const { rows } = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    expect(before.has(rows[0]?.pid ?? 0)).toBe(false);
  });

  it('a network that swallows everything: listening notices and begins anew', async () => {
    const { log, lines } = recordingLogger();
    await using proxy = await proxyToServer();
    await using database = open(proxy.port, { logger: log, listenCheckMs: 50, callTimeoutMs: 200 });
    const got: string[] = [];
    database.listen('silent', (payload) => got.push(payload));
    const heard = (payload: string) =>
      until(
        async () => {
          await direct.query('SELECT pg_notify($1, $2)', ['silent', payload]);
          return got.includes(payload);
        },
        { what: `NOTIFY ${payload}` },
      );
    await heard('before');
    proxy.dropReplies(true);
    await until(() => lines.some(({ message }) => /LISTEN lost/.test(message)), {
      what: 'the loss to be noticed',
    });
    proxy.dropReplies(false);
    await heard('after');
  });
});

async function idleInTransaction(): Promise<number> {
  const { rows } = await direct.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND query LIKE 'INSERT%'",
  );
  return rows[0]?.n ?? 0;
}

async function pidsOfPool(): Promise<number[]> {
  const { rows } = await direct.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE application_name = 'millrace:pool' AND pid <> pg_backend_pid()",
  );
  return rows.map(({ pid }) => pid);
}
