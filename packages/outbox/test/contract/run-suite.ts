import { NonRetryableError } from '@millrace/foundation';
import { latch, recordingLogger, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { type TaskContext, task } from '../../src/index.js';
import { MODES, taskIn } from '../handlers.js';
import { type ContractSuite, DEADLINE_MS, leaveMark, statusesOf } from './home.js';

const circular: Record<string, unknown> = {};
circular.self = circular;

/** What handlers are given, what becomes of their results, and in which order they run. */
export const runSuite: ContractSuite = (home, kind) => {
  it.each(MODES)('outbox OB-6: a handler is given all there is to know (%s)', async (mode) => {
    const contexts: TaskContext[] = [];
    const run = (context: TaskContext) => {
      contexts.push(context);
      return { from: context.taskKey };
    };
    const dag = home().dag({
      a: taskIn(mode, run),
      b: taskIn(mode, run),
      c: taskIn(mode, run, { after: ['a', 'b'] }),
    });
    await using outbox = await home().outbox([dag]);
    const options = { tenant: 'acme', traceparent: '00-4bf9-00f0-01' };
    const { id } = await outbox.pusher.start(dag.name, 'k', { n: 1 }, options);
    await home().ended(outbox, id);
    const batch = { id, dag: dag.name, bizKey: 'k', runNo: 1, ...options };
    const common = { payload: { n: 1 }, attempt: 1, batch };
    const byKey = new Map(contexts.map((context) => [context.taskKey, context]));
    expect(byKey.get('a')).toMatchObject({ ...common, idempotencyKey: `${id}:a` });
    expect(byKey.get('b')).toMatchObject({ ...common, idempotencyKey: `${id}:b` });
    expect(byKey.get('c')).toMatchObject({ ...common, idempotencyKey: `${id}:c` });
    expect(byKey.get('a')?.inputs).toStrictEqual({});
    expect(byKey.get('c')?.inputs).toStrictEqual({ a: { from: 'a' }, b: { from: 'b' } });
    for (const context of contexts) {
      expect(context.signal).toBeInstanceOf(AbortSignal);
      expect((context as { tx?: unknown }).tx !== undefined).toBe(mode === 'transactional');
    }
    expect(contexts).toHaveLength(3);
  });

  it.each(MODES)(
    'outbox OB-6: every line about a task has its batch, its key and its trace (%s)',
    async (mode) => {
      const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
      const dag = home().dag({
        a: taskIn(mode, ({ log }) => log.info({}, 'from the handler')),
        b: taskIn(mode, () => {
          throw new NonRetryableError('as the test wants');
        }),
      });
      const { log: logger, lines } = recordingLogger();
      await using outbox = await home().outbox([dag], { logger });
      const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
      const traced = await outbox.pusher.start(dag.name, 'traced', {}, { traceparent });
      const strange = await outbox.pusher.start(dag.name, 'strange', {}, { traceparent: '00-4bf9-00f0-01' });
      await home().ended(outbox, traced.id);
      await home().ended(outbox, strange.id);
      const about = (id: string) => lines.map(({ fields }) => fields).filter(({ batchId }) => batchId === id);
      const byKey = (id: string) => new Map(about(id).map((fields) => [fields.taskKey, fields]));
      expect(byKey(traced.id).get('a')).toEqual({ batchId: traced.id, taskKey: 'a', attempt: 1, traceId });
      expect(byKey(traced.id).get('b')).toMatchObject({ code: 'NON_RETRYABLE', traceId });
      expect(byKey(strange.id).get('a')).toEqual({ batchId: strange.id, taskKey: 'a', attempt: 1 });
      expect(byKey(strange.id).get('b')).not.toHaveProperty('traceId');
    },
  );

  describe.each(MODES)('results (%s)', (mode) => {
    const results: Record<string, unknown> = {
      undefined: undefined,
      null: null,
      zero: 0,
      false: false,
      text: 'a "text"',
      list: [1, [2, null]],
      unicode: '😀\u2028',
      deep: JSON.parse(`${'['.repeat(1_000)}${']'.repeat(1_000)}`),
      most: 'x'.repeat(998),
      date: new Date(0),
    };

    it('outbox OB-6: are kept as JSON and are the inputs of what follows', async () => {
      const { batch, tasks } = await home().run(
        {
          ...Object.fromEntries(
            Object.entries(results).map(([key, value]) => [key, taskIn(mode, () => value)]),
          ),
          last: taskIn(
            mode,
            ({ inputs }) =>
              JSON.stringify(inputs) === JSON.stringify({ ...inputs }) && Object.keys(inputs).length,
            { after: Object.keys(results) },
          ),
          echo: taskIn(mode, ({ inputs }) => inputs, { after: ['list', 'undefined', 'date'] }),
        },
        { resultBytesMax: 3_000 },
      );
      expect(batch.status).toBe('DONE');
      for (const [key, value] of Object.entries(results))
        expect(tasks[key]?.result ?? null, key).toStrictEqual(JSON.parse(JSON.stringify(value ?? null)));
      expect(tasks.last?.result).toBe(Object.keys(results).length);
      expect(tasks.echo?.result).toStrictEqual({
        list: [1, [2, null]],
        undefined: null,
        date: '1970-01-01T00:00:00.000Z',
      });
    });

    const invalid: Record<string, unknown> = {
      circular,
      bigint: 1n,
      function: () => {},
      symbol: Symbol('s'),
      NUL: 'a\0b',
      surrogate: ['\ud800'],
      large: 'x'.repeat(999),
      throws: {
        toJSON() {
          throw new Error('no');
        },
      },
    };

    it('outbox OB-7: that cannot be kept are failures, and the writes go with them', async () => {
      const { batch, tasks } = await home().run(
        Object.fromEntries(
          Object.entries(invalid).map(([key, value]) => [
            key,
            taskIn(mode, () => value, {
              onFailure: 'skip',
              write: ({ tx, idempotencyKey }) => leaveMark(tx, idempotencyKey),
            }),
          ]),
        ),
        { resultBytesMax: 1_000 },
      );
      for (const [key, { status, attempts, error, result }] of Object.entries(tasks))
        expect({ key, status, attempts, code: error?.code, result }).toEqual({
          key,
          status: 'FAILED',
          attempts: 1,
          code: 'RESULT_INVALID',
          result: undefined,
        });
      expect(tasks.large?.error?.message).toMatch(/at most 1000 bytes.*got 1001 bytes/);
      expect(batch.status).toBe('DONE');
      expect(await home().effects(`${batch.id}:`)).toEqual([]);
    });
  });

  it('outbox OB-6: the writes of a handler and DONE are one transaction, and every task has its own', async () => {
    const run = async ({
      tx,
      idempotencyKey,
    }: {
      tx: Parameters<typeof leaveMark>[0];
      idempotencyKey: string;
    }) => leaveMark(tx, idempotencyKey);
    const { batch } = await home().run({
      a: task({ run }),
      b: task({ run }),
      c: task({ run, after: ['a'] }),
      d: task({ run, after: ['a', 'b', 'c'] }),
    });
    const rows = await home().rows<{ task_key: string; same: boolean; xid: string }>(
      `SELECT e.task_key, e.xmin = f.xmin AS same, e.xmin::text AS xid
       FROM {schema}.outbox_evt e JOIN effect f ON f.mark = e.batch_id || ':' || e.task_key
       WHERE e.batch_id = $1 ORDER BY e.task_key`,
      [batch.id],
    );
    expect(rows.map(({ task_key, same }) => [task_key, same])).toEqual([
      ['a', true],
      ['b', true],
      ['c', true],
      ['d', true],
    ]);
    expect(new Set(rows.map(({ xid }) => xid)).size).toBe(4);
  });

  it('outbox OB-7: a try that fails leaves none of its writes, the one that succeeds leaves them once', async () => {
    const { batch, tasks } = await home().run({
      a: task({
        backoffMs: 0,
        run: async ({ tx, idempotencyKey, attempt }) => {
          await leaveMark(tx, `${idempotencyKey}:${attempt}`);
          if (attempt === 1) throw new Error('first');
          // Not even when it hides the failure of a statement.
          if (attempt === 2) await tx.query('SELECT 1/0').catch(() => {});
          if (attempt === 3) await tx.transaction((inner) => inner.query('SELECT 1/0')).catch(() => {});
        },
      }),
      b: task({
        after: ['a'],
        onFailure: 'skip',
        run: async ({ tx, idempotencyKey }) => {
          await leaveMark(tx, idempotencyKey);
          throw new NonRetryableError('for good');
        },
      }),
    });
    expect(batch.status).toBe('DONE');
    expect(tasks.a).toMatchObject({ status: 'DONE', attempts: 3, error: undefined });
    expect(await home().effects(`${batch.id}:`)).toEqual([`${batch.id}:a:3`]);
  });

  it('outbox OB-6: completions of external tasks are written in groups, each exactly once', async () => {
    const calls = new Map<string, number>();
    const run = ({ idempotencyKey, taskKey }: TaskContext) => {
      calls.set(idempotencyKey, (calls.get(idempotencyKey) ?? 0) + 1);
      return taskKey;
    };
    const keys = Array.from({ length: 150 }, (_, n) => `t${n}`);
    const { batch, tasks } = await home().run(
      {
        ...Object.fromEntries(keys.map((key) => [key, task({ mode: 'external', run })])),
        last: task({ after: keys, run: ({ inputs }) => Object.keys(inputs).length }),
      },
      { completionsMax: 40 },
    );
    expect(batch.status).toBe('DONE');
    expect(keys.every((key) => tasks[key]?.status === 'DONE' && tasks[key]?.result === key)).toBe(true);
    expect(tasks.last?.result).toBe(150);
    expect([...calls.values()].every((count) => count === 1) && calls.size).toBe(150);
  });

  it.each(MODES)('outbox OB-1: every task starts after the end of all it depends on (%s)', async (mode) => {
    const after: Record<string, string[]> = {
      top: [],
      left: ['top'],
      right: ['top'],
      bottom: ['left', 'right'],
      one: [],
      two: ['one'],
      three: ['two', 'right'],
      four: ['three'],
      end: ['bottom', 'four', 'top'],
    };
    const log: string[] = [];
    const run = async ({ taskKey: key, inputs }: TaskContext) => {
      log.push(`start ${key}`);
      expect(Object.keys(inputs).sort()).toEqual([...(after[key] ?? [])].sort());
      await Promise.resolve();
      log.push(`end ${key}`);
    };
    const { batch, tasks } = await home().run(
      Object.fromEntries(
        Object.entries(after).map(([key, parents]) => [key, taskIn(mode, run, { after: parents })]),
      ),
    );
    expect(batch.status).toBe('DONE');
    for (const [key, parents] of Object.entries(after)) {
      expect(log.filter((line) => line === `start ${key}`)).toHaveLength(1);
      for (const parent of parents) {
        expect(log.indexOf(`end ${parent}`)).toBeLessThan(log.indexOf(`start ${key}`));
        expect(tasks[parent]?.endedAt?.getTime()).toBeLessThanOrEqual(tasks[key]?.startedAt?.getTime() ?? 0);
      }
    }
  });

  it('outbox OB-3: each slot runs one task at a time, and all slots are used', async () => {
    let running = 0;
    let most = 0;
    const keys = Array.from({ length: 12 }, (_, n) => `t${n}`);
    const isFull = latch('three tasks run at once');
    const run = async () => {
      most = Math.max(most, ++running);
      if (running === 3) isFull.open();
      await isFull.wait(DEADLINE_MS);
      await Promise.resolve();
      running--;
    };
    const { batch } = await home().run(
      Object.fromEntries(keys.map((key) => [key, task({ mode: 'external', run })])),
      { concurrency: 3 },
    );
    expect(batch.status).toBe('DONE');
    expect(most).toBe(3);
  });

  it('outbox OB-3: two workers share the tasks of a batch, none runs twice', async () => {
    const calls: string[] = [];
    const by = new Map<string, number>();
    const dagOf = (worker: string, name: string) => {
      const both = Object.fromEntries(
        ['x', 'y'].map((key) => [
          key,
          task({
            mode: 'external',
            run: async () => {
              calls.push(key);
              by.set(worker, (by.get(worker) ?? 0) + 1);
              // Ends only when the other worker has the other one: each has a single slot.
              await until(() => by.size === 2, {
                what: 'both workers to run a task',
                deadlineMs: DEADLINE_MS,
              });
            },
          }),
        ]),
      );
      const many = Array.from({ length: 20 }, (_, n) => `t${n}`);
      const run = async (): Promise<void> => void calls.push('many');
      return home().dag(
        { ...both, ...Object.fromEntries(many.map((key) => [key, task({ after: ['x', 'y'], run })])) },
        name,
      );
    };
    const name = home().name();
    await using here = await home().outbox([dagOf('here', name)], { concurrency: 1 });
    await using there = await home().outbox([dagOf('there', name)], {
      concurrency: 1,
      database: home().anotherDatabase({ poolSize: 5 }),
    });
    const { id } = await here.pusher.start(name, 'k');
    expect(await home().ended(there, id)).toMatchObject({ status: 'DONE' });
    expect(calls.sort()).toEqual([...Array.from({ length: 20 }, () => 'many'), 'x', 'y']);
  });

  it('outbox OB-3: a worker that starts takes nothing from one that works', async () => {
    const calls: string[] = [];
    const started = latch('the task runs');
    const mayEnd = latch('the task may end');
    const dagOf = (worker: string, name: string) =>
      home().dag(
        {
          a: task({
            mode: 'external',
            run: async () => {
              calls.push(worker);
              started.open();
              await mayEnd.promise;
            },
          }),
          b: task({ run: () => {} }),
        },
        name,
      );
    const name = home().name();
    await using first = await home().outbox([dagOf('first', name)]);
    const { id } = await first.pusher.start(name, 'one');
    await started.wait(DEADLINE_MS);
    await using second = await home().outbox([dagOf('second', name)]);
    // It has looked for lost tasks when it has done another batch' task.
    const other = await second.pusher.start(name, 'two');
    await home().taskIs(second, other.id, 'b', ({ status }) => status === 'DONE');
    await until(() => calls.length >= 2, { what: 'the second batch to run', deadlineMs: DEADLINE_MS });
    mayEnd.open();
    for (const batch of [id, other.id]) expect((await home().ended(second, batch)).status).toBe('DONE');
    expect(calls).toHaveLength(2);
    expect(await first.batches.task(id, 'a')).toMatchObject({ attempts: 1, lost: 0 });
  });

  it('outbox OB-3: a worker leaves tasks alone whose handler it does not have', async () => {
    const mine = home().dag({ a: task({ run: () => {} }) });
    const others = home().dag({ a: task({ run: () => {} }) });
    await using starter = await home().starter([mine, others]);
    const foreign = await starter.pusher.start(others.name, 'k');
    const own = await starter.pusher.start(mine.name, 'k');
    await using outbox = await home().outbox([mine]);
    expect(await home().ended(outbox, own.id)).toMatchObject({ status: 'DONE' });
    expect(statusesOf(await home().tasks(outbox, foreign.id))).toEqual({ a: 'READY' });
    await using owner = await home().outbox([others]);
    expect(await home().ended(owner, foreign.id)).toMatchObject({ status: 'DONE' });
  });

  if (kind === 'pglite')
    it('a query past tx in a handler is refused, since it would wait for itself for ever', async () => {
      const { tasks } = await home().run({
        a: task({ onFailure: 'skip', run: () => home().database.query('SELECT 1') }),
      });
      expect(tasks.a).toMatchObject({ status: 'FAILED', attempts: 1, error: { code: 'TX_REENTRANT' } });
    });
};
