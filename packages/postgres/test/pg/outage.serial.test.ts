import { seededRng } from '@millrace/foundation';
import { latch, type PostgresServer, recordingLogger, startPostgres, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PgDatabase, type PgDatabaseOptions, type Tx, transactionOutcome } from '../../src/index.js';
import { failure } from '../open-databases.js';
import { requireTruth, underLoad } from '../outage-load.js';

leakCheck();

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

const open = (options: Partial<PgDatabaseOptions> = {}) =>
  new PgDatabase({
    url: server.url,
    callTimeoutMs: 1_000,
    connectTimeoutMs: 500,
    reconnectMaxMs: 100,
    ...options,
  });
const answers = (database: PgDatabase) =>
  until(() => database.query('SELECT 1'), { what: 'an answer', deadlineMs: 10_000 });

describe('a PostgreSQL that fails', () => {
  it('restarted fast under load: every answer was true, and the work goes on', async () => {
    await using database = open({ callTimeoutMs: 5_000 });
    const told = await underLoad(database, () => server.restart());
    await requireTruth(database, told);
  });

  it('restarted after a crash (immediate) under load: every answer was true, and the work goes on', async () => {
    await using database = open({ callTimeoutMs: 5_000 });
    const told = await underLoad(database, async () => {
      await server.stopImmediate();
      await server.restart();
    });
    await requireTruth(database, told);
  });

  it('backends terminated at random under load: every answer was true, and the work goes on', async () => {
    await using database = open();
    await using killer = open({ applicationName: 'killer' });
    const rng = seededRng(7);
    const told = await underLoad(database, async () => {
      for (let kills = 0; kills < 60; ) {
        const { rows } = await killer.query<{ pid: number }>(
          "SELECT pid FROM pg_stat_activity WHERE application_name = 'millrace:pool' ORDER BY pid",
        );
        if (rows.length === 0) continue;
        await killer.query('SELECT pg_terminate_backend($1)', [rows[rng.integer(0, rows.length - 1)]?.pid]);
        kills++;
      }
    });
    expect(told.refused.length + told.unknown.length).toBeGreaterThan(0);
    await requireTruth(database, told);
  });

  it('frozen: calls and transactions end within their time, an open COMMIT is unknown, and can be asked later', async () => {
    await using database = open({ callTimeoutMs: 300, connectTimeoutMs: 300 });
    await database.query('CREATE TABLE frozen (n int)');
    let xid = '';
    const startedAt = performance.now();
    const commit = failure(
      database.transaction(async (tx) => {
        await tx.query('INSERT INTO frozen VALUES (1)');
        xid = tx.xid ?? '';
        await server.pause();
      }),
    );
    expect(await commit).toMatchObject({ code: 'COMMIT_UNKNOWN', details: { xid }, retryable: false });
    expect(await failure(database.query('SELECT 1'))).toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    const transaction = failure(database.transaction(async () => {}, { timeoutMs: 300 }));
    expect(await transaction).toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    await server.resume();
    await answers(database);
    const outcome = await until(
      async () => {
        const now = await transactionOutcome(database, xid);
        return now !== 'in progress' && now;
      },
      { what: 'the transaction to end' },
    );
    const { rowCount } = await database.query('SELECT * FROM frozen');
    expect(outcome).toBe(rowCount === 1 ? 'committed' : 'aborted');
  });

  it('frozen for good: stop ends at once', async () => {
    const database = open({ callTimeoutMs: 60_000, transactionTimeoutMs: 60_000 });
    database.listen('anything', () => {});
    const held = latch<Tx>('a transaction is open');
    const transaction = failure(
      database.transaction(async (tx) => {
        held.open(tx);
        await latch('never').promise;
      }),
    );
    const tx = await held.wait();
    await server.pause();
    const running = failure(database.query('SELECT 1'));
    const startedAt = performance.now();
    await database.stop();
    expect(performance.now() - startedAt).toBeLessThan(500);
    expect(await running).toMatchObject({ code: 'SERVICE_STOPPED' });
    expect(await transaction).toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    expect(await failure(tx.query('SELECT 1'))).toMatchObject({ code: 'TX_CLOSED' });
    await server.resume();
  });

  it('crashed: a number that is given out again is never taken for the transaction that had it before', async () => {
    await using database = open();
    const numberOf = (xid = '') => Number(xid.split('@')[0]);
    const next = async () => numberOf(await database.transaction(async (tx) => tx.xid));
    const crashed = async () => {
      let xid = '';
      const interrupted = failure(
        database.transaction(async (tx) => {
          xid = tx.xid ?? '';
          await server.stopImmediate();
        }),
      );
      expect(await interrupted).toBeDefined();
      await server.restart();
      expect(await transactionOutcome(database, xid)).not.toBe('committed');
      // Unless the server happened to note the next number on disk in between.
      return (await next()) <= numberOf(xid) && xid;
    };
    const lost = await until(crashed, { what: 'numbers to be taken back', deadlineMs: 20_000 });
    await until(async () => (await next()) > numberOf(lost), { what: 'the number to be used by another' });
    expect(await transactionOutcome(database, lost)).toBe('unknown');
  });

  it('restarted fast: what had committed before is still known to have', async () => {
    await using database = open();
    const xid = (await database.transaction(async (tx) => tx.xid)) ?? '';
    await server.restart();
    await answers(database);
    expect(await transactionOutcome(database, xid)).toBe('committed');
  });

  it('down: a call made meanwhile waits for it within its deadline', async () => {
    await using database = open();
    await answers(database);
    await server.kill();
    const refused = () => failure(database.query('SELECT 1', [], { timeoutMs: 200 }));
    await refused(); // Perhaps on a connection that does not know yet.
    expect(await refused()).toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    const patient = database.query('SELECT 1 AS n', [], { timeoutMs: 20_000 });
    const transaction = database.transaction((tx) => tx.query('SELECT 2 AS n'), { timeoutMs: 20_000 });
    await server.restart();
    expect((await patient).rows).toEqual([{ n: 1 }]);
    expect((await transaction).rows).toEqual([{ n: 2 }]);
  });

  it('that has no connection to spare: BACKEND_UNAVAILABLE, and it works when there is one', async () => {
    await using database = open();
    await database.query('CREATE ROLE limited LOGIN CONNECTION LIMIT 1');
    const url = server.url.replace('postgres@', 'limited@');
    await using first = open({ url });
    await using second = open({ url, callTimeoutMs: 200 });
    await first.start();
    expect(await failure(second.query('SELECT 1'))).toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      cause: { cause: { code: '53300' } },
    });
    await first.stop();
    await answers(second);
  });

  it('listening survives a restart', async () => {
    const { log, lines } = recordingLogger();
    await using database = open({ logger: log });
    const got: string[] = [];
    database.listen('restart', (payload) => got.push(payload));
    const heard = (payload: string) =>
      until(
        async () => {
          await database.query('SELECT pg_notify($1, $2)', ['restart', payload]);
          return got.includes(payload);
        },
        { what: `NOTIFY ${payload}`, deadlineMs: 10_000 },
      );
    await heard('before');
    await server.restart();
    await heard('after');
    expect(lines.some(({ message }) => message === 'PostgreSQL connection for LISTEN lost')).toBe(true);
  });
});
