import { type Database, quoteIdentifier } from '@millrace/postgres';
import { describe, expect, it } from 'vitest';
import { defineDag, task } from '../src/define-dag.js';
import { ERRORS } from '../src/errors.js';
import { PostgresDagStore } from '../src/postgres/dag-store.js';
import { Statements } from '../src/postgres/statements.js';
import { DagRegistry, type DagVersions } from '../src/registry.js';
import { BAD_DAGS } from './bad-dags.js';
import { openOutboxDatabase, places } from './open-outbox.js';

const run = () => {};
const ORDERS = defineDag('orders', { a: task({ run }), b: task({ run, after: ['a'] }) });

/** Versions in memory, for what the registry does without a database. */
function countedVersions(): DagVersions & { readonly saved: string[] } {
  const saved: string[] = [];
  return { saved, save: async ({ name }) => saved.push(name) };
}

const reasonOf = async (act: () => unknown): Promise<unknown> => {
  try {
    await act();
  } catch (error) {
    return ERRORS.is(error, 'DAG_INVALID') ? error.details.reason : error;
  }
  return undefined;
};

describe('outbox: handlers of the registry', () => {
  it('are resolved with every default, and frozen', () => {
    const registry = new DagRegistry(countedVersions());
    const [when, backoff] = [() => true, () => 5];
    registry.add(
      defineDag('orders', {
        'a.1': task({ run }),
        b: task({
          ...{ run, when, after: ['a.1'], mode: 'external', onFailure: 'skip', timeoutMs: 9, backoffMs: 3 },
          retry: { retries: 2, backoff, jitter: 0 },
        }),
      }),
    );
    expect(registry.names).toEqual(['orders']);
    expect(registry.handler('orders.a.1')).toEqual({
      name: 'orders.a.1',
      dag: 'orders',
      key: 'a.1',
      mode: 'transactional',
      run,
      when: undefined,
      onFailure: 'fail',
      timeoutMs: 30_000,
      attemptsMax: 5,
      backoff: 'exponential',
      backoffMs: 1_000,
      jitter: 0.2,
    });
    expect(registry.handler('orders.b')).toMatchObject({
      ...{
        mode: 'external',
        when,
        onFailure: 'skip',
        timeoutMs: 9,
        attemptsMax: 3,
        backoff,
        backoffMs: 3,
        jitter: 0,
      },
    });
    expect(Object.isFrozen(registry.handler('orders.b'))).toBe(true);
    expect(registry.handler('orders.b')).toBe(registry.handler('orders.b'));
    for (const name of ['orders', 'orders.', 'orders.c', 'others.b', '.b', '']) {
      expect(registry.handler(name)).toBeUndefined();
    }
  });

  it('run the newest hundred applied versions as their own, and look under every applied name they have a handler for', async () => {
    const registry = new DagRegistry(countedVersions());
    await registry.register(ORDERS);
    const applied = (version: number, name: string, hasSome: boolean, hasAll = hasSome) => {
      return { version, name, taskCount: version, hasSome, hasAll };
    };
    registry.noteApplied([
      ...Array.from({ length: 101 }, (_, index) => applied(1_000 - index, 'many', true)),
      ...[applied(9, 'part', true, false), applied(8, 'foreign', false), applied(7, 'orders', true)],
    ]);
    expect(registry.names).toEqual(['orders', 'many', 'part']);
    expect([registry.versions, registry.runnableVersions.length]).toEqual([[1], 101]);
    expect([registry.runnableVersions[1], registry.runnableVersions.at(-1)]).toEqual([1_000, 901]);
    expect(['orders', 'many', 'foreign', 'x'].map((name) => registry.taskCountOf(name))).toEqual([
      7, 1_000, 8, 0,
    ]);
    registry.noteApplied([]);
    expect([registry.names, registry.runnableVersions]).toEqual([['orders'], [1]]);
  });

  it('can be bound by name, before and after the DAG is added', async () => {
    const registry = new DagRegistry(countedVersions());
    const dag = defineDag('mail', {
      collect: task({}),
      send: task({ mode: 'external', after: ['collect'] }),
    });
    const [collect, send] = [() => 1, () => 2];
    registry.bind('mail', 'collect', collect);
    registry.add(dag);
    expect(registry.handler('mail.send')).toBeUndefined();
    expect(await reasonOf(() => registry.save())).toBe(
      "nothing runs its task send; give each a 'run', or bind a handler to it (@OutboxTask in NestJS)",
    );
    registry.bind('mail', 'send', send);
    expect([registry.handler('mail.collect')?.run, registry.handler('mail.send')?.run]).toEqual([
      collect,
      send,
    ]);
    await registry.save();
    expect(registry.versionOf('mail')).toBe(1);
  });

  it('are refused when they fit to no task, or to one that has its own', async () => {
    const registry = new DagRegistry(countedVersions());
    registry.bind('mail', 'send', run);
    expect(await reasonOf(() => registry.bind('mail', 'send', run))).toBe(
      "task 'send' has two handlers; leave one of them out",
    );
    expect(await reasonOf(() => registry.bind('mail', 'sent', undefined as never))).toContain(
      'must be a function',
    );
    expect(await reasonOf(() => registry.save())).toBe(
      'there are handlers for it (send), but nobody has added it',
    );

    expect(await reasonOf(() => registry.add(defineDag('mail', { sends: task({ run }) })))).toBe(
      "a handler is bound to its task 'send', which is not there; did you mean 'sends'?",
    );
    expect(await reasonOf(() => registry.add(defineDag('mail', { send: task({ run }) })))).toContain(
      'has two handlers',
    );
    expect(registry.names).toEqual([]);

    registry.add(defineDag('mail', { send: task({}), log: task({ run }) }));
    expect(await reasonOf(() => registry.bind('mail', 'lag', run))).toContain("did you mean 'log'?");
    expect(await reasonOf(() => registry.bind('mail', 'log', run))).toContain('has two handlers');
    expect(await reasonOf(() => registry.bind('mail', 'send', run))).toContain('has two handlers');
    expect(await reasonOf(() => registry.save())).toBeUndefined();
  });
});

describe('outbox OB-4: DAGs of the registry', () => {
  it('outbox OB-4: the same DAG twice is one, another of its name is refused', async () => {
    const registry = new DagRegistry(countedVersions());
    registry.add(ORDERS);
    registry.add(ORDERS);
    registry.add(defineDag('orders', { b: task({ run, after: ['a'] }), a: task({ run }) }));
    const others = [
      { a: task({ run }), b: task({ run }) },
      { a: task({ run }), b: task({ run: () => {}, after: ['a'] }) },
      { a: task({ run }), b: task({ run, after: ['a'], retry: { retries: 4, backoff: 'linear' as const } }) },
      { a: task({ run }), b: task({ run, after: ['a'], retry: { retries: 4, jitter: 0 } }) },
    ];
    for (const tasks of others) {
      expect(await reasonOf(() => registry.add(defineDag('orders', tasks)))).toContain(
        'another DAG of this name',
      );
    }
    expect(registry.names).toEqual(['orders']);
  });

  it('outbox OB-4: versions are known once they are stored', async () => {
    const versions = countedVersions();
    const registry = new DagRegistry(versions);
    registry.add(ORDERS);
    expect([registry.versionOf('orders'), registry.versions]).toEqual([undefined, []]);
    await registry.save();
    expect(await registry.register(defineDag('mail', { a: task({ run }) }))).toBe(2);
    expect([registry.versionOf('orders'), registry.versionOf('mail'), registry.versionOf('x')]).toEqual([
      1,
      2,
      undefined,
    ]);
    expect(registry.versions).toEqual([1, 2]);
    expect(versions.saved).toEqual(['orders', 'mail']);
  });

  it('outbox OB-4: nothing is stored when one of several DAGs lacks a handler; register adds nothing then', async () => {
    const versions = countedVersions();
    const registry = new DagRegistry(versions);
    registry.add(ORDERS);
    const many = defineDag(
      'many',
      Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`t${i}`, task({})])),
    );
    const reason =
      "nothing runs its tasks t0, t1, t2, t3, t4, … (3 more), t8; give each a 'run', or bind a handler to it (@OutboxTask in NestJS)";
    expect(await reasonOf(() => registry.register(many))).toBe(reason);
    expect(registry.names).toEqual(['orders']);
    registry.add(many);
    expect(await reasonOf(() => registry.save())).toBe(reason);
    expect(versions.saved).toEqual([]);
  });

  it('outbox OB-4: a DAG that could not be stored is stored by the next save', async () => {
    let fails = true;
    const registry = new DagRegistry({
      save: async () => {
        if (fails) throw new Error('away');
        return 7;
      },
    });
    await expect(registry.register(ORDERS)).rejects.toThrow('away');
    expect(registry.versionOf('orders')).toBeUndefined();
    fails = false;
    await registry.save();
    expect(registry.versionOf('orders')).toBe(7);
  });

  it('outbox OB-11: refuses more tasks than a batch may have', async () => {
    const registry = new DagRegistry(countedVersions(), { tasksPerBatchMax: 1 });
    expect(await reasonOf(() => registry.add(ORDERS))).toMatchObject({ code: 'BATCH_TOO_LARGE' });
    expect(registry.names).toEqual([]);
  });
});

describe.each(places)('outbox OB-4: the registry on $kind', (place) => {
  const everything = async (database: Database, schema: string) => {
    const tables = ['dag', 'task_def', 'task_dep'].map(async (table) => {
      const { rows } = await database.query(
        `SELECT t::text AS row FROM ${quoteIdentifier(schema)}.${table} t ORDER BY 1`,
      );
      return rows;
    });
    return Promise.all(tables);
  };

  it('outbox OB-4: Bad DAGs (cycle, unknown key, duplicate, no root, missing handler) are refused with the reason and change nothing', async () => {
    await using opened = await openOutboxDatabase(place);
    const { database, schema } = opened;
    const registry = new DagRegistry(new PostgresDagStore(database, new Statements(schema)));
    // Of the same name as the bad ones: what they are compared with must not hide what is wrong with them.
    const version = await registry.register(ORDERS);
    const before = await everything(database, schema);
    const handler = registry.handler('orders.b');

    const missing = {
      what: 'a missing handler',
      dag: defineDag('unhandled', { a: task({ run }), b: task({ after: ['a'] }) }),
      reason: /^nothing runs its task b;/,
    };
    const another = {
      what: 'a second DAG of a name',
      dag: defineDag('orders', { a: task({ run }) }),
      reason: /^another DAG of this name has been added/,
    };
    for (const { what, dag, reason } of [...BAD_DAGS, missing, another]) {
      const given = await reasonOf(() => registry.register(dag));
      expect(given, what).toEqual(typeof reason === 'string' ? reason : expect.stringMatching(reason));
    }

    expect(await everything(database, schema)).toEqual(before);
    expect(registry.names).toEqual(['orders']);
    expect(registry.versions).toEqual([version]);
    expect(registry.handler('orders.b')).toBe(handler);
  });
});
