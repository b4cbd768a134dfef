import { ManualClock, until } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { type DagData, type DagDefinition, type Outbox, type TaskContext, task } from '../../src/index.js';
import { PostgresDagStore } from '../../src/postgres/dag-store.js';
import { Statements } from '../../src/postgres/statements.js';
import { PostgresUpkeepStore } from '../../src/postgres/upkeep-store.js';
import { readDagData } from '../../src/rules/read-dag-data.js';
import { type ContractSuite, DEADLINE_MS, type Home, leaveMark, statusesOf } from './home.js';

const DAY_MS = 86_400_000;

/** Two external steps that leave their names behind. */
const stepsOf = (home: Home, seen: string[], by = '', name = home.name()): DagDefinition => {
  const run = ({ taskKey, batch }: TaskContext) => {
    seen.push(`${by}${batch.bizKey}:${taskKey}`);
  };
  return home.dag(
    { a: task({ mode: 'external', run }), b: task({ mode: 'external', run, after: ['a'] }) },
    name,
  );
};

/** The other way round. */
const turned = (name: string, of = name): DagData => ({
  name,
  tasks: { b: { handler: `${of}.b` }, a: { handler: `${of}.a`, after: ['b'] } },
});

const versionStarted = async (outbox: Outbox, dag: string, bizKey: string): Promise<number> => {
  const { id, dagVersion } = await outbox.pusher.start(dag, bizKey);
  await outbox.batches.abort(id);
  return dagVersion;
};

/** DAGs that are given as data, whose tasks are run by handlers of code. */
export const appliedSuite: ContractSuite = (home) => {
  it('outbox OB-4: an applied DAG runs handlers of others under its own keys, order and settings', async () => {
    const tries: number[] = [];
    const books = home().dag({
      book: task({
        run: async ({ tx, taskKey, inputs, batch }) => {
          await leaveMark(tx, `${batch.dag}:${taskKey}`);
          return Object.keys(inputs);
        },
      }),
      never: task({ when: () => false, run: () => 1 }),
    });
    const mails = home().dag({
      flaky: task({
        mode: 'external',
        backoffMs: DAY_MS,
        retry: { retries: 0 },
        run: ({ attempt }) => {
          tries.push(attempt);
          if (attempt === 1) throw new Error('not yet');
        },
      }),
      slow: task({
        mode: 'external',
        run: ({ signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      }),
    });
    await using outbox = await home().outbox([books, mails]);
    const events: unknown[] = [];
    outbox.events.on('task', ({ handler, taskKey, batchId, tenant, result }) =>
      events.push([batchId, tenant, taskKey, handler, result]),
    );
    const name = home().name();
    const handler = (dag: DagDefinition, key: string) => `${dag.name}.${key}`;
    const applied = await outbox.dags.apply({
      name,
      tasks: {
        first: { handler: handler(mails, 'flaky'), retries: 1, backoffMs: 1 },
        late: { handler: handler(mails, 'slow'), timeoutMs: 20, retries: 0, onFailure: 'continue' },
        idle: { handler: handler(books, 'never') },
        end: { handler: handler(books, 'book'), after: ['first', 'late', 'idle'], join: { atLeast: 2 } },
      },
    });
    expect(applied).toEqual({ name, version: expect.any(Number), created: true, taskCount: 4 });
    const { id, dagVersion } = await outbox.pusher.start(name, 'once', {}, { tenant: 't' });
    expect(dagVersion).toBe(applied.version);
    expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
    const tasks = await home().tasks(outbox, id);
    expect(statusesOf(tasks)).toEqual({ first: 'DONE', late: 'FAILED', idle: 'SKIPPED', end: 'DONE' });
    expect([tries, tasks.late?.error?.code]).toEqual([[1, 2], 'TASK_TIMEOUT']);
    expect(tasks.end?.result).toEqual(expect.arrayContaining(['first', 'late']));
    expect(await home().effects(name)).toEqual([`${name}:end`]);
    expect(events).toContainEqual([id, 't', 'first', handler(mails, 'flaky'), 'retried']);

    const { edges } = await outbox.batches.status(id);
    expect([...(edges ?? [])].sort()).toEqual([
      ['first', 'end'],
      ['idle', 'end'],
      ['late', 'end'],
    ]);
    const view = await outbox.dags.get(name);
    expect(view).toMatchObject({ name, version: applied.version, applied: true, taskCount: 4 });
    expect(view.registeredAt).toBeInstanceOf(Date);
    expect(view.tasks.at(-1)).toEqual({
      ...{ key: 'end', handler: handler(books, 'book'), mode: 'transactional', join: { atLeast: 2 } },
      ...{ onFailure: 'fail', conditional: false, timeoutMs: 30_000, attemptsMax: 5, backoffMs: 1_000 },
      after: ['first', 'idle', 'late'],
    });
    expect(view.tasks.find(({ key }) => key === 'late')).toMatchObject({
      timeoutMs: 20,
      attemptsMax: 1,
      after: [],
    });
    expect(view.tasks.find(({ key }) => key === 'idle')).toMatchObject({ conditional: true });
  });

  it('outbox OB-4: instances that run learn of it: each runs what it has handlers for, and one without any nothing', async () => {
    const seen: string[] = [];
    const name = home().name();
    const [left, right, other] = [home().name(), home().name(), home().name()];
    const instance = (dag: string, by: string) =>
      home().outbox([stepsOf(home(), seen, by, dag)], {
        pollIntervalMs: 100,
        database: home().anotherDatabase(),
      });
    await using one = await instance(left, 'one ');
    await using two = await instance(right, 'two ');
    await using stranger = await instance(other, 'stranger ');
    await using starter = await home().starter([
      stepsOf(home(), seen, '', left),
      stepsOf(home(), seen, '', right),
    ]);
    const results: string[] = [];
    for (const each of [one, two, stranger]) each.events.on('task', ({ result }) => results.push(result));
    await starter.dags.apply({
      name,
      tasks: {
        l1: { handler: `${left}.a` },
        r1: { handler: `${right}.a`, after: ['l1'] },
        l2: { handler: `${left}.b`, after: ['r1'] },
        r2: { handler: `${right}.b`, after: ['l2'] },
      },
    });
    const { id } = await stranger.pusher.start(name, 'k');
    expect(await home().ended(starter, id)).toMatchObject({ status: 'DONE' });
    expect(seen).toEqual(['one k:l1', 'two k:r1', 'one k:l2', 'two k:r2']);
    // Nobody has claimed what it then had to give back.
    expect(results).toEqual(['done', 'done', 'done', 'done']);
    expect([one.registry.names, two.registry.names].every((names) => names.includes(name))).toBe(true);
    expect([one, two, stranger].some(({ registry }) => registry.names.length > 2)).toBe(false);
    expect(stranger.registry.names).toEqual([other]);
  });

  it('outbox OB-4: it is learnt of by looking when the hint is lost', async () => {
    const dag = stepsOf(home(), []);
    const clock = new ManualClock();
    await using outbox = await home().starter([dag], { clock });
    const knows = (name: string) =>
      until(() => outbox.registry.names.includes(name), {
        what: 'the instance to know it',
        deadlineMs: DEADLINE_MS,
      });
    const heard = turned(home().name(), dag.name);
    await outbox.dags.apply(heard);
    await knows(heard.name);
    const missed = turned(home().name(), dag.name);
    const store = new PostgresDagStore(home().database, new Statements(home().schema));
    const options = { inForceMax: 1_000, channel: 'heard by nobody', hint: 'x' };
    const { version } = await store.apply(readDagData(missed, outbox.registry, 10), options);
    await clock.advance(10_000);
    await knows(missed.name);
    expect(outbox.registry.runnableVersions).toContain(version);
  });

  it('outbox OB-4: a re-wiring counts for all instances and survives restarts, until the code changes', async () => {
    const seen: string[] = [];
    const { name, ...dag } = stepsOf(home(), seen);
    const code = { name, ...dag };
    const changed = home().dag({ a: task({ mode: 'external', run: () => 1 }) }, name);
    await using outbox = await home().outbox([code]);
    await using other = await home().starter([code]);
    const own = outbox.registry.versionOf(name);
    const before = await outbox.pusher.start(name, 'before');
    await home().ended(outbox, before.id);
    const { version, created } = await outbox.dags.apply(turned(name));
    expect([created, before.dagVersion]).toEqual([true, own]);
    expect(await outbox.dags.apply(turned(name))).toMatchObject({ version, created: false });
    const { id, dagVersion } = await other.pusher.start(name, 'after');
    await home().ended(outbox, id);
    expect([dagVersion, seen]).toEqual([version, ['before:a', 'before:b', 'after:b', 'after:a']]);

    // A restart registers what is stored; so does an instance whose versions were forgotten.
    await using restarted = await home().starter([code]);
    await other.registry.save();
    expect(restarted.registry.versionOf(name)).toBe(own);
    expect(await outbox.dags.get(name)).toMatchObject({ version, applied: true });
    await using stranger = await home().starter([]);
    for (const [index, one] of [outbox, other, restarted, stranger].entries())
      expect(await versionStarted(one, name, `restart ${index}`)).toBe(version);

    // A deployment whose definition is new: each has its own again, and a restart of the old one changes nothing.
    const running = await other.pusher.start(name, 'deployed');
    await using deployed = await home().starter([changed]);
    await using old = await home().starter([code]);
    expect(await versionStarted(deployed, name, 'd1')).toBe(deployed.registry.versionOf(name));
    expect(await versionStarted(old, name, 'd2')).toBe(own);
    expect(await outbox.batches.get(running.id)).toMatchObject({ dagVersion: version });
    // What is applied again holds again; the definition of the code can be applied as well.
    expect(await deployed.dags.apply({ name, tasks: { a: {} } })).toMatchObject({
      version: deployed.registry.versionOf(name),
      created: false,
    });
    expect(await versionStarted(old, name, 'd3')).toBe(deployed.registry.versionOf(name));
    expect(await old.dags.apply(turned(name))).toMatchObject({ version, created: false });
    expect(await versionStarted(deployed, name, 'd4')).toBe(version);
  });

  it('outbox OB-4: of two instances that apply at once one counts, for both; the same definition is stored once', async () => {
    const seen: string[] = [];
    const dag = stepsOf(home(), seen);
    await using one = await home().starter([dag]);
    await using two = await home().starter([dag], { database: home().anotherDatabase() });
    for (let round = 0; round < 5; round++) {
      const name = home().name();
      const same = await Promise.all([one, two].map(({ dags }) => dags.apply(turned(name, dag.name))));
      expect(new Set(same.map(({ version }) => version)).size).toBe(1);
      expect(same.filter(({ created }) => created)).toHaveLength(1);
      const data = (timeoutMs: number) => ({
        name,
        tasks: { only: { handler: `${dag.name}.a`, timeoutMs } },
      });
      const applied = await Promise.all([one.dags.apply(data(1_001)), two.dags.apply(data(1_002))]);
      const { version } = await one.dags.get(name);
      expect(applied.map((each) => each.version)).toContain(version);
      expect(await versionStarted(one, name, 'one')).toBe(version);
      expect(await versionStarted(two, name, 'two')).toBe(version);
    }
  });

  it('outbox OB-4: what an instance has no handler for, and what contradicts one, is refused and nothing is stored', async () => {
    const dag = stepsOf(home(), []);
    await using outbox = await home().starter([dag]);
    const name = home().name();
    const refused = async (tasks: unknown, reason: RegExp) =>
      expect(outbox.dags.apply({ name, tasks } as DagData)).rejects.toMatchObject({
        code: 'DAG_INVALID',
        message: expect.stringMatching(reason),
      });
    await refused({ a: { handler: `${dag.name}.c` } }, /does not have; did you mean 'dag-\d+\.[ab]'\?$/);
    await refused({ a: {} }, /run by the handler 'dag-\d+\.a', which this application does not have/);
    await refused(
      { a: { handler: `${dag.name}.a`, mode: 'transactional' } },
      /'transactional', but its handler .* is external/,
    );
    await refused(
      { a: { handler: `${dag.name}.a`, after: ['b'] }, b: { handler: `${dag.name}.b`, after: ['a'] } },
      /no root.*: a → b → a$/,
    );
    await expect(outbox.dags.get(name)).rejects.toMatchObject({ code: 'DAG_NOT_FOUND', status: 404 });
    await expect(outbox.pusher.start(name, 'k')).rejects.toMatchObject({ code: 'DAG_NOT_FOUND' });
    const store = new PostgresDagStore(home().database, new Statements(home().schema));
    const valid = readDagData(turned(name, dag.name), outbox.registry, 10);
    await expect(store.apply(valid, { inForceMax: 0, channel: 'c', hint: 'x' })).rejects.toThrow(
      /0 other DAGs have been applied/,
    );
    await expect(outbox.dags.get(name)).rejects.toMatchObject({ code: 'DAG_NOT_FOUND' });
  });

  it('outbox: retention: an applied version in force stays, a displaced one goes when no batch uses it', async () => {
    const dag = stepsOf(home(), []);
    await using outbox = await home().starter([dag]);
    const { name } = dag;
    const { version } = await outbox.dags.apply(turned(name));
    const prune = async () => {
      await home().rows(
        "UPDATE {schema}.dag SET registered_at = now() - interval '90 days', used_at = now() - interval '90 days' WHERE version = $1",
        [version],
      );
      const store = new PostgresUpkeepStore(home().database, new Statements(home().schema));
      return (await store.deleteOldDags(30 * DAY_MS, 100)).includes(version);
    };
    expect(await prune()).toBe(false);
    // An instance whose own version was forgotten while it slept has not changed its code.
    await home().rows('DELETE FROM {schema}.dag WHERE version = $1', [outbox.registry.versionOf(name)]);
    await outbox.registry.save();
    expect(await outbox.dags.get(name)).toMatchObject({ version, applied: true });
    const again = { name, tasks: { a: {}, b: { after: ['a'], timeoutMs: 77 } } };
    const { version: next } = await outbox.dags.apply(again);
    expect(next).not.toBe(version);
    expect(await prune()).toBe(true);
    expect(await outbox.dags.apply(turned(name))).toMatchObject({ created: true });
  });

  it('outbox: DAGs are listed by name, a page at a time, with a bounded number of tasks', async () => {
    const dag = stepsOf(home(), []);
    await using outbox = await home().starter([dag]);
    const base = home().name();
    const names = ['x', 'y', 'z'].map((end) => `${base}${end}`);
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`t${i}`, { handler: `${dag.name}.a` }]));
    for (const [index, name] of names.entries())
      await outbox.dags.apply({ name, tasks: many(index === 1 ? 1_001 : 1) });
    const pages = [];
    for (let cursor: string | undefined = base; ; ) {
      const page = await outbox.dags.list({ cursor, limit: 2 });
      pages.push(page.items);
      cursor = page.cursor;
      if (cursor === undefined || !cursor.startsWith(base)) break;
    }
    const own = pages.flat().filter(({ name }) => name.startsWith(base));
    expect(own.map(({ name }) => name)).toEqual(names);
    expect(own.map(({ taskCount, tasks }) => [taskCount, tasks.length])).toEqual([
      [1, 1],
      [1_001, 1_000],
      [1, 1],
    ]);
    expect(pages.every((items) => items.length <= 2)).toBe(true);
  });
};
