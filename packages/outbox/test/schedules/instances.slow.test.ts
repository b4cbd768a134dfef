import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cronPeriods, type ScheduleTiming } from '../../src/cron-periods.js';
import { type BatchSummary, defineDag, type Outbox, type ScheduleInput, task } from '../../src/index.js';
import { eventually, type OpenWorld, openWorld } from '../failure/world.js';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const DAG = defineDag('scheduled', { a: task({ run: () => 1 }) });

let world: OpenWorld;
let outboxes: readonly Outbox[];
let outbox: Outbox;
beforeAll(async () => {
  world = await openWorld();
  outboxes = await Promise.all([1, 2, 3, 4].map(() => world.startOutbox({ dags: [DAG] })));
  outbox = outboxes[0] as Outbox;
}, 60_000);
afterAll(() => world?.end());

/** Rows of a statement; `{schema}` stands for the schema. */
const rows = async <R extends object>(sql: string, params: readonly (string | Date)[] = []) =>
  (await world.database.query<R>(sql.replaceAll('{schema}', `"${world.schema}"`), params)).rows;

const now = async (): Promise<Date> =>
  (await rows<{ now: Date }>('SELECT clock_timestamp() AS now'))[0]?.now as Date;

/** A connection that waits for a lock. */
const waitingFor = async (locktype: string) =>
  (
    await rows<{ pid: number }>(
      `SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database
       WHERE l.locktype = $1 AND NOT l.granted AND d.datname = current_database()`,
      [locktype],
    )
  )[0];

/** Sets a schedule whose periods from a time on were missed, as after a downtime: the clock of the database stays what it is. */
async function setMissed(input: Partial<ScheduleInput> & { name: string }, from: Date): Promise<Date> {
  const { cron = '@daily', timeZone = 'UTC', name } = input;
  await outbox.schedules.set({ dag: DAG.name, ...input, cron, timeZone, paused: true });
  const first = new Date(cronPeriods({ cron, timeZone }).after(from.getTime()) as number);
  await rows(
    'UPDATE {schema}.outbox_schedule SET next_at = $2, look_at = $2, paused = false WHERE name = $1',
    [name, first],
  );
  return first;
}

/** Waits until a schedule has nothing left to catch up with. */
const caughtUp = (name: string) =>
  eventually(`schedule ${name} to catch up`, async () => {
    const schedule = await outbox.schedules.get({ name });
    return (schedule.nextAt?.getTime() ?? Number.POSITIVE_INFINITY) > (await now()).getTime() && schedule;
  });

async function batchesOf(schedule: string): Promise<BatchSummary[]> {
  const { items } = await outbox.batches.list({ limit: 1_000 });
  return items.filter((batch) => batch.schedule === schedule);
}

const periodsOf = (batches: readonly BatchSummary[]) =>
  batches.map(({ bizKey }) => bizKey.split('@')[1]).toSorted();

/** Each period from the first until then, by stepping. */
function expectedPeriods(timing: ScheduleTiming, first: Date, until: Date): string[] {
  const found: string[] = [];
  const periods = cronPeriods(timing);
  for (let ms: number | undefined = first.getTime(); ms !== undefined && ms <= until.getTime(); ) {
    found.push(new Date(ms).toISOString());
    ms = periods.after(ms);
  }
  return found;
}

describe('outbox: schedules over 4 instances', () => {
  it('outbox: schedules: exactly one batch per period, over both changes of the clocks, and none again after pruning', async () => {
    const at = { name: 'dst', cron: '30 2 * 3,10 *', timeZone: 'Europe/Berlin', catchUp: 'all' } as const;
    const first = await setMissed(at, new Date((await now()).getTime() - 380 * DAY_MS));
    const { lastAt } = await caughtUp(at.name);
    await world.settle();
    const batches = await batchesOf(at.name);
    expect(periodsOf(batches)).toEqual(expectedPeriods(at, first, lastAt as Date));
    const day = new Intl.DateTimeFormat('en-CA', { timeZone: at.timeZone });
    const days = periodsOf(batches).map((period) => day.format(new Date(period as string)));
    expect(days.length).toBeGreaterThan(60);
    expect(new Set(days).size).toBe(days.length);
    expect(batches.every(({ status, runNo }) => status === 'DONE' && runNo === 1)).toBe(true);

    await rows('DELETE FROM {schema}.batch_instance');
    await Promise.all(outboxes.map((one) => one.schedules.set({ ...at, dag: DAG.name })));
    const restarted = await world.startOutbox({ dags: [DAG] });
    // Every scheduler has looked when what is due after it has started.
    await setMissed({ name: 'witness' }, new Date((await now()).getTime() - 25 * HOUR_MS));
    await caughtUp('witness');
    await restarted.stop();
    expect(await batchesOf(at.name)).toEqual([]);
  }, 30_000);

  it('outbox: schedules: after a downtime each policy starts what it says', async () => {
    const present = await now();
    const begin = new Date(present.getTime() - 5.25 * HOUR_MS);
    // Not at the edge of a period: the latest one is half an hour old.
    const cron = `${(present.getUTCMinutes() + 30) % 60} * * * *`;
    const first = await setMissed({ cron, name: 'all', catchUp: 'all' }, begin);
    await setMissed({ cron, name: 'one', catchUp: 'one' }, begin);
    await setMissed({ cron, name: 'none', catchUp: 'none' }, begin);
    const lately = new Date(present.getTime() - 5_000);
    const daily = `${lately.getUTCSeconds()} ${lately.getUTCMinutes()} ${lately.getUTCHours()} * * *`;
    await setMissed({ cron: daily, name: 'late', catchUp: 'none' }, new Date(present.getTime() - 3 * DAY_MS));
    for (const name of ['all', 'one', 'none', 'late']) await caughtUp(name);
    const expected = expectedPeriods({ cron, timeZone: 'UTC' }, first, present);
    expect(expected).toHaveLength(5);
    expect(periodsOf(await batchesOf('all'))).toEqual(expected);
    expect(periodsOf(await batchesOf('one'))).toEqual(expected.slice(-1));
    expect(periodsOf(await batchesOf('none'))).toEqual([]);
    expect(periodsOf(await batchesOf('late'))).toEqual([`${lately.toISOString().slice(0, 19)}.000Z`]);
    expect(await outbox.schedules.get({ name: 'none' })).toMatchObject({
      lastAt: undefined,
      lastBatchId: undefined,
    });
  }, 30_000);

  it('outbox: schedules: every second as it comes: no second twice and none left out', async () => {
    await outbox.schedules.set({ name: 'seconds', dag: DAG.name, cron: '* * * * * *', catchUp: 'all' });
    await eventually('two seconds', async () => (await batchesOf('seconds')).length >= 2);
    await outbox.schedules.pause({ name: 'seconds' });
    const batches = await batchesOf('seconds');
    const periods = periodsOf(batches).map((period) => Date.parse(period as string));
    expect(periods).toEqual(periods.map((_, n) => (periods[0] as number) + n * 1_000));
    for (const { createdAt, bizKey } of batches)
      expect(createdAt.getTime()).toBeGreaterThanOrEqual(Date.parse(bizKey.split('@')[1] as string));
  }, 30_000);
});

describe('outbox: schedules when a start fails', () => {
  it('outbox: schedules: an instance that dies between two batches of a turn has started neither; each is started once by others', async () => {
    // The second batch of the turn waits for the test.
    await world.database.query(`CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF (SELECT count(*) FROM "${world.schema}".batch_instance WHERE schedule = 'dies') = 1 THEN
          PERFORM pg_advisory_xact_lock(42);
        END IF;
        RETURN NEW;
      END $$`);
    await rows(
      "CREATE TRIGGER wait BEFORE INSERT ON {schema}.batch_instance FOR EACH ROW WHEN (NEW.schedule = 'dies') EXECUTE FUNCTION wait_for_test()",
    );
    let first: Date | undefined;
    await world.database.transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock(42)');
      const begin = new Date((await now()).getTime() - 3.5 * DAY_MS);
      first = await setMissed({ name: 'dies', catchUp: 'all' }, begin);
      const { pid } = await eventually('the turn to reach its second batch', () => waitingFor('advisory'));
      await world.database.query('SELECT pg_terminate_backend($1::integer)', [pid]);
      await eventually('its end', async () => (await waitingFor('advisory'))?.pid !== pid);
      expect(await batchesOf('dies')).toEqual([]);
      expect((await outbox.schedules.get({ name: 'dies' })).nextAt).toEqual(first);
    });
    const { lastAt, failures, error } = await caughtUp('dies');
    expect([failures, error]).toEqual([0, undefined]);
    const expected = expectedPeriods({ cron: '@daily', timeZone: 'UTC' }, first as Date, lastAt as Date);
    expect(periodsOf(await batchesOf('dies'))).toEqual(expected);
    expect(expected.length).toBeGreaterThan(2);
  }, 30_000);

  it('outbox: schedules: one whose DAG is gone keeps its period, waits longer each time, and blocks no other', async () => {
    const gone = defineDag('gone', { a: task({ run: () => 1 }) });
    await outbox.registry.register(gone);
    const present = (await now()).getTime();
    await outbox.schedules.set({ name: 'broken', dag: 'gone', cron: '@daily', paused: true });
    await rows("DELETE FROM {schema}.dag WHERE name = 'gone'");
    const first = new Date(present - (present % DAY_MS) - DAY_MS);
    await rows(
      "UPDATE {schema}.outbox_schedule SET next_at = $1, look_at = $1, paused = false, catch_up = 'all' WHERE name = 'broken'",
      [first],
    );
    await setMissed({ name: 'behind it' }, new Date(present - 25 * HOUR_MS));
    await caughtUp('behind it');
    expect(await batchesOf('behind it')).toHaveLength(1);
    const delays: number[] = [];
    const lookNow = async () => {
      await rows("UPDATE {schema}.outbox_schedule SET look_at = clock_timestamp() WHERE name = 'broken'");
      await outbox.schedules.resume({ name: 'broken' });
    };
    for (const failures of [1, 2, 3]) {
      const broken = await eventually('another failure', async () => {
        const schedule = await outbox.schedules.get({ name: 'broken' });
        return schedule.failures >= failures && schedule;
      });
      expect(broken).toMatchObject({
        nextAt: first,
        error: expect.stringContaining("There is no DAG 'gone'"),
      });
      const [row] = await rows<{ ms: number }>(
        "SELECT extract(epoch FROM look_at - updated_at)::float8 * 1000 AS ms FROM {schema}.outbox_schedule WHERE name = 'broken'",
      );
      delays.push(row?.ms ?? 0);
      // The last try is over: one that has begun before the DAG is back would postpone it once more.
      if (failures < 3) await lookNow();
    }
    expect(delays[2]).toBeGreaterThan((delays[0] as number) * 2);
    await outbox.registry.register(gone);
    await lookNow();
    const { lastAt } = await caughtUp('broken');
    expect(periodsOf(await batchesOf('broken'))).toEqual(
      expectedPeriods({ cron: '@daily', timeZone: 'UTC' }, first, lastAt as Date),
    );
    await world.settle();
  }, 30_000);
});
