import { type Loop, NonRetryableError } from '@millrace/foundation';
import type { Database } from '@millrace/postgres';
import { latch, ManualClock } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineDag, ERRORS, type Outbox, resolveOutboxOptions, task } from '../../src/index.js';
import { Statements } from '../../src/postgres/statements.js';
import { PostgresUpkeepStore } from '../../src/postgres/upkeep-store.js';
import { prunerOf } from '../../src/pruner.js';
import { eventually, type OpenWorld, openWorld } from '../failure/world.js';

const HOUR_MS = 3_600_000;
const RETENTION_MS = 24 * HOUR_MS;

let world: OpenWorld;
let outbox: Outbox;
let databases: Database[];
const failedOnce = new Set<string>();
const mayEnd = latch('the slow tasks may end');

const failOnce = ({ batch }: { batch: { id: string } }) => {
  if (failedOnce.has(batch.id)) return 'this time';
  failedOnce.add(batch.id);
  throw new NonRetryableError('not the first time');
};
const DAGS = [
  defineDag('good', { a: task({ run: () => 1 }), b: task({ after: ['a'], run: () => 2 }) }),
  defineDag('bad', { a: task({ run: failOnce }), b: task({ after: ['a'], run: () => 2 }) }),
  defineDag('slow', { a: task({ mode: 'external', run: () => mayEnd.promise }) }),
  defineDag('adds', {
    a: task({ run: ({ addTasks }) => addTasks([{ key: 'new', handler: 'adds.b', before: 'b' }]) }),
    b: task({ after: ['a'], run: () => 2 }),
  }),
];

beforeAll(async () => {
  world = await openWorld({ retried: true });
  outbox = await world.startOutbox({ dags: DAGS, retentionMs: 0 });
  databases = [1, 2, 3, 4].map(() => world.open({ poolSize: 2 }));
}, 60_000);
afterAll(async () => {
  mayEnd.open();
  await world?.settle();
  await world?.end();
});

/** Rows of a statement; `{schema}` stands for the schema. */
const rows = async <R extends object>(sql: string, params: readonly (string | readonly string[])[] = []) =>
  (await world.database.query<R>(sql.replaceAll('{schema}', `"${world.schema}"`), params)).rows;

/** A pruner as another instance has it. */
const pruner = (database: Database, retentionMs = RETENTION_MS): Loop => {
  const options = resolveOutboxOptions({ database, schema: world.schema, retentionMs, poll: false });
  return prunerOf(new PostgresUpkeepStore(database, new Statements(world.schema)), options);
};

/** Four of them at once, until nothing is left that can go. */
async function pruneAll(isDone: () => Promise<boolean>): Promise<void> {
  const pruners = databases.map((database) => pruner(database));
  for (const one of pruners) one.start();
  await eventually('the old batches to go', isDone);
  await Promise.all(pruners.map((one) => one.stop()));
}

/** Says that a batch has ended that long ago. */
const age = (id: string, hours: number) =>
  rows(
    "UPDATE {schema}.batch_instance SET ended_at = clock_timestamp() - $2::float8 * interval '1 hour' WHERE id = $1::bigint",
    [id, String(hours)],
  );

const count = async (sql: string, params: readonly (string | readonly string[])[] = []): Promise<number> =>
  (await rows<{ n: number }>(`SELECT count(*)::integer AS n FROM ${sql}`, params))[0]?.n ?? -1;

/** Rows of any table that belong to no batch or task. */
const orphans = () =>
  count(`(
    SELECT batch_id FROM {schema}.outbox_evt UNION ALL SELECT batch_id FROM {schema}.outbox_dep
    UNION ALL SELECT batch_id FROM {schema}.outbox_tick
    UNION ALL SELECT -1 FROM {schema}.outbox_ready r WHERE NOT EXISTS (SELECT FROM {schema}.outbox_evt e WHERE e.id = r.id)
    UNION ALL SELECT -1 FROM {schema}.outbox_dead_letter l WHERE NOT EXISTS (SELECT FROM {schema}.outbox_evt e WHERE e.id = l.id)
  ) AS t (batch_id) WHERE NOT EXISTS (SELECT FROM {schema}.batch_instance b WHERE b.id = t.batch_id)`);

const stillThere = (ids: readonly string[]) =>
  count('{schema}.batch_instance WHERE id = ANY ($1::bigint[])', [ids]);

async function startMany(dag: string, keys: number, prefix: string): Promise<string[]> {
  const started = Array.from({ length: keys }, (_, n) => outbox.pusher.start(dag, `${prefix}-${n}`));
  return (await Promise.all(started)).map(({ id }) => id);
}

const ended = (ids: readonly string[]) =>
  eventually('the batches to end', async () => {
    const open = "{schema}.batch_instance WHERE id = ANY ($1::bigint[]) AND status = 'RUNNING'";
    return (await count(open, [ids])) === 0;
  });

describe('outbox: pruning', () => {
  it('outbox: retention: 4 pruners delete exactly what ended longer ago, with all that belongs to it', async () => {
    const finished = [
      ...(await startMany('good', 6, 'prune')),
      ...(await startMany('bad', 6, 'prune')),
      ...(await startMany('adds', 6, 'prune')),
    ];
    await ended(finished);
    const running = await startMany('slow', 6, 'prune');
    // More than run at once, so that some are aborted before they were claimed and leave their entries behind.
    const aborted = await startMany('slow', 6, 'abort');
    for (const id of aborted) await outbox.batches.abort(id);
    const [many] = await rows<{ ids: string[] }>(
      `WITH made AS (
         INSERT INTO {schema}.batch_instance (tenant, dag, dag_version, biz_key, payload, task_cnt, open_cnt, status, ended_at)
         SELECT '', 'good', (SELECT max(version) FROM {schema}.dag WHERE name = 'good'), 'many-' || n, '{}', 0, 0, 'DONE', clock_timestamp()
         FROM generate_series(1, 450) AS n RETURNING id
       ) SELECT array_agg(id::text) AS ids FROM made`,
    );
    const made = [...finished, ...aborted, ...(many?.ids ?? [])];
    expect(made).toHaveLength(474);
    const old = made.filter((_, n) => n % 3 !== 1);
    const young = made.filter((_, n) => n % 3 === 1);
    await rows(
      `UPDATE {schema}.batch_instance SET counts = coalesce(counts, '{"waiting":0,"ready":0,"processing":0,"done":0,"failed":0,"skipped":0,"cancelled":0}'),
         ended_at = clock_timestamp() - CASE WHEN id = ANY ($1::bigint[]) THEN interval '25 hours' ELSE interval '23 hours' END
       WHERE ended_at IS NOT NULL`,
      [old],
    );
    // Long enough ago, but not ended.
    await rows("UPDATE {schema}.batch_instance SET created_at = '2020-01-01' WHERE status = 'RUNNING'");
    const tasksOfYoung = () =>
      rows('SELECT * FROM {schema}.outbox_evt WHERE batch_id = ANY ($1::bigint[]) ORDER BY id', [young]);
    const before = await tasksOfYoung();
    expect(await count('{schema}.outbox_dead_letter')).toBe(6);

    await pruneAll(async () => (await stillThere(old)) === 0);
    expect(await stillThere(young)).toBe(young.length);
    expect(await stillThere(running)).toBe(running.length);
    expect(await tasksOfYoung()).toEqual(before);
    expect(await orphans()).toBe(0);
    expect(await count('{schema}.outbox_dead_letter')).toBe(2);
    await expect(outbox.batches.get(old[0] as string)).rejects.toSatisfy((error) =>
      ERRORS.is(error, 'BATCH_NOT_FOUND'),
    );
    // What is left of the inserted ones has no tasks.
    await rows("DELETE FROM {schema}.batch_instance WHERE biz_key LIKE 'many-%'");
    expect(await outbox.batches.retry(young.find((id) => aborted.includes(id)) as string)).toMatchObject({
      status: 'RUNNING',
    });
    mayEnd.open();
    await world.settle();
  }, 30_000);

  it('outbox: retention: a retry at the same moment runs again whole, or finds no batch', async () => {
    const ids = await startMany('bad', 24, 'retry');
    await ended(ids);
    await Promise.all(ids.map((id) => age(id, 25)));
    const pruners = databases.map((database) => pruner(database));
    const retries = ids.map(async (id, n) => {
      if (n === 12) for (const one of pruners) one.start();
      const outcome = await outbox.batches.retry(id).catch((error: unknown) => {
        if (!ERRORS.is(error, 'BATCH_NOT_FOUND')) throw error;
      });
      return outcome ? id : undefined;
    });
    const won = (await Promise.all(retries)).filter((id) => id !== undefined);
    const lost = ids.filter((id) => !won.includes(id));
    await eventually('the pruners', async () => (await stillThere(lost)) === 0);
    await ended(won);
    await Promise.all(pruners.map((one) => one.stop()));
    expect(await stillThere(won)).toBe(won.length);
    for (const id of won) {
      expect(await outbox.batches.get(id)).toMatchObject({ status: 'DONE' });
      expect((await outbox.batches.tasks(id)).items).toHaveLength(2);
    }
    expect(await orphans()).toBe(0);
  }, 30_000);

  it('outbox: retention: a batch that somebody has locked is passed over, not waited for', async () => {
    const ids = await startMany('good', 3, 'locked');
    await ended(ids);
    await Promise.all(ids.map((id) => age(id, 25)));
    const [locked = '', ...others] = ids;
    await world.database.transaction(async (tx) => {
      await tx.query(`SELECT FROM "${world.schema}".batch_instance WHERE id = $1::bigint FOR NO KEY UPDATE`, [
        locked,
      ]);
      await pruneAll(async () => (await stillThere(others)) === 0);
      expect(await stillThere([locked])).toBe(1);
    });
    await pruneAll(async () => (await stillThere([locked])) === 0);
  }, 30_000);

  it('outbox: retention: a retry that waits behind a pruner finds no batch', async () => {
    const [id = ''] = await startMany('bad', 1, 'behind');
    await ended([id]);
    await age(id, 25);
    const database = databases[0] as Database;
    const store = new PostgresUpkeepStore(database, new Statements(world.schema));
    let retry: Promise<unknown> | undefined;
    await database.transaction(async (tx) => {
      const locked = await store.lockEnded(tx, RETENTION_MS, 10);
      expect(locked).toEqual([{ id, taskCount: 2 }]);
      expect(await store.deleteBatches(tx, [id])).toEqual({ batches: 1, tasks: 2 });
      retry = outbox.batches.retry(id);
      retry.catch(() => {});
      await eventually('the retry to wait', async () => (await count('pg_locks WHERE NOT granted')) > 0);
    });
    await expect(retry).rejects.toMatchObject({ code: 'BATCH_NOT_FOUND' });
    expect(await orphans()).toBe(0);
  });

  it('outbox: retention: 0 keeps everything', async () => {
    const [id = ''] = await startMany('good', 1, 'for-ever');
    await ended([id]);
    await age(id, 1_000_000);
    const keeping = pruner(databases[0] as Database, 0);
    keeping.start();
    await keeping.stop();
    expect(await stillThere([id])).toBe(1);
    await age(id, 0);
  });
});

describe('outbox: versions of DAGs', () => {
  const define = (timeoutMs: number) => defineDag('versions', { a: task({ timeoutMs, run: () => 1 }) });
  const old = (versions: readonly number[]) =>
    rows(
      `UPDATE {schema}.dag SET registered_at = registered_at - interval '40 days', used_at = used_at - interval '40 days'
       WHERE version = ANY ($1::integer[])`,
      [versions.map(String)],
    );

  it('outbox: retention: an old version goes when no batch uses it, it is not the latest, and no instance has it', async () => {
    const versions: number[] = [];
    for (const timeoutMs of [1_001, 1_002, 1_003, 1_004, 1_005]) {
      const one = await world.startOutbox({ dags: [define(timeoutMs)], poll: false });
      versions.push(one.registry.versionOf('versions') as number);
      if (timeoutMs === 1_002) await one.pusher.start('versions', 'uses it');
      await one.stop();
    }
    const [unused = 0, used, kept, fresh, latest] = versions;
    await old([unused, used, kept, latest].map(Number));
    // An instance that has run for longer than the retention.
    const workers = new PostgresUpkeepStore(world.database, new Statements(world.schema));
    expect(await workers.keepDags([kept as number, 999_999])).toEqual([kept]);
    await rows("UPDATE {schema}.dag SET registered_at = '2020-01-01' WHERE version = $1::integer", [
      String(fresh),
    ]);
    await rows(
      "UPDATE {schema}.dag SET registered_at = now() - interval '30 days' WHERE version = $1::integer",
      [String(latest)],
    );
    await pruneAll(
      async () => (await count('{schema}.dag WHERE version = $1::integer', [String(unused)])) === 0,
    );
    const left = await rows<{ version: number }>(
      "SELECT version FROM {schema}.dag WHERE name = 'versions' ORDER BY version",
    );
    expect(left.map(({ version }) => version)).toEqual([used, kept, fresh, latest]);
    expect(await count('{schema}.task_def WHERE version = $1::integer', [String(unused)])).toBe(0);
    const batch = await outbox.batches.find({ dag: 'versions', bizKey: 'uses it' });
    await outbox.batches.abort(batch?.id as string);
  }, 30_000);

  it('outbox: retention: an instance whose version was forgotten while it slept stores it again', async () => {
    const clock = new ManualClock();
    const sleeping = await world.startOutbox({ dags: [define(1_100)], poll: false, clock });
    const before = sleeping.registry.versionOf('versions') as number;
    await rows('DELETE FROM {schema}.dag WHERE version = $1::integer', [String(before)]);
    await eventually('it to be stored again', async () => {
      await clock.advance(HOUR_MS);
      return (sleeping.registry.versionOf('versions') as number) > before;
    });
    expect(await sleeping.pusher.start('versions', 'after its sleep')).toMatchObject({ created: true });
    await outbox.batches.abort(
      (await outbox.batches.find({ dag: 'versions', bizKey: 'after its sleep' }))?.id as string,
    );
  });
});
