import { latch, ManualClock, recordingLogger, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PgliteDatabase } from '../../src/index.js';
import { failure, newPgliteFolder, openTransaction, untilHeard } from '../support.js';

leakCheck();

let folder: Awaited<ReturnType<typeof newPgliteFolder>>;
let database: PgliteDatabase;
const clock = new ManualClock();
const { log, lines } = recordingLogger();

beforeAll(async () => {
  folder = await newPgliteFolder();
  database = new PgliteDatabase({ dataDir: folder.dataDir, clock, logger: log });
  await database.start();
}, 60_000);
afterAll(async () => {
  await database.stop();
  folder[Symbol.dispose]();
});

it('refuses a call outside tx from inside a transaction, which would wait for itself', async () => {
  expect(database.poolSize).toBe(1);
  const requireRefused = async () => {
    await Promise.resolve();
    for (const call of [database.query('SELECT 1'), database.transaction(async () => {})].map(failure))
      expect(await call).toMatchObject({ code: 'TX_REENTRANT', retryable: false });
  };
  await database.transaction(async (tx) => {
    await requireRefused();
    await tx.transaction(requireRefused);
    expect((await tx.query('SELECT 1 AS n')).rows).toEqual([{ n: 1 }]);
  });
});

it('lets other callers wait, and accepts a call after the end of the transaction that started it', async () => {
  const ended = latch('the transaction has ended');
  let late: Promise<unknown> | undefined;
  const { end } = await openTransaction(database, async () => {
    late = ended.promise.then(() => database.query('SELECT 2 AS n'));
  });
  const other = database.query('SELECT 1 AS n');
  expect(await end()).toBeUndefined();
  expect((await other).rows).toEqual([{ n: 1 }]);
  ended.open();
  expect(await late).toMatchObject({ rows: [{ n: 2 }] });
});

it('accepts a handler from inside a transaction', async () => {
  const got: string[] = [];
  const end = await database.transaction(async () =>
    database.listen('inside', (payload) => got.push(payload)),
  );
  await untilHeard(database, 'inside', got, 'x');
  end();
});

it.each(['before', 'after'])(
  'warns once if calls that came %s it wait behind a transaction of 2 s',
  async (comes) => {
    lines.length = 0;
    const warnings = () => lines.filter(({ message }) => /behind a slow transaction/.test(message)).length;
    const { end } = await openTransaction(database);
    const waiting: Promise<unknown>[] = [];
    if (comes === 'before') waiting.push(database.query('SELECT 1'));
    await Promise.resolve();
    await clock.advance(1_999);
    expect(warnings()).toBe(0);
    await clock.advance(1);
    expect(warnings()).toBe(comes === 'before' ? 1 : 0);
    waiting.push(database.query('SELECT 1'), database.query('SELECT 1'));
    await until(() => warnings() === 1, { what: 'one warning' });
    await Promise.all([end(), ...waiting]);
    expect(warnings()).toBe(1);
  },
);

it('lets timers and sockets of the process run while a caller queries without pause', async () => {
  let rounds = 0;
  const timer = setInterval(() => rounds++, 1);
  const endsAt = performance.now() + 300;
  while (performance.now() < endsAt) await database.query('SELECT 1');
  clearInterval(timer);
  expect(rounds).toBeGreaterThan(3);
});

it('lets a call wait for the session until its deadline or signal', async () => {
  const { end } = await openTransaction(database);
  const late = failure(database.query('SELECT 1'));
  const control = new AbortController();
  const aborted = failure(database.query('SELECT 1', [], { signal: control.signal }));
  await Promise.resolve();
  control.abort(new Error('enough'));
  expect(await aborted).toMatchObject({ message: 'enough' });
  await clock.advance(5_000);
  expect(await late).toMatchObject({ code: 'BACKEND_UNAVAILABLE', cause: { code: 'DATABASE_TIMEOUT' } });
  await end();
});
