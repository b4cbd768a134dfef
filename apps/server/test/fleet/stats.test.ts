import { silentLogger } from '@millrace/foundation';
import { PgDatabase } from '@millrace/postgres';
import { ManualClock, type PostgresSandbox } from '@millrace/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ServerConfig } from '../../src/config/model.js';
import { DatabaseTime } from '../../src/fleet/database-time.js';
import { ServerTables } from '../../src/fleet/server-tables.js';
import { statPoint } from '../../src/fleet/stat-point.js';
import { StatStore } from '../../src/fleet/stat-store.js';
import { StatsRecorder } from '../../src/fleet/stats-recorder.js';
import type { StoreSeen } from '../../src/fleet/store-gauges.js';
import { migratedSandbox } from '../serve.js';

const SLOT_MS = 10_000;
const QUEUES = {
  lane: 0,
  ready: 0,
  nonReady: 0,
  inFlight: 0,
  deadLetters: 0,
  oldestWaitingMs: 0,
  tenants: 0,
  liveSlots: 0,
  waitingSlots: 0,
  startsPerSecond: 0,
};

describe('what instances write down of what they do', () => {
  let sandbox: PostgresSandbox;
  let database: PgDatabase;
  let store: StatStore;
  let clock: ManualClock;
  beforeAll(async () => {
    sandbox = await migratedSandbox();
    database = new PgDatabase({ url: sandbox.url, logger: silentLogger });
    store = new StatStore(new ServerTables({ database, config: ServerConfig.parse({}) }));
  });
  beforeEach(async () => {
    clock = new ManualClock();
    await database.query('TRUNCATE millrace.server_stat, millrace.server_instance');
  });
  afterAll(async () => {
    await database.stop();
    await sandbox.drop();
  });

  /** An instance that does what the test says. */
  function instance(instanceId: string, given: Partial<ServerConfig> = {}) {
    const counts: Record<string, number> = {};
    const seen: { -readonly [K in keyof StoreSeen]: StoreSeen[K] } = {
      queues: null,
      backlog: null,
      openOperations: null,
    };
    let looks = 0;
    const config = { ...ServerConfig.parse({}), ...given };
    const parts = { clock, log: silentLogger, config, instanceId };
    const look = async () => {
      looks++;
      return seen;
    };
    const recorder = new StatsRecorder(
      parts,
      { read: () => ({ ...counts }) },
      { look },
      store,
      new DatabaseTime(parts),
    );
    return { counts, seen, recorder, looks: () => looks };
  }

  const lastMinutes = () => {
    const minute = Math.floor(clock.now() / 60_000);
    return store.read(60, minute - 2, minute);
  };
  const slotNow = () => Math.floor(clock.now() / SLOT_MS);

  it('adds up what all did, and takes the greatest of what they saw', async () => {
    const [a, b, worker] = [instance('a'), instance('b'), instance('w', { role: 'worker' })];
    const slot = slotNow();
    Object.assign(a.counts, { 'jobs.done': 30, 'run:2': 30, 'tasks.done': 1 });
    a.seen.queues = { ...QUEUES, ready: 5, lane: 1 };
    Object.assign(b.counts, { 'jobs.done': 20, 'jobs.failed': 10, 'run:10': 20 });
    b.seen.queues = { ...QUEUES, ready: 7 };
    b.seen.openOperations = 3;
    worker.counts['jobs.done'] = 50;
    await clock.advance(SLOT_MS);
    await Promise.all([a, b, worker].map(({ recorder }) => recorder.look()));
    expect(worker.looks()).toBe(0);
    const [found, ...rest] = await store.read(10, slot - 5, slot + 5);
    expect(rest).toEqual([]);
    const point = statPoint(found as never, 10);
    expect(point).toMatchObject({
      at: new Date(slot * SLOT_MS).toISOString(),
      instances: 3,
      jobs: { donePerSecond: 10, failedPerSecond: 1, retriedPerSecond: 0 },
      tasks: { donePerSecond: 0.1 },
      waitMs: null,
      queues: { ready: 7, lane: 1 },
      backlog: null,
      openOperations: 3,
    });
    // Of 50 tries 30 took up to 2 ms and 20 up to 32 ms.
    expect(point.runMs?.p50).toBeLessThanOrEqual(2);
    expect(point.runMs?.p95).toBeGreaterThan(24);
    expect(point.runMs?.p99).toBeLessThanOrEqual(32);
    const [minute] = await lastMinutes();
    expect(minute).toMatchObject({ instances: 3, counted: { 'jobs.done': 100 } });
  });

  it('counts each thing once, in the slot in which it was done, and a minute as a whole', async () => {
    const { counts, recorder } = instance('a');
    const first = slotNow();
    for (const done of [1, 1, 5]) {
      counts['jobs.done'] = done;
      await clock.advance(SLOT_MS);
      await recorder.look();
    }
    const slots = await store.read(10, first, first + 3);
    expect(slots.map(({ slot, counted }) => [slot - first, counted])).toEqual([
      [0, { 'jobs.done': 1 }],
      [1, {}],
      [2, { 'jobs.done': 4 }],
    ]);
    expect(await lastMinutes()).toMatchObject([{ counted: { 'jobs.done': 5 } }]);
  });

  it('is a ring: an hour later the same rows are used again', async () => {
    const { counts, recorder } = instance('a');
    const first = slotNow();
    // Every tenth slot of a little more than an hour.
    for (let turn = 1; turn <= 38; turn++) {
      counts['jobs.done'] = turn;
      await clock.advance(10 * SLOT_MS);
      await recorder.look();
    }
    const rows = async (step: number) =>
      (await database.query('SELECT slot FROM millrace.server_stat WHERE step = $1', [step])).rowCount;
    expect(await rows(10)).toBe(36);
    expect(await rows(60)).toBe(38);
    const slots = await store.read(10, first, first + 400);
    expect(slots[0]?.slot).toBe(first + 29);
    expect(slots.at(-1)?.slot).toBe(first + 379);
  });

  it('writes what it could not write before, and nothing twice', async () => {
    const { counts, recorder } = instance('a');
    const first = slotNow();
    await database.query('ALTER TABLE millrace.server_stat RENAME TO away');
    for (const done of [2, 5]) {
      counts['jobs.done'] = done;
      await clock.advance(SLOT_MS);
      await recorder.look();
    }
    await database.query('ALTER TABLE millrace.away RENAME TO server_stat');
    await clock.advance(SLOT_MS);
    await recorder.look();
    await recorder.look();
    const slots = await store.read(10, first, first + 5);
    expect(slots.map(({ counted }) => counted['jobs.done'])).toEqual([2, 3, undefined]);
  });

  it('means the slots of the database, whatever the clock of the process says', async () => {
    const time = new DatabaseTime({ clock });
    const asked = clock.now();
    await clock.advance(40);
    time.note(new Date(asked + 3_600_020), asked);
    expect(time.now() - clock.now()).toBe(3_600_000);
  });

  it('removes the rows of those who are gone, after a day', async () => {
    const { counts, recorder } = instance('gone');
    counts['jobs.done'] = 1;
    await recorder.look();
    await database.query(
      `INSERT INTO millrace.server_instance (instance_id, role, version, host, pid, bulk_instance_id, runs)
       VALUES ('gone', 'all', '1', 'h', 1, 'b', '{}')`,
    );
    expect(await store.prune(10)).toBe(0);
    await database.query('DELETE FROM millrace.server_instance');
    expect(await store.prune(1)).toBe(1);
    expect(await store.prune(10)).toBe(1);
    expect(await store.prune(10)).toBe(0);
  });
});
