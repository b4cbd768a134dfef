import { seededRng } from '@millrace/foundation';
import { type PostgresServer, recordingLogger, startPostgres, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ERRORS, PgDatabase, type PgDatabaseOptions, transactionOutcome } from '../../src/index.js';
import { failure, openTransaction, untilHeard } from '../support.js';

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
const untilAnswered = (database: PgDatabase) =>
  until(() => database.query('SELECT 1'), { what: 'an answer', deadlineMs: 10_000 });

/** What a caller learned about its transaction. */
interface Outcome {
  readonly status: 'committed' | 'refused' | 'unknown';
  readonly xid?: string;
}

/** Runs transactions in six loops during an outage. Each inserts its own number. Returns their outcomes. */
async function runUnderLoad(database: PgDatabase, outage: () => Promise<unknown>) {
  await database.query('DROP TABLE IF EXISTS load');
  await database.query('CREATE TABLE load (n int PRIMARY KEY, part int)');
  const outcomes = new Map<number, Outcome>();
  let [next, committed, isOver] = [0, 0, false];
  const insert = async (n: number): Promise<Outcome> => {
    try {
      const xid = await database.transaction(async (tx) => {
        await tx.query('INSERT INTO load VALUES ($1, 1)', [n]);
        await tx.query('UPDATE load SET part = 2 WHERE n = $1', [n]);
        return String(tx.xid);
      });
      committed++;
      return { status: 'committed', xid };
    } catch (error) {
      if (ERRORS.is(error, 'COMMIT_UNKNOWN')) return { status: 'unknown', xid: String(error.details.xid) };
      if (ERRORS.is(error, 'BACKEND_UNAVAILABLE') || ERRORS.is(error, 'TX_TIMEOUT'))
        return { status: 'refused' };
      throw error;
    }
  };
  const loops = Array.from({ length: 6 }, async () => {
    while (!isOver) {
      const n = next++;
      outcomes.set(n, await insert(n));
    }
  });
  const untilCommitted = (count: number) =>
    until(() => committed > count, { what: `${count} commits`, deadlineMs: 15_000 });
  try {
    await untilCommitted(20);
    await outage();
    await untilCommitted(committed + 20);
  } finally {
    isOver = true;
    await Promise.all(loops);
  }
  return outcomes;
}

/** Checks that committed transactions are stored whole, refused ones are not, and the outcome of unknown ones can be looked up. */
async function requireTruth(database: PgDatabase, outcomes: ReadonlyMap<number, Outcome>): Promise<void> {
  const { rows } = await database.query<{ n: number; part: number }>('SELECT n, part FROM load');
  expect(rows.filter(({ part }) => part !== 2)).toEqual([]);
  const stored = new Set(rows.map(({ n }) => n));
  for (const [n, { status, xid = '' }] of outcomes) {
    const truth = stored.has(n) ? 'committed' : 'aborted';
    if (status === 'unknown') expect([truth, 'unknown']).toContain(await transactionOutcome(database, xid));
    else expect([n, truth]).toEqual([n, status === 'committed' ? 'committed' : 'aborted']);
  }
}

it('PostgreSQL restarted fast under load: every answer was true, later ones too, and LISTEN comes back', async () => {
  const { log, lines } = recordingLogger();
  await using database = open({ callTimeoutMs: 5_000, logger: log });
  const got: string[] = [];
  database.listen('restart', (payload) => got.push(payload));
  await untilHeard(database, 'restart', got, 'before');
  const outcomes = await runUnderLoad(database, () => server.restart());
  await requireTruth(database, outcomes);
  const first = [...outcomes.values()].find(({ status }) => status === 'committed');
  expect(await transactionOutcome(database, first?.xid ?? '')).toBe('committed');
  await untilHeard(database, 'restart', got, 'after');
  expect(lines.map(({ message }) => message)).toContain('PostgreSQL connection for LISTEN lost');
});

it('restarted after a crash (immediate) under load: every answer was true', async () => {
  await using database = open({ callTimeoutMs: 5_000 });
  const crash = () => server.stopImmediate().then(() => server.restart());
  await requireTruth(database, await runUnderLoad(database, crash));
});

it('backends terminated at random under load: every answer was true', async () => {
  await using database = open();
  await using killer = open({ applicationName: 'killer' });
  const rng = seededRng(7);
  const outcomes = await runUnderLoad(database, async () => {
    for (let kills = 0; kills < 60; ) {
      const { rows } = await killer.query<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'millrace:pool' ORDER BY pid",
      );
      if (rows.length === 0) continue;
      await killer.query('SELECT pg_terminate_backend($1)', [rng.pick(rows).pid]);
      kills++;
    }
  });
  expect([...outcomes.values()].some(({ status }) => status !== 'committed')).toBe(true);
  await requireTruth(database, outcomes);
});

it('frozen: calls and transactions end within their time, and an unknown COMMIT can be looked up later', async () => {
  await using database = open({ callTimeoutMs: 300, connectTimeoutMs: 300 });
  await database.query('CREATE TABLE frozen (n int)');
  let xid = '';
  const startedAt = performance.now();
  const commit = database.transaction(async (tx) => {
    await tx.query('INSERT INTO frozen VALUES (1)');
    xid = tx.xid ?? '';
    await server.pause();
  });
  expect(await failure(commit)).toMatchObject({
    code: 'COMMIT_UNKNOWN',
    details: { xid },
    retryable: false,
  });
  const calls = [database.query('SELECT 1'), database.transaction(async () => {}, { timeoutMs: 300 })];
  for (const call of calls.map(failure)) expect(await call).toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
  expect(performance.now() - startedAt).toBeLessThan(3_000);
  await server.resume();
  await untilAnswered(database);
  const ended = async () => {
    const outcome = await transactionOutcome(database, xid);
    return outcome !== 'in progress' && outcome;
  };
  const outcome = await until(ended, { what: 'the transaction to end' });
  const { rowCount } = await database.query('SELECT * FROM frozen');
  expect(outcome).toBe(rowCount === 1 ? 'committed' : 'aborted');
});

it('frozen: stop ends at once', async () => {
  const database = open({ callTimeoutMs: 60_000, transactionTimeoutMs: 60_000 });
  database.listen('anything', () => {});
  const { tx, thrown } = await openTransaction(database);
  await server.pause();
  const running = failure(database.query('SELECT 1'));
  const startedAt = performance.now();
  await database.stop();
  expect(performance.now() - startedAt).toBeLessThan(500);
  expect(await running).toMatchObject({ code: 'SERVICE_STOPPED' });
  expect(await thrown).toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
  expect(await failure(tx.query('SELECT 1'))).toMatchObject({ code: 'TX_CLOSED' });
  await server.resume();
});

it('crashed: a number that is given out again is never taken for the transaction that had it before', async () => {
  await using database = open();
  const numberOf = (xid = '') => Number(xid.split('@')[0]);
  const next = async () => numberOf(await database.transaction(async (tx) => tx.xid));
  const crashed = async () => {
    let xid = '';
    const interrupted = database.transaction(async (tx) => {
      xid = tx.xid ?? '';
      await server.stopImmediate();
    });
    expect(await failure(interrupted)).toBeDefined();
    await server.restart();
    expect(await transactionOutcome(database, xid)).not.toBe('committed');
    // Unless the server happened to note the next number on disk in between.
    return (await next()) <= numberOf(xid) && xid;
  };
  const lost = await until(crashed, { what: 'numbers to be given out again', deadlineMs: 20_000 });
  await until(async () => (await next()) > numberOf(lost), {
    what: 'another transaction to use the number',
  });
  expect(await transactionOutcome(database, lost)).toBe('unknown');
});

it('down: a call made meanwhile waits for it within its deadline', async () => {
  await using database = open();
  await untilAnswered(database);
  await server.kill();
  await failure(database.query('SELECT 1', [], { timeoutMs: 200 }));
  const query = database.query('SELECT 1 AS n', [], { timeoutMs: 20_000 });
  const transaction = database.transaction((tx) => tx.query('SELECT 2 AS n'), { timeoutMs: 20_000 });
  await server.restart();
  expect([await query, await transaction].map(({ rows }) => rows[0]?.n)).toEqual([1, 2]);
});

it('without a free connection: BACKEND_UNAVAILABLE, and it works when there is one', async () => {
  await using database = open();
  await database.query('CREATE ROLE limited LOGIN CONNECTION LIMIT 1');
  const url = server.url.replace('postgres@', 'limited@');
  await using first = open({ url });
  await using second = open({ url, callTimeoutMs: 200 });
  await first.start();
  const thrown = await failure(second.query('SELECT 1'));
  expect(thrown).toMatchObject({ code: 'BACKEND_UNAVAILABLE', cause: { cause: { code: '53300' } } });
  await first.stop();
  await untilAnswered(second);
});
