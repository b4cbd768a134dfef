import { ROUTES } from '@millrace/contract';
import { defineDag, task } from '@millrace/outbox';
import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineApp } from '../../src/define-app.js';
import { type Received, type Sent, serve, type TestServer } from '../serve.js';
import { ADMIN, ANA, ANA_ADMIN, BEN, KEYS } from '../tenant-keys.js';

/** Business keys whose `charge` fails. */
const failing = new Set<string>();
const once = { retry: { retries: 0 } };

const application = defineApp({
  dags: [
    defineDag('order', {
      charge: task<{ amount?: number }>({
        mode: 'external',
        ...once,
        run: ({ payload, batch }) => {
          if (failing.has(batch.bizKey)) throw new Error('the card was refused');
          return { charged: payload.amount ?? 0 };
        },
      }),
      ship: task<unknown, { charge: { charged: number } }>({
        after: ['charge'],
        ...once,
        run: ({ inputs }) => `shipped for ${inputs.charge.charged}`,
      }),
      tell: task({ after: ['ship'], ...once, run: () => 'told' }),
    }),
    defineDag('endless', {
      wait: task({
        mode: 'external',
        ...once,
        run: ({ signal }) => new Promise((_, refuse) => signal.addEventListener('abort', refuse)),
      }),
      after: task({ after: ['wait'], run: () => 'never' }),
    }),
  ],
});

describe('batches, DAGs and schedules over HTTP', () => {
  let server: TestServer;
  const send = (path: string, sent: Sent = {}): Promise<Received> => server.send(path, { key: ANA, ...sent });
  const post = (path: string, sent: Sent = {}) => send(path, { method: 'POST', ...sent });
  const start = async (bizKey: string, more: object = {}, sent: Sent = {}) =>
    send('/api/batches', { body: { dag: 'order', bizKey, ...more }, ...sent });
  const ended = (id: string, sent: Sent = {}) =>
    until(
      async () => {
        const { body } = await send(`/api/batches/${id}`, sent);
        return body.batch.status === 'RUNNING' ? undefined : body;
      },
      { what: `batch ${id} has ended`, deadlineMs: 10_000, intervalMs: 20 },
    );

  beforeAll(async () => {
    server = await serve({ apiKeys: KEYS, application });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('starts a batch, which runs; the same key is the same batch', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const payload = { amount: 12 };
    const { status, body } = await start('runs', { payload }, { headers: { traceparent } });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      created: true,
      tenant: 'a',
      dag: 'order',
      bizKey: 'runs',
      runNo: 1,
      taskCount: 3,
      payload,
      traceparent,
    });
    expect(ROUTES.startBatch.ok[201].schema.parse(body)).toEqual(body);

    const details = await ended(body.id);
    expect(ROUTES.getBatch.ok.parse(details)).toEqual(details);
    expect(details).toMatchObject({
      batch: { id: body.id, status: 'DONE', payload },
      counts: { done: 3, failed: 0, waiting: 0 },
      edges: [
        ['charge', 'ship'],
        ['ship', 'tell'],
      ],
      criticalPath: { keys: ['charge', 'ship', 'tell'] },
      eta: null,
    });
    expect(details.tasks[0]).not.toHaveProperty('result');

    const again = await start('runs', { payload: { amount: 99 } });
    expect(again).toMatchObject({ status: 200, body: { id: body.id, created: false, payload } });
    const rerun = await start('runs', { ifEnded: 'rerun' });
    expect(rerun).toMatchObject({ status: 201, body: { created: true, runNo: 2, payload: {} } });
    await ended(rerun.body.id);
  });

  it('shows the tasks of a batch with their results, a page at a time', async () => {
    const { body } = await start('tasks', { payload: { amount: 3 } });
    await ended(body.id);
    const first = await send(`/api/batches/${body.id}/tasks?limit=2`);
    expect(ROUTES.listBatchTasks.ok.parse(first.body)).toEqual(first.body);
    const second = await send(`/api/batches/${body.id}/tasks?limit=2&cursor=${first.body.cursor}`);
    const results = [...first.body.items, ...second.body.items].map(({ key, result }) => [key, result]);
    expect(Object.fromEntries(results)).toEqual({
      charge: { charged: 3 },
      ship: 'shipped for 3',
      tell: 'told',
    });
    expect(second.body.cursor).toBeNull();
    expect((await send(`/api/batches/${body.id}/tasks?status=FAILED`)).body.items).toEqual([]);
  });

  it('retries a batch that failed, and a task of one', async () => {
    for (const [bizKey, path] of [
      ['fails', 'retry'],
      ['fails too', 'tasks/charge/retry'],
    ] as const) {
      failing.add(bizKey);
      const { id } = (await start(bizKey)).body;
      const details = await ended(id);
      expect(details).toMatchObject({ batch: { status: 'FAILED' }, counts: { failed: 1, cancelled: 2 } });
      const charge = details.tasks.find(({ key }: { key: string }) => key === 'charge');
      expect(charge.error).toMatchObject({ message: 'the card was refused' });

      expect(await post(`/api/batches/${id}/tasks/tell/retry`)).toMatchObject({
        status: 409,
        body: { code: 'TASK_NOT_RETRYABLE' },
      });
      failing.delete(bizKey);
      expect(await post(`/api/batches/${id}/${path}`)).toMatchObject({
        status: 200,
        body: { id, status: 'RUNNING' },
      });
      expect((await ended(id)).batch.status).toBe('DONE');
    }
  });

  it('aborts a batch that runs; again changes nothing', async () => {
    const { id } = (await start('long', { dag: 'endless' })).body;
    await until(async () => (await send(`/api/batches/${id}`)).body.counts.processing === 1, {
      what: 'a task runs',
      deadlineMs: 10_000,
    });
    for (const _ of [1, 2])
      expect(await post(`/api/batches/${id}/abort`)).toMatchObject({
        status: 200,
        body: { id, status: 'ABORTED' },
      });
    expect((await send(`/api/batches/${id}`)).body.counts).toMatchObject({ cancelled: 2 });
  });

  it('lists batches, newest first, by filters and pages', async () => {
    const sent = { key: BEN };
    const ids: string[] = [];
    for (const bizKey of ['l1', 'l2', 'l3']) ids.unshift((await start(bizKey, {}, sent)).body.id);
    const first = await send('/api/batches?limit=2', sent);
    expect(first.status).toBe(200);
    expect(ROUTES.listBatches.ok.parse(first.body)).toEqual(first.body);
    expect(first.body.items[0]).not.toHaveProperty('payload');
    const second = await send(`/api/batches?limit=2&cursor=${first.body.cursor}`, sent);
    expect([...first.body.items, ...second.body.items].map(({ id }) => id)).toEqual(ids);
    expect(second.body.cursor).toBeNull();
    const byKey = await send('/api/batches?bizKey=l2&dag=order', sent);
    expect(byKey.body.items).toMatchObject([{ bizKey: 'l2', tenant: 'b' }]);
    expect((await send('/api/batches?dag=endless', sent)).body.items).toEqual([]);
    await Promise.all(ids.map((id) => ended(id, sent)));
    expect((await send('/api/batches?status=DONE', sent)).body.items).toHaveLength(3);
  });

  it('keeps tenants apart: another tenant’s batch is not found', async () => {
    const { id } = (await start('mine')).body;
    await ended(id);
    const path = `/api/batches/${id}`;
    const tries: readonly (readonly [string, string])[] = [
      ['GET', path],
      ['GET', `${path}/tasks`],
      ['POST', `${path}/abort`],
      ['POST', `${path}/retry`],
      ['POST', `${path}/tasks/charge/retry`],
    ];
    for (const [method, url] of tries) {
      const { status, body } = await send(url, { method, key: BEN });
      expect({ status, code: body.code }, url).toEqual({ status: 404, code: 'BATCH_NOT_FOUND' });
    }
    const theirs = await start('mine', {}, { key: BEN });
    expect(theirs).toMatchObject({ status: 201, body: { tenant: 'b' } });
    expect(theirs.body.id).not.toBe(id);
    const listed = await send('/api/batches?bizKey=mine', { key: BEN });
    expect(listed.body.items).toMatchObject([{ id: theirs.body.id }]);
    await ended(theirs.body.id, { key: BEN });

    for (const refused of [
      await start('mine', { tenant: 'a' }, { key: BEN }),
      await send('/api/batches?tenant=a', { key: BEN }),
    ])
      expect(refused).toMatchObject({
        status: 400,
        body: { code: 'REQUEST_INVALID', errors: [{ field: 'tenant' }] },
      });
    const admin = await start('mine', { tenant: 'a' }, { key: ADMIN });
    expect(admin).toMatchObject({ status: 200, body: { id, created: false } });
    const all = await send('/api/batches?bizKey=mine', { key: ADMIN });
    expect(all.body.items.map(({ tenant }: { tenant: string }) => tenant)).toEqual(['b', 'a']);
    expect((await send('/api/batches?bizKey=mine&tenant=a', { key: ADMIN })).body.items).toHaveLength(1);
    expect(await start('none', {}, { key: ADMIN })).toMatchObject({ status: 201, body: { tenant: '' } });
  });

  it('refuses what it cannot read, and names what is wrong', async () => {
    const cases: readonly (readonly [Promise<Received>, number, string, string?])[] = [
      [start('x', { colour: 'red' }), 400, 'REQUEST_INVALID', 'colour'],
      [start('x', { ifEnded: 'perhaps' }), 400, 'REQUEST_INVALID', 'ifEnded'],
      [start(''), 400, 'REQUEST_INVALID', 'bizKey'],
      [start('a\u0000b'), 400, 'REQUEST_INVALID', 'bizKey'],
      [start('漢'.repeat(501)), 400, 'REQUEST_INVALID', 'bizKey'],
      [start('x', { payload: 'é'.repeat(200_000) }), 413, 'BATCH_TOO_LARGE'],
      [start('x', { payload: { text: 'a\u0000b' } }), 400, 'PARAMETER_INVALID'],
      [start('x', { dag: 'unknown' }), 404, 'DAG_NOT_FOUND'],
      [send('/api/batches?colour=red'), 400, 'REQUEST_INVALID', 'colour'],
      [send('/api/batches?limit=100000'), 400, 'REQUEST_INVALID', 'limit'],
      [send('/api/batches?status=READY'), 400, 'REQUEST_INVALID', 'status'],
      [send('/api/batches/1x'), 400, 'REQUEST_INVALID', 'batchId'],
      [send('/api/batches/999999999'), 404, 'BATCH_NOT_FOUND'],
      [send('/api/batches/0'), 404, 'BATCH_NOT_FOUND'],
    ];
    const answers = await Promise.all(cases.map(([answer]) => answer));
    for (const [index, [, status, code, field]] of cases.entries()) {
      const { body, ...received } = answers[index] as Received;
      expect({ status: received.status, code: body.code }).toEqual({ status, code });
      if (field !== undefined) expect(body.errors[0].field).toBe(field);
    }
  });

  it('applies a DAG whose tasks are handlers of the application', async () => {
    const dag = { name: 'quick', tasks: { pay: { handler: 'order.charge', retries: 1 } } };
    const admin = { key: ADMIN };
    expect((await send('/api/dags', { body: dag })).body.code).toBe('FORBIDDEN');
    expect((await send('/api/dags', { body: dag, key: ANA_ADMIN })).body.code).toBe('TENANT_REFUSED');
    const applied = await send('/api/dags', { body: dag, ...admin });
    expect(applied).toMatchObject({
      status: 201,
      body: { name: 'quick', taskCount: 1, created: true },
    });
    expect(ROUTES.applyDag.ok[201].schema.parse(applied.body)).toEqual(applied.body);
    expect(await send('/api/dags', { body: dag, ...admin })).toMatchObject({
      status: 200,
      body: { version: applied.body.version, created: false },
    });
    const { id } = (await start('q', { dag: 'quick', payload: { amount: 1 } })).body;
    expect((await ended(id)).batch.status).toBe('DONE');

    const first = await send('/api/dags?limit=2');
    expect(ROUTES.listDags.ok.parse(first.body)).toEqual(first.body);
    const rest = await send(`/api/dags?cursor=${encodeURIComponent(first.body.cursor)}`);
    // The demo brings one of its own.
    const listed = [...first.body.items, ...rest.body.items].filter(({ name }) => !name.startsWith('demo'));
    expect(listed.map(({ name, applied: isApplied }) => [name, isApplied])).toEqual([
      ['endless', false],
      ['order', false],
      ['quick', true],
    ]);
    expect(listed[1].tasks.map(({ key, after }: { key: string; after: string[] }) => [key, after])).toEqual([
      ['charge', []],
      ['ship', ['charge']],
      ['tell', ['ship']],
    ]);
    expect(listed[2].tasks).toMatchObject([{ handler: 'order.charge', attemptsMax: 2, mode: 'external' }]);

    const cycle = { name: 'round', tasks: { x: { handler: 'order.tell', after: ['x'] } } };
    expect(await send('/api/dags', { body: cycle, ...admin })).toMatchObject({
      status: 422,
      body: { code: 'DAG_INVALID' },
    });
    const unknown = { name: 'round', tasks: { x: { handler: 'order.tell', colour: 'red' } } };
    expect((await send('/api/dags', { body: unknown, ...admin })).body.errors).toMatchObject([
      { field: 'tasks.x.colour' },
    ]);
  });

  it('sets, lists and removes schedules, each tenant its own', async () => {
    const schedule = { name: 'every night / all', dag: 'order', cron: '30 2 * * *', payload: { amount: 5 } };
    const ana = { key: ANA_ADMIN };
    expect((await send('/api/schedules', { body: schedule })).body.code).toBe('FORBIDDEN');
    const made = await send('/api/schedules', { body: { ...schedule, timeZone: 'Europe/Berlin' }, ...ana });
    expect(made.status).toBe(200);
    expect(ROUTES.setSchedule.ok.parse(made.body)).toEqual(made.body);
    expect(made.body).toMatchObject({ ...schedule, tenant: 'a', paused: false, lastAt: null, failures: 0 });
    const theirs = await send('/api/schedules', { body: { ...schedule, tenant: 'b' }, key: ADMIN });
    expect(theirs.body).toMatchObject({ tenant: 'b', timeZone: 'UTC' });
    const paused = await send('/api/schedules', { body: { ...schedule, paused: true }, ...ana });
    expect(paused.body).toMatchObject({ tenant: 'a', paused: true });

    const names = async (query: string, sent: Sent) => {
      const { body } = await send(`/api/schedules${query}`, sent);
      expect(ROUTES.listSchedules.ok.parse(body)).toEqual(body);
      return body.items.map(({ tenant }: { tenant: string }) => tenant);
    };
    expect(await names('', ana)).toEqual(['a']);
    expect(await names('?dag=order', { key: ADMIN })).toEqual(['a', 'b']);
    expect(await names('?tenant=b', { key: ADMIN })).toEqual(['b']);
    const first = await send('/api/schedules?limit=1', { key: ADMIN });
    expect(await names(`?limit=1&cursor=${encodeURIComponent(first.body.cursor)}`, { key: ADMIN })).toEqual([
      'b',
    ]);

    const path = `/api/schedules/${encodeURIComponent(schedule.name)}`;
    const remove = (query: string, sent: Sent) => send(path + query, { method: 'DELETE', ...sent });
    expect(await remove('?tenant=b', ana)).toMatchObject({ status: 400 });
    expect(await remove('', { key: ADMIN })).toMatchObject({ status: 404 });
    expect(await remove('', ana)).toMatchObject({
      status: 200,
      body: { tenant: 'a', name: schedule.name },
    });
    expect(await remove('', ana)).toMatchObject({ status: 404, body: { code: 'SCHEDULE_NOT_FOUND' } });
    expect(await names('', { key: BEN })).toEqual(['b']);

    for (const [more, status, code] of [
      [{ cron: 'whenever' }, 422, 'SCHEDULE_INVALID'],
      [{ timeZone: 'Mars/Olympus' }, 422, 'SCHEDULE_INVALID'],
      [{ dag: 'unknown' }, 404, 'DAG_NOT_FOUND'],
      [{ tenant: 'b' }, 400, 'REQUEST_INVALID'],
      [{ colour: 'red' }, 400, 'REQUEST_INVALID'],
    ] as const)
      expect(await send('/api/schedules', { body: { ...schedule, ...more }, ...ana })).toMatchObject({
        status,
        body: { code },
      });
  });
});
