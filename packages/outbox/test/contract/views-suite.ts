import { NonRetryableError } from '@millrace/foundation';
import { latch } from '@millrace/testkit';
import { describe, expect, it, vi } from 'vitest';
import { type Outbox, type Page, type StartedBatch, type TaskCounts, task } from '../../src/index.js';
import { type ContractSuite, DEADLINE_MS, statusesOf } from './home.js';

const idle = () => {};
const bad = () => {
  throw new NonRetryableError('as the test wants');
};

const HOSTILE_CURSORS = [
  '',
  'abc',
  '-1',
  '0',
  '9'.repeat(30),
  '1; DROP TABLE x',
  '\0',
  '\ud800',
  '1e9',
  'null',
];

/** All items, page by page. */
async function allOf<T extends { readonly id: string }>(
  limit: number,
  read: (cursor: string | undefined) => Promise<Page<T>>,
): Promise<T[]> {
  const items: T[] = [];
  for (let cursor: string | undefined, pages = 0; ; pages++) {
    const page = await read(cursor);
    expect(page.items.length).toBeLessThanOrEqual(limit);
    items.push(...page.items);
    if (page.cursor === undefined || pages > 100) return items;
    cursor = page.cursor;
  }
}

const idsOf = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id);

/** What people see. Nothing here changes anything. */
export const viewsSuite: ContractSuite = (home) => {
  /** One batch in every state, and tasks in every state. Stopped before the running handler ends: it stays as it is. */
  async function everyState(
    check: (outbox: Outbox, batches: Record<string, StartedBatch>, dag: string) => Promise<void>,
  ) {
    const isRunning = latch('the slow task runs');
    const mayEnd = latch('the slow task may end');
    const dag = home().dag({
      root: task<string>({
        run: ({ payload }) => {
          if (payload === 'FAILED') bad();
        },
      }),
      slow: task<string>({
        mode: 'external',
        after: ['root'],
        run: async ({ payload }) => {
          if (payload !== 'RUNNING') return;
          isRunning.open();
          await mayEnd.promise;
        },
      }),
      later: task<string>({
        after: ['root'],
        backoffMs: 60_000,
        run: ({ payload }) => {
          if (payload === 'RUNNING') throw new Error('later');
        },
      }),
      lost: task({ after: ['root'], onFailure: 'skip', run: bad }),
      skipped: task({ after: ['lost'], run: idle }),
      last: task({ after: ['slow', 'later'], run: idle }),
    });
    await using outbox = await home().outbox([dag]);
    const batches: Record<string, StartedBatch> = {};
    for (const end of ['DONE', 'FAILED', 'ABORTED', 'RUNNING']) {
      const tenant = `${end === 'DONE' ? 'one' : 'two'} of ${dag.name}`;
      batches[end] = await outbox.pusher.start(dag.name, `of ${end}`, end, { tenant });
      if (end === 'ABORTED') await outbox.batches.abort(batches[end].id);
      else if (end !== 'RUNNING') await home().ended(outbox, batches[end].id);
    }
    const id = batches.RUNNING?.id ?? '';
    await isRunning.wait(DEADLINE_MS);
    await home().taskIs(outbox, id, 'later', ({ error }) => error !== undefined);
    await home().taskIs(outbox, id, 'skipped', ({ status }) => status === 'SKIPPED');
    try {
      await check(outbox, batches, dag.name);
    } finally {
      mayEnd.open();
      await outbox.batches.abort(id);
    }
  }

  it('outbox OB-9: status shows the batch, its tasks and how many are in which state', async () => {
    await everyState(async (outbox, { RUNNING, FAILED }) => {
      const running = await outbox.batches.status(RUNNING?.id ?? '');
      expect(running.batch).toMatchObject({ id: RUNNING?.id, status: 'RUNNING', taskCount: 6 });
      expect(running.counts).toEqual({
        waiting: 1,
        ready: 1,
        processing: 1,
        done: 1,
        failed: 1,
        skipped: 1,
        cancelled: 0,
      });
      const tasks = Object.fromEntries(running.tasks.map((each) => [each.key, each]));
      expect(statusesOf(tasks)).toEqual({
        root: 'DONE',
        slow: 'PROCESSING',
        later: 'READY',
        lost: 'FAILED',
        skipped: 'SKIPPED',
        last: 'READY',
      });
      expect(tasks.last).toMatchObject({ waiting: true, attempts: 0, startedAt: undefined });
      expect(tasks.later).toMatchObject({ waiting: false, attempts: 1, workerId: undefined });
      expect(tasks.slow).toMatchObject({
        mode: 'external',
        workerId: expect.stringContaining(outbox.options.instance),
        leaseUntil: expect.any(Date),
        startedAt: expect.any(Date),
        endedAt: undefined,
      });
      expect(await outbox.batches.task(RUNNING?.id ?? '', 'slow')).toEqual(tasks.slow);
      const failed = await outbox.batches.status(FAILED?.id ?? '');
      expect(failed.counts).toMatchObject({ failed: 1, cancelled: 5, waiting: 0, ready: 0, processing: 0 });
    });
  });

  it('outbox OB-9: the backlog by state is what a count over the tables gives, for all and for one tenant', async () => {
    await everyState(async (outbox, _, dag) => {
      const expected = async (tenant: string | null): Promise<Record<string, number>> => {
        const rows = await home().rows<{ state: string; n: number }>(
          `SELECT CASE WHEN e.status = 'READY' AND e.pre_cnt > 0 THEN 'waiting' ELSE lower(e.status::text) END AS state,
             count(*)::integer AS n
           FROM {schema}.outbox_evt e JOIN {schema}.batch_instance b ON b.id = e.batch_id
           WHERE (b.status = 'RUNNING' OR e.status = 'FAILED') AND ($1::text IS NULL OR b.tenant = $1)
           GROUP BY 1`,
          [tenant],
        );
        return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
      };
      const none: TaskCounts = {
        waiting: 0,
        ready: 0,
        processing: 0,
        done: 0,
        failed: 0,
        skipped: 0,
        cancelled: 0,
      };
      for (const tenant of [undefined, `two of ${dag}`, `one of ${dag}`, 'nobody', '']) {
        const { oldestReadyAgeMs, ...counts } = await outbox.batches.backlog({ tenant });
        expect(counts, tenant).toEqual({ ...none, ...(await expected(tenant ?? null)) });
        // `later` waits for its back-off: it is ready, but cannot run.
        if (tenant?.startsWith('two')) {
          expect(counts).toMatchObject({ waiting: 1, ready: 1, processing: 1, done: 1, skipped: 1 });
          expect(oldestReadyAgeMs).toBeUndefined();
        }
        if (tenant === 'nobody') expect(counts).toEqual(none);
      }
    });
  });

  it('outbox OB-9: the age of the oldest task that can run grows', async () => {
    const dag = home().dag({ a: task({ run: idle }), b: task({ run: idle, after: ['a'] }) });
    await using outbox = await home().starter([dag]);
    const tenant = dag.name;
    expect((await outbox.batches.backlog({ tenant })).oldestReadyAgeMs).toBeUndefined();
    const { id } = await outbox.pusher.start(dag.name, 'k', {}, { tenant });
    const first = await outbox.batches.backlog({ tenant });
    await home().rows(
      `UPDATE {schema}.outbox_evt SET visible_at = visible_at - interval '1 hour' WHERE batch_id = $1 AND task_key = 'a'`,
      [id],
    );
    const second = await outbox.batches.backlog({ tenant });
    expect(first.oldestReadyAgeMs).toBeGreaterThanOrEqual(0);
    expect(second.oldestReadyAgeMs).toBeGreaterThanOrEqual((first.oldestReadyAgeMs ?? 0) + 3_600_000);
    expect(second).toMatchObject({ waiting: 1, ready: 1 });
    await outbox.batches.abort(id);
  });

  it('outbox OB-9: batches are listed newest first by every filter, dead letters by handler and tenant', async () => {
    await everyState(async (outbox, started, dag) => {
      const { DONE, FAILED, ABORTED, RUNNING } = started;
      const list = async (filter: Parameters<Outbox['batches']['list']>[0]) =>
        idsOf((await outbox.batches.list(filter)).items);
      const all = [RUNNING?.id, ABORTED?.id, FAILED?.id, DONE?.id];
      expect(await list({ dag })).toEqual(all);
      for (const [status, each] of Object.entries(started))
        expect(await list({ dag, status: status as 'DONE' })).toEqual([each.id]);
      expect(await list({ dag, tenant: `one of ${dag}` })).toEqual([DONE?.id]);
      expect(await list({ dag, tenant: `two of ${dag}` })).toEqual(all.slice(0, 3));
      expect(await list({ dag, tenant: `two of ${dag}`, status: 'DONE' })).toEqual([]);
      expect(await list({ dag, bizKey: 'of FAILED' })).toEqual([FAILED?.id]);
      expect(await list({ dag, bizKey: "of FAILED' OR true --" })).toEqual([]);
      expect(await list({ dag: `${dag}x` })).toEqual([]);
      expect((await list({ limit: 1_000 })).slice(0, 4)).toEqual(all);
      const letters = (filter: Parameters<Outbox['batches']['deadLetters']>[0]) =>
        outbox.batches
          .deadLetters(filter)
          .then(({ items }) => items.map(({ batchId, key }) => [batchId, key]));
      expect(await letters({ handler: `${dag}.root` })).toEqual([[FAILED?.id, 'root']]);
      expect(await letters({ handler: `${dag}.lost` })).toEqual([
        [RUNNING?.id, 'lost'],
        [DONE?.id, 'lost'],
      ]);
      expect(await letters({ handler: `${dag}.lost`, tenant: `one of ${dag}` })).toEqual([
        [DONE?.id, 'lost'],
      ]);
      expect(await letters({ handler: `${dag}.last` })).toEqual([]);
    });
  });

  describe('pages', () => {
    it('outbox OB-9: give every item once, whatever their size', async () => {
      const dag = home().dag(
        Object.fromEntries(
          Array.from({ length: 7 }, (_, n) => [`t${n}`, task({ onFailure: 'skip', run: bad })]),
        ),
      );
      await using outbox = await home().outbox([dag]);
      const { batches } = outbox;
      const started: string[] = [];
      for (let n = 0; n < 5; n++) started.unshift((await outbox.pusher.start(dag.name, `k${n}`)).id);
      for (const id of started) await home().ended(outbox, id);
      const [newest = ''] = started;
      for (const limit of [1, 2, 5, 6, 7, 50]) {
        expect(idsOf(await allOf(limit, (cursor) => batches.list({ dag: dag.name, limit, cursor })))).toEqual(
          started,
        );
        const tasks = await allOf(limit, (cursor) => batches.tasks(newest, { limit, cursor }));
        expect(tasks.map(({ key }) => key)).toEqual(dag.tasks.map(([key]) => key));
        expect(
          await allOf(limit, (cursor) => batches.tasks(newest, { limit, cursor, status: 'FAILED' })),
        ).toEqual(tasks);
        expect(
          await allOf(limit, (cursor) => batches.tasks(newest, { limit, cursor, status: 'DONE' })),
        ).toEqual([]);
        const handler = `${dag.name}.t3`;
        const letters = await allOf(limit, (cursor) => batches.deadLetters({ handler, limit, cursor }));
        expect(letters.map(({ batchId }) => batchId)).toEqual(started);
      }
    });

    it('outbox OB-9: of tasks end early when results are large, and the cursor goes on', async () => {
      const keys = Array.from({ length: 9 }, (_, n) => `t${n}`);
      const dag = home().dag(Object.fromEntries(keys.map((key) => [key, task({ run: idle })])));
      await using outbox = await home().starter([dag]);
      const { id } = await outbox.pusher.start(dag.name, 'k');
      // Of one letter: what is stored is a hundredth of what is sent.
      const give = (key: string, letters: number) =>
        home().rows(
          `UPDATE {schema}.outbox_evt SET result = to_jsonb(repeat('x', $3)) WHERE batch_id = $1 AND task_key = $2`,
          [id, key, letters],
        );
      const MIB = 1024 ** 2;
      const pages = async (limit: number) => {
        const found: string[][] = [];
        for (let cursor: string | undefined; ; ) {
          const page = await outbox.batches.tasks(id, { limit, cursor });
          found.push(page.items.map(({ key, result }) => `${key}:${String(result ?? '').length}`));
          if (page.cursor === undefined || found.length > keys.length) return found;
          cursor = page.cursor;
        }
      };
      // With its quotes the second fills the page to the last byte.
      await give('t1', 2 * MIB - 2);
      await give('t2', 2 * MIB - 2);
      await give('t4', 1);
      await give('t5', 5 * MIB);
      expect(await pages(50)).toEqual([
        ['t0:0', `t1:${2 * MIB - 2}`, `t2:${2 * MIB - 2}`, 't3:0'],
        ['t4:1'],
        [`t5:${5 * MIB}`],
        ['t6:0', 't7:0', 't8:0'],
      ]);
      expect((await pages(2)).map((page) => page.length)).toEqual([2, 2, 1, 1, 2, 1]);
      await outbox.batches.abort(id);
    });

    it('outbox OB-9: of batches come without payloads from the database, the tasks of a status without results', async () => {
      const dag = home().dag({ a: task({ run: idle }), b: task({ run: idle }) });
      await using outbox = await home().starter([dag]);
      const { id } = await outbox.pusher.start(dag.name, 'k', 'p'.repeat(10_000));
      await home().rows(
        `UPDATE {schema}.outbox_evt SET result = to_jsonb(repeat('r', 10000)) WHERE batch_id = $1`,
        [id],
      );
      const queries = vi.spyOn(home().database, 'query');
      const lettersRead = async (letter: string): Promise<number> => {
        const answers = await Promise.all(queries.mock.settledResults.map(({ value }) => value));
        return JSON.stringify(answers).split(letter.repeat(10_000)).length - 1;
      };
      try {
        const { items } = await outbox.batches.list({ dag: dag.name });
        expect(idsOf(items)).toEqual([id]);
        expect(items[0]).not.toHaveProperty('payload');
        expect(await lettersRead('p')).toBe(0);
        const { tasks } = await outbox.batches.status(id);
        expect(tasks.map(({ key }) => key)).toEqual(['a', 'b']);
        expect(tasks[0]).not.toHaveProperty('result');
        expect(await lettersRead('r')).toBe(0);
        await outbox.batches.tasks(id);
        expect(await lettersRead('r')).toBe(2);
      } finally {
        queries.mockRestore();
      }
      await outbox.batches.abort(id);
    });

    it('outbox OB-9: begin at the start with a cursor or a size that is none', async () => {
      const dag = home().dag({ a: task({ onFailure: 'skip', run: bad }), b: task({ run: idle }) });
      await using outbox = await home().outbox([dag]);
      const { batches } = outbox;
      const { id } = await outbox.pusher.start(dag.name, 'k');
      await home().ended(outbox, id);
      const handler = `${dag.name}.a`;
      for (const cursor of HOSTILE_CURSORS) {
        expect(idsOf((await batches.list({ dag: dag.name, cursor })).items), cursor).toEqual([id]);
        expect((await batches.tasks(id, { cursor })).items, cursor).toHaveLength(2);
        expect((await batches.deadLetters({ handler, cursor })).items, cursor).toHaveLength(1);
      }
      for (const [limit, size] of [
        [0, 1],
        [-5, 1],
        [Number.NaN, 1],
        [1.9, 1],
        [Number.POSITIVE_INFINITY, 2],
        [1e12, 2],
      ] as const)
        expect((await batches.tasks(id, { limit })).items, String(limit)).toHaveLength(size);
    });
  });
};
