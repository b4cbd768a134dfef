import { once } from 'node:events';
import { connect } from 'node:net';
import { defineProcessor } from '@millrace/bulk-action';
import { WatchEvent } from '@millrace/contract';
import { defineRoutes, inline } from '@millrace/orchestrator';
import { defineDag, task } from '@millrace/outbox';
import { latch, type PostgresSandbox, type RedisSandbox, redisSandbox, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AppServices, defineApp } from '../../src/define-app.js';
import { type Heard, type Listening, listen } from '../chat/sse.js';
import { migratedSandbox, serve, type TestServer } from '../serve.js';

const ADMIN = 'admin-secret-of-24-characters';
const ANA = 'ana-operates-tenant-a-of-24-ch';
const BEN = 'ben-operates-tenant-b-of-24-ch';
const KEYS = `root:admin:${ADMIN},ana:operate:a:${ANA},ben:operate:b:${BEN}`;

describe('what changes, heard at an instance that does none of the work', () => {
  let sandbox: PostgresSandbox;
  let redis: RedisSandbox;
  let api: TestServer;
  let worker: TestServer;
  let services: AppServices;
  const open: Listening[] = [];
  const mayEnd = latch('the task may end');

  beforeAll(async () => {
    [sandbox, redis] = await Promise.all([migratedSandbox(), redisSandbox()]);
    const application = defineApp((given) => {
      services ??= given;
      return {
        processors: [
          defineProcessor({ type: 'ok', process: () => null }),
          defineProcessor({
            type: 'dead',
            retry: { retries: 0 },
            process: () => {
              throw new Error('it never works');
            },
          }),
        ],
        dags: [
          defineDag('short', { only: task({ run: () => 1 }) }),
          defineDag('held', { only: task({ mode: 'external', run: () => mayEnd.promise }) }),
        ],
        routes: defineRoutes({ 'TEST.ECHO': inline(({ payload }) => payload) }),
      };
    });
    const shared = {
      databaseUrl: sandbox.url,
      redisUrl: redis.url,
      keyPrefix: `${redis.namespace}:`,
      apiKeys: KEYS,
      application,
    };
    api = await serve({ ...shared, role: 'api' });
    worker = await serve({ ...shared, role: 'worker' });
  });
  afterAll(async () => {
    mayEnd.open();
    for (const stream of open) stream.leave();
    await Promise.allSettled([api?.close(), worker?.close()]);
    await Promise.all([sandbox.drop(), redis[Symbol.asyncDispose]()]);
  });

  async function watch(key: string) {
    const stream = await listen(`${api.url}/api/events`, { authorization: `Bearer ${key}` });
    open.push(stream);
    const heard: Heard[] = [];
    void (async () => {
      for (let event = await stream.next(); event; event = await stream.next()) heard.push(event);
    })().catch(() => {});
    await until(() => heard[0]?.event === 'hello', { what: 'hello' });
    const of = (list: string): unknown[] => heard.slice(1).flatMap(({ data }) => data[list]);
    return { stream, heard, of };
  }
  const jobs = (processorType: string) => [{ id: '1', processorType, payload: null }];
  /** Hints are lost until the connections that carry them stand. */
  async function untilHeard({ of }: { of(list: string): unknown[] }) {
    let n = 0;
    const probe = async () => {
      n++;
      await services.pusher.start('short', `probe-${n}`, null);
      await services.bulk.submitBulk({ id: `probe-${n}` }, jobs('ok'));
      return of('batches').length > 0 && of('groups').length > 0;
    };
    await until(probe, { what: 'anything to be heard of', intervalMs: 300, deadlineMs: 10_000 });
  }
  /** Asks for the events and reads none. */
  async function stalledClient() {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.pause();
    socket.write(`GET /api/events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${ADMIN}\r\n\r\n`);
    return socket;
  }
  const post = (path: string, key: string, body: object) => api.send(path, { key, body });

  it('says hello, with how everything stands for those who may know', async () => {
    const root = await watch(ADMIN);
    expect(root.stream.response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(root.heard[0]?.data.snapshot).toMatchObject({ queues: { ready: 0, inFlight: 0 } });
    expect((await watch(ANA)).heard[0]?.data.snapshot).toBeNull();
  });

  it('tells of batches, groups and operations of all, each tenant of its own, also when a client does not read', async () => {
    const stalled = await stalledClient();
    const [root, ana] = await Promise.all([watch(ADMIN), watch(ANA)]);
    await untilHeard(root);
    const batches = await Promise.all(
      ['a', 'b'].map(async (tenant) => (await services.pusher.start('short', 'key', null, { tenant })).id),
    );
    await services.bulk.submitBulk({ id: 'a/good' }, jobs('ok'));
    await services.bulk.submitBulk({ id: 'b/bad' }, jobs('dead'));
    const command = { domain: 'TEST', eventType: 'ECHO', bizKey: 'k', timeBudgetMs: 5_000 };
    const operations = await Promise.all(
      [ANA, BEN].map(async (key) => (await post('/api/operations', key, command)).body.opId),
    );
    const has = (what: string, condition: () => boolean) => until(condition, { what, deadlineMs: 10_000 });
    await has('the batches', () => batches.every((id) => root.of('batches').includes(id)));
    await has('the operations', () => operations.every((id) => root.of('operations').includes(id)));
    await has('the end of the group', () =>
      (root.of('groups') as { id: string; status: string }[]).some(
        ({ id, status }) => id === 'a/good' && status === 'COMPLETED',
      ),
    );
    await has('the dead letter', () => root.heard.slice(1).some(({ data }) => data.deadLetters));
    stalled.destroy();
    await has('all that is a’s', () =>
      ['batches', 'operations', 'groups'].every((list) => ana.of(list).length > 0),
    );
    expect(new Set(ana.of('batches'))).toEqual(new Set([batches[0]]));
    expect(new Set(ana.of('operations'))).toEqual(new Set([operations[0]]));
    expect(new Set(ana.of('groups').map((group) => (group as { id: string }).id))).toEqual(new Set(['good']));
    for (const { data } of ana.heard.slice(1))
      expect(data).toMatchObject({ deadLetters: false, snapshot: null });
    expect(root.heard.slice(1).some(({ data }) => data.snapshot?.queues)).toBe(true);
    for (const { event: type, data } of root.heard)
      expect(WatchEvent.parse({ type, data })).toEqual({ type, data });
  });

  it('tells of a batch when it begins, before any of its tasks has ended', async () => {
    const [root, ana] = await Promise.all([watch(ADMIN), watch(ANA)]);
    const { id } = (await post('/api/batches', ANA, { dag: 'held', bizKey: 'k' })).body;
    for (const { of } of [root, ana]) await until(() => of('batches').includes(id), { what: 'the batch' });
    expect((await api.send(`/api/batches/${id}`, { key: ANA })).body.batch).toMatchObject({
      status: 'RUNNING',
    });
    mayEnd.open();
  });

  it('has no pool where no jobs run, and says so', async () => {
    const { body } = await api.send('/api/bulk/pool', { key: ADMIN });
    expect(body).toMatchObject({ pool: null, instances: [{ instanceId: worker.instanceId }] });
    const refused = await api.send('/api/bulk/pool', {
      method: 'PATCH',
      key: ADMIN,
      body: { workerCount: 1, instance: api.instanceId },
    });
    expect(refused).toMatchObject({ status: 404, body: { code: 'INSTANCE_NOT_FOUND' } });
    const { items } = (await api.send('/api/instances', { key: ADMIN })).body;
    expect(items).toMatchObject([
      { role: 'api', workerCount: null, outboxConcurrency: null, processors: [] },
      { role: 'worker', routes: expect.arrayContaining(['TEST.ECHO']) },
    ]);
  });
});
