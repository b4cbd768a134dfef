import { latch, ManualClock, recordingLogger, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PgliteDatabase } from '../../src/index.js';
import { failure, newPgliteFolder } from '../open-databases.js';

leakCheck();

describe('PgliteDatabase', () => {
  let folder: Awaited<ReturnType<typeof newPgliteFolder>>;
  let database: PgliteDatabase;
  const clock = new ManualClock();
  const { log, lines } = recordingLogger();
  const warnings = () => lines.filter(({ message }) => /behind a slow transaction/.test(message));

  beforeAll(async () => {
    folder = await newPgliteFolder();
    database = new PgliteDatabase({ dataDir: folder.dataDir, clock, logger: log });
    await database.start();
  }, 60_000);
  afterAll(async () => {
    await database.stop();
    folder[Symbol.dispose]();
  });

  it('has one session', () => {
    expect(database.kind).toBe('pglite');
    expect(database.poolSize).toBe(1);
  });

  it('refuses what would wait for itself for ever: a call outside tx from inside a transaction', async () => {
    const deep = async (call: () => Promise<unknown>) => {
      await Promise.resolve();
      return failure(call());
    };
    await database.transaction(async (tx) => {
      const refused = { code: 'TX_REENTRANT', retryable: false };
      expect(await deep(() => database.query('SELECT 1'))).toMatchObject(refused);
      expect(await deep(() => database.transaction(async () => {}))).toMatchObject(refused);
      await tx.transaction(async () => {
        expect(await deep(() => database.query('SELECT 1'))).toMatchObject(refused);
      });
      expect((await tx.query('SELECT 1 AS n')).rows).toEqual([{ n: 1 }]);
    });
  });

  it('lets others wait their turn, and what a transaction started go on after its end', async () => {
    const open = latch('the transaction is open');
    const go = latch('it may end');
    const later = latch('after the end');
    let started: Promise<unknown> | undefined;
    const transaction = database.transaction(async () => {
      started = later.promise.then(() => database.query('SELECT 2 AS n'));
      open.open();
      await go.promise;
    });
    await open.wait();
    const other = database.query('SELECT 1 AS n');
    go.open();
    await transaction;
    expect((await other).rows).toEqual([{ n: 1 }]);
    later.open();
    expect(await started).toMatchObject({ rows: [{ n: 2 }] });
  });

  it('a listener may be added from inside a transaction', async () => {
    const got: string[] = [];
    const end = await database.transaction(async () =>
      database.listen('inside', (payload) => got.push(payload)),
    );
    await until(
      async () => {
        await database.query("SELECT pg_notify('inside', 'x')");
        return got.length > 0;
      },
      { what: 'NOTIFY' },
    );
    end();
  });

  it('warns once when others wait behind a transaction for 2 s, whether they came before or after', async () => {
    for (const comes of ['before', 'after']) {
      lines.length = 0;
      const open = latch('the transaction is open');
      const go = latch('it may end');
      const transaction = database.transaction(async () => {
        open.open();
        await go.promise;
      });
      await open.wait();
      const waiting: Promise<unknown>[] = [];
      if (comes === 'before') waiting.push(database.query('SELECT 1'));
      await Promise.resolve();
      await clock.advance(1_999);
      expect(warnings()).toHaveLength(0);
      await clock.advance(1);
      expect(warnings()).toHaveLength(comes === 'before' ? 1 : 0);
      waiting.push(database.query('SELECT 1'), database.query('SELECT 1'));
      await until(() => warnings().length === 1, { what: 'one warning' });
      go.open();
      await Promise.all([transaction, ...waiting]);
      expect(warnings()).toHaveLength(1);
    }
  });

  it('a caller that asks without pause does not keep the process from its timers and sockets', async () => {
    let rounds = 0;
    const timer = setInterval(() => rounds++, 1);
    const until = performance.now() + 300;
    while (performance.now() < until) await database.query('SELECT 1');
    clearInterval(timer);
    expect(rounds).toBeGreaterThan(3);
  });

  it('a call waits for its turn until its deadline', async () => {
    const open = latch('the transaction is open');
    const go = latch('it may end');
    const transaction = database.transaction(async () => {
      open.open();
      await go.promise;
    });
    await open.wait();
    const outcome = failure(database.query('SELECT 1'));
    const control = new AbortController();
    const aborted = failure(database.query('SELECT 1', [], { signal: control.signal }));
    await Promise.resolve();
    control.abort(new Error('enough'));
    expect(await aborted).toMatchObject({ message: 'enough' });
    await clock.advance(5_000);
    expect(await outcome).toMatchObject({ code: 'BACKEND_UNAVAILABLE', cause: { code: 'DATABASE_TIMEOUT' } });
    go.open();
    await transaction;
  });
});

describe('PgliteDatabase in memory', () => {
  it('works without a folder, and keeps nothing', async () => {
    await using database = new PgliteDatabase();
    await database.query('CREATE TABLE t (n int)');
    await database.transaction((tx) => tx.query('INSERT INTO t VALUES (1)'));
    expect((await database.query('SELECT n FROM t')).rows).toEqual([{ n: 1 }]);
  }, 60_000);
});
