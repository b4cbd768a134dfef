import { type Database, quoteIdentifier } from '@millrace/postgres';
import { latch, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineDag, type TaskDefinition, task } from '../../src/define-dag.js';
import { PostgresDagStore } from '../../src/postgres/dag-store.js';
import { Statements } from '../../src/postgres/statements.js';
import { validateDag } from '../../src/rules/validate-dag.js';
import { type OutboxDatabase, openOutboxDatabase, places, postgresPlace } from '../open-outbox.js';

const run = () => {};
const dagOf = (name: string, tasks: Parameters<typeof defineDag>[1]) =>
  validateDag(defineDag(name, tasks), 200_000);
const storeOn = (database: Database, schema: string) =>
  new PostgresDagStore(database, new Statements(schema));

describe.each(places)('outbox OB-4: versions of DAGs on $kind', (place) => {
  let opened: OutboxDatabase;
  let store: PostgresDagStore;
  beforeAll(async () => {
    opened = await openOutboxDatabase(place);
    store = storeOn(opened.database, opened.schema);
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());

  const rowsOf = async (table: string, order: string, version?: number) => {
    const from = `${quoteIdentifier(opened.schema)}.${table}`;
    const where = version === undefined ? '' : `WHERE version = ${version}`;
    return (await opened.database.query(`SELECT * FROM ${from} ${where} ORDER BY ${order}`)).rows;
  };

  it('outbox OB-4: everything a batch begins with is stored', async () => {
    const version = await store.save(
      dagOf('invoice', {
        end: task({
          run,
          after: ['b', 'a.1', 'c'],
          join: { atLeast: 2 },
          onFailure: 'continue',
          timeoutMs: 7,
        }),
        b: task({ run, after: ['a.1'], join: 'any', onFailure: 'skip', retry: { retries: 0 } }),
        c: task({ run, after: ['a.1', 'b'], join: 'all-done', when: () => true }),
        'a.1': task({ run, mode: 'external', backoffMs: 50, retry: { retries: 9 } }),
      }),
    );
    expect(await rowsOf('dag', 'version', version)).toMatchObject([
      { name: 'invoice', version, task_cnt: 4 },
    ]);
    const usual = {
      version,
      mode: 'transactional',
      on_failure: 'fail',
      conditional: false,
      max_attempts: 5,
      timeout_ms: 30_000,
      backoff_ms: 1_000,
    };
    expect(await rowsOf('task_def', 'position', version)).toEqual([
      {
        ...usual,
        ...{ task_key: 'a.1', position: 1, handler: 'invoice.a.1', join: 'all', need_cnt: 0, parent_cnt: 0 },
        ...{ mode: 'external', max_attempts: 10, backoff_ms: 50 },
      },
      {
        ...usual,
        ...{ task_key: 'b', position: 2, handler: 'invoice.b', join: 'any', need_cnt: 1, parent_cnt: 1 },
        ...{ on_failure: 'skip', max_attempts: 1 },
      },
      {
        ...usual,
        ...{ task_key: 'c', position: 3, handler: 'invoice.c', join: 'all-done', need_cnt: 2, parent_cnt: 2 },
        conditional: true,
      },
      {
        ...usual,
        ...{
          task_key: 'end',
          position: 4,
          handler: 'invoice.end',
          join: 'at-least',
          need_cnt: 2,
          parent_cnt: 3,
        },
        ...{ on_failure: 'continue', timeout_ms: 7 },
      },
    ]);
    const edge = (from_key: string, to_key: string, any_end = false) => {
      return { version, from_key, to_key, wide: false, any_end };
    };
    expect(await rowsOf('task_dep', 'to_key, from_key', version)).toEqual([
      edge('a.1', 'b'),
      edge('a.1', 'c', true),
      edge('b', 'c', true),
      edge('a.1', 'end'),
      edge('b', 'end'),
      edge('c', 'end'),
    ]);
  });

  it('outbox OB-4: the same definition keeps its version, a changed one gets a new one, and going back gives the old one', async () => {
    const first = dagOf('orders', { a: task({ run }), b: task({ run, after: ['a'] }) });
    const rewritten = dagOf('orders', { b: task({ run: () => 'new code', after: ['a'] }), a: task({ run }) });
    const changed = dagOf('orders', { a: task({ run }), b: task({ run, after: ['a'], timeoutMs: 60_000 }) });

    const version = await store.save(first);
    const rows = [await rowsOf('task_def', 'position', version), await rowsOf('task_dep', 'to_key', version)];
    expect(await store.save(rewritten)).toBe(version);
    const newVersion = await store.save(changed);
    expect(newVersion).toBeGreaterThan(version);
    expect([
      await rowsOf('task_def', 'position', version),
      await rowsOf('task_dep', 'to_key', version),
    ]).toEqual(rows);

    const latest = async () => {
      const orders = (await rowsOf('dag', 'registered_at')).filter(({ name }) => name === 'orders');
      expect(orders).toHaveLength(2);
      return orders.at(-1)?.version;
    };
    expect(await latest()).toBe(newVersion);
    expect(await store.save(first)).toBe(version);
    expect(await latest()).toBe(version);
  });

  it('outbox OB-4: no two DAGs share a version', async () => {
    const tasks = { a: task({ run }) };
    const versions = [await store.save(dagOf('left', tasks)), await store.save(dagOf('right', tasks))];
    expect(new Set(versions).size).toBe(2);
  });

  it('outbox OB-11: a join of 64 is counted directly, a wider one by ticks', async () => {
    const fan = (size: number) => {
      const keys = Array.from({ length: size }, (_, i) => `t${i}`);
      const leaves = keys.map((key): [string, TaskDefinition] => [key, task({ run })]);
      return dagOf(`fan-${size}`, [...leaves, ['end', task({ run, after: keys })]]);
    };
    for (const [size, wide] of [
      [64, false],
      [65, true],
    ] as const) {
      const edges = await rowsOf('task_dep', 'from_key', await store.save(fan(size)));
      expect(edges).toHaveLength(size);
      expect(edges.every((each) => each.wide === wide)).toBe(true);
    }
  });

  it('outbox OB-11: 20,000 tasks are one statement', async () => {
    const pairs = Array.from({ length: 20_000 }, (_, i) => {
      return [`task-${i}`, task({ run, after: i === 0 ? [] : [`task-${i - 1}`] })] as const;
    });
    const chain = dagOf('chain', pairs);
    const version = await store.save(chain);
    expect(await store.save(chain)).toBe(version);
    const schema = quoteIdentifier(opened.schema);
    const { rows } = await opened.database.query(
      `SELECT (SELECT count(*)::int FROM ${schema}.task_def WHERE version = $1) AS tasks,
              (SELECT count(*)::int FROM ${schema}.task_dep WHERE version = $1) AS edges`,
      [version],
    );
    expect(rows).toEqual([{ tasks: 20_000, edges: 19_999 }]);
  });

  it('outbox OB-4: names that look like SQL are names', async () => {
    const name = `'; DROP TABLE dag; -- $1 {schema} "`;
    const key = `{a,NULL} \\ "quoted" 'too' $2`;
    const version = await store.save(
      dagOf(name, { [key]: task({ run }), NULL: task({ run, after: [key] }) }),
    );
    expect(await rowsOf('task_def', 'position', version)).toMatchObject([
      { task_key: key, handler: `${name}.${key}` },
      { task_key: 'NULL' },
    ]);
    expect(await rowsOf('task_dep', 'to_key', version)).toMatchObject([{ from_key: key, to_key: 'NULL' }]);
  });
});

describe('outbox OB-4: instances that save at once', () => {
  const tasks = { a: task({ run }), b: task({ run, after: ['a'] }) };

  it('outbox OB-4: all get the same version, which is stored once', async () => {
    await using opened = await openOutboxDatabase(postgresPlace);
    const stores = [0, 1, 2, 3].map(() => storeOn(opened.openAnother({ poolSize: 1 }), opened.schema));
    for (const name of ['one', 'two', 'three', 'four', 'five']) {
      const versions = await Promise.all(stores.map((store) => store.save(dagOf(name, tasks))));
      expect(new Set(versions).size).toBe(1);
    }
    const schema = quoteIdentifier(opened.schema);
    const { rows } = await opened.database.query(
      `SELECT (SELECT count(*)::int FROM ${schema}.dag) AS dags, (SELECT count(*)::int FROM ${schema}.task_def) AS tasks,
              (SELECT count(*)::int FROM ${schema}.task_dep) AS edges`,
    );
    expect(rows).toEqual([{ dags: 5, tasks: 10, edges: 5 }]);
  });

  it('outbox OB-4: the second waits for the first, and stores it itself when the first rolls back', async () => {
    await using opened = await openOutboxDatabase(postgresPlace);
    const { database, schema } = opened;
    const stored = dagOf('orders', tasks);
    for (const way of ['roll back', 'commit'] as const) {
      const first = heldBack(database);
      const saving = storeOn(first.database, schema)
        .save(stored)
        .catch(() => 'rolled back');
      await first.written.wait(10_000);
      const second = storeOn(opened.openAnother({ poolSize: 1 }), schema).save(stored);
      await waitingForLock(database);
      first.end.open(way);
      const versions = [await saving, await second];
      expect(versions[1]).toEqual(expect.any(Number));
      expect(versions[0]).toBe(way === 'commit' ? versions[1] : 'rolled back');
      await database.query(`DELETE FROM ${quoteIdentifier(schema)}.dag`);
    }
  });
});

/** The same database, whose transactions stay open after their function until `end` says how they go on. */
function heldBack(database: Database) {
  const written = latch('the first instance has written');
  const end = latch<'commit' | 'roll back'>('the first instance may go on');
  const transaction: Database['transaction'] = (fn, options) =>
    database.transaction(async (tx) => {
      const value = await fn(tx);
      written.open();
      if ((await end.promise) === 'roll back') throw new Error('rolled back by the test');
      return value;
    }, options);
  return { database: { transaction } as Database, written, end };
}

async function waitingForLock(database: Database): Promise<void> {
  const waiting = async () => {
    const { rows } = await database.query<{ waiting: number }>(
      `SELECT count(*)::int AS waiting FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows[0]?.waiting === 1;
  };
  await until(waiting, { what: 'the second instance to wait for the first', deadlineMs: 10_000 });
}
