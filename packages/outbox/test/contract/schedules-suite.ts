import { until } from '@millrace/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { defineDag, ERRORS, type Outbox, type Schedule, type ScheduleInput, task } from '../../src/index.js';
import type { Home } from './home.js';

const HOUR_MS = 3_600_000;

/** A DAG whose task does nothing, of a name that no other test has. */
const noop = (home: Home) => home.dag({ a: task({ run: () => 1 }) });

/** What can be said of schedules without any time passing. */
export function schedulesSuite(home: () => Home): void {
  describe('outbox: schedules are set, read and removed', () => {
    // Others poll on these tables, too.
    afterEach(() => home().rows('DELETE FROM {schema}.outbox_schedule'));

    it('outbox: schedules: set gives what get and list give; the next period is the first from now on', async () => {
      const dag = noop(home());
      await using outbox = await home().starter([dag]);
      const given = {
        name: 'nightly',
        tenant: 'ACME',
        dag: dag.name,
        cron: '30 2 * * *',
        timeZone: 'Europe/Berlin',
      };
      const before = Date.now();
      const set = await outbox.schedules.set({
        ...given,
        payload: { full: [1, 'two', null] },
        catchUp: 'all',
      });
      expect(set).toMatchObject({
        ...given,
        payload: { full: [1, 'two', null] },
        catchUp: 'all',
        paused: false,
      });
      expect(set).toMatchObject({ lastAt: undefined, lastBatchId: undefined, failures: 0, error: undefined });
      const aheadMs = (set.nextAt?.getTime() ?? 0) - before;
      expect(aheadMs).toBeGreaterThan(-1_000);
      expect(aheadMs).toBeLessThan(26 * HOUR_MS);
      expect(await outbox.schedules.get({ name: 'nightly', tenant: 'ACME' })).toEqual(set);
      expect((await outbox.schedules.list({ dag: dag.name })).items).toEqual([set]);
      await expect(outbox.schedules.get({ name: 'nightly' })).rejects.toMatchObject({
        code: 'SCHEDULE_NOT_FOUND',
      });
    });

    it('outbox: schedules: set again with the same times keeps the next period, with others it begins anew', async () => {
      const dag = noop(home());
      await using outbox = await home().starter([dag]);
      const input = { name: 'kept', dag: dag.name, cron: '0 * * * *', timeZone: 'UTC' };
      await outbox.schedules.set(input);
      const missed = new Date(Date.UTC(2026, 0, 1, 5));
      await move(home(), 'kept', missed);
      const again = await outbox.schedules.set({ ...input, payload: 5, catchUp: 'none' });
      expect(again).toMatchObject({ nextAt: missed, payload: 5, catchUp: 'none' });
      const other = await outbox.schedules.set({ ...input, timeZone: 'Asia/Kolkata' });
      expect(other.nextAt?.getUTCMinutes()).toBe(30);
      expect(other.nextAt?.getTime()).toBeGreaterThan(missed.getTime() + HOUR_MS);
    });

    it('outbox: schedules: a pause stays through set, and its end forgets what passed meanwhile', async () => {
      const dag = noop(home());
      await using outbox = await home().starter([dag]);
      const { schedules } = outbox;
      const input = { name: 'paused', dag: dag.name, cron: '0 * * * *' };
      await schedules.set(input);
      const missed = new Date(Date.UTC(2026, 0, 1, 5));
      await move(home(), 'paused', missed);
      expect(await schedules.pause({ name: 'paused' })).toMatchObject({ paused: true, nextAt: missed });
      expect(await schedules.set({ ...input, payload: 1 })).toMatchObject({ paused: true, payload: 1 });
      const resumed = await schedules.resume({ name: 'paused' });
      expect(resumed).toMatchObject({ paused: false, payload: 1 });
      expect(resumed.nextAt?.getTime()).toBeGreaterThan(missed.getTime() + HOUR_MS);
      expect(await schedules.resume({ name: 'paused' })).toEqual(resumed);
      await schedules.set({ ...input, paused: true });
      await move(home(), 'paused', missed);
      const set = await schedules.set({ ...input, paused: false });
      expect(set.nextAt?.getTime()).toBeGreaterThan(missed.getTime() + HOUR_MS);
      for (const change of [schedules.pause, schedules.resume])
        await expect(change.call(schedules, { name: 'nobody' })).rejects.toMatchObject({
          code: 'SCHEDULE_NOT_FOUND',
        });
    });

    it('outbox: schedules: list comes in pages in the order of tenant and name; remove says whether there was one', async () => {
      const dag = noop(home());
      await using outbox = await home().starter([dag]);
      const { schedules } = outbox;
      const keys = ['b "x"', 'a', 'c', 'ä', ''].flatMap((tenant) =>
        ['2', '1'].map((name) => ({ tenant, name })),
      );
      for (const key of keys) await schedules.set({ ...key, dag: dag.name, cron: '@daily' });
      const listed: Schedule[] = [];
      let cursor: string | undefined;
      do {
        const page = await schedules.list({ dag: dag.name, limit: 3, cursor });
        expect(page.items.length).toBeLessThanOrEqual(3);
        listed.push(...page.items);
        cursor = page.cursor;
      } while (cursor !== undefined);
      const names = listed.map(({ tenant, name }) => `${tenant}/${name}`);
      expect(new Set(names).size).toBe(keys.length);
      expect(names.toSorted()).toEqual(keys.map(({ tenant, name }) => `${tenant}/${name}`).toSorted());
      expect((await schedules.list({ dag: dag.name, tenant: 'a' })).items.map(({ name }) => name)).toEqual([
        '1',
        '2',
      ]);
      expect((await schedules.list({ dag: dag.name, cursor: 'none of ours' })).items).toHaveLength(
        keys.length,
      );
      expect(await schedules.remove({ tenant: 'a', name: '1' })).toBe(true);
      expect(await schedules.remove({ tenant: 'a', name: '1' })).toBe(false);
    });

    it('outbox: schedules: what cannot be used is refused, and nothing is stored', async () => {
      const dag = noop(home());
      await using outbox = await home().starter([dag]);
      const good: ScheduleInput = { name: 'refused', dag: dag.name, cron: '* * * * *' };
      const refused = async (wrong: object, code: string, why: string) => {
        const attempt = outbox.schedules.set({ ...good, ...wrong });
        await expect(attempt, why).rejects.toMatchObject({ code, message: expect.stringContaining(why) });
      };
      await refused({ cron: '61 * * * *' }, 'SCHEDULE_INVALID', 'cron is no expression');
      await refused({ cron: '0 0 30 2 *' }, 'SCHEDULE_INVALID', 'never comes');
      await refused({ cron: '0 0 0 1 1 * 2020' }, 'SCHEDULE_INVALID', 'never comes');
      await refused({ timeZone: 'Europe/Atlantis' }, 'SCHEDULE_INVALID', 'timeZone');
      await refused({ name: '' }, 'SCHEDULE_INVALID', 'name');
      await refused({ name: 'a\u0000b' }, 'SCHEDULE_INVALID', 'control characters');
      for (const name of ['.', '..']) await refused({ name }, 'SCHEDULE_INVALID', "not '.' or '..'");
      await refused({ name: 'x'.repeat(201) }, 'SCHEDULE_INVALID', '200 characters');
      await refused({ catchUp: 'some' }, 'SCHEDULE_INVALID', 'catchUp');
      await refused({ paused: 'yes' }, 'SCHEDULE_INVALID', 'paused');
      await refused({ dag: 'nobody-has-it' }, 'DAG_NOT_FOUND', 'nobody-has-it');
      await refused({ tenant: 5 }, 'ID_INVALID', 'tenant');
      await refused({ tenant: '€'.repeat(500), name: '€'.repeat(200) }, 'ID_INVALID', 'bytes');
      await refused({ payload: 'x'.repeat(300_000) }, 'BATCH_TOO_LARGE', 'payloadBytesMax');
      await refused({ payload: 'a\ud800' }, 'PARAMETER_INVALID', 'toJson');
      expect((await outbox.schedules.list({ dag: dag.name })).items).toEqual([]);
      expect(ERRORS.specs.SCHEDULE_INVALID.status).toBe(422);
    });

    it('outbox: schedules: many that set the same new schedule at once make one', async () => {
      const dag = noop(home());
      await using outbox = await home().starter([dag]);
      const inputs = Array.from({ length: 8 }, (_, payload) => ({
        name: 'same',
        dag: dag.name,
        cron: '@yearly',
        payload,
      }));
      const set = await Promise.all(inputs.map((input) => outbox.schedules.set(input)));
      expect(new Set(set.map(({ nextAt }) => nextAt?.getTime())).size).toBe(1);
      const { items } = await outbox.schedules.list({ dag: dag.name });
      expect(items).toHaveLength(1);
    });

    it('outbox: schedules: an instance that polls starts the batch of a period, with payload, tenant and key', async () => {
      const dag = defineDag(home().name(), {
        a: task({ run: ({ payload, batch }) => ({ payload, batch }) }),
      });
      await using outbox = await home().outbox([dag]);
      const started: unknown[] = [];
      outbox.events.on('started', (event) => void started.push(event));
      const input = {
        name: 'works',
        tenant: 'ACME',
        dag: dag.name,
        cron: '0 3 * * *',
        payload: { deep: { n: 1 } },
      };
      await outbox.schedules.set(input);
      const period = new Date(Date.UTC(2026, 5, 1, 3));
      await home().rows(
        `UPDATE {schema}.outbox_schedule SET cron = '0 3 1 6 *', next_at = $1, look_at = $1 WHERE name = 'works'`,
        [period],
      );
      const id = await lastBatch(outbox, input);
      const batch = await home().ended(outbox, id);
      expect(batch).toMatchObject({ status: 'DONE', tenant: 'ACME', schedule: 'works', runNo: 1 });
      expect(batch.bizKey).toMatch(/^works@\d{4}-06-01T03:00:00\.000Z$/);
      expect(started).toEqual([{ id, tenant: 'ACME', dag: dag.name, bizKey: batch.bizKey }]);
      const ran = await outbox.batches.task(id, 'a');
      expect(ran.result).toMatchObject({ payload: { deep: { n: 1 } }, batch: { bizKey: batch.bizKey } });
    });
  });
}

/** Says that a period of a schedule has passed, without waiting for it. */
async function move(home: Home, name: string, nextAt: Date): Promise<void> {
  await home.rows('UPDATE {schema}.outbox_schedule SET next_at = $2, look_at = $2 WHERE name = $1', [
    name,
    nextAt,
  ]);
}

async function lastBatch(outbox: Outbox, key: { name: string; tenant: string }): Promise<string> {
  return until(async () => (await outbox.schedules.get(key)).lastBatchId ?? false, {
    what: 'a batch of the schedule',
    deadlineMs: 15_000,
  });
}
