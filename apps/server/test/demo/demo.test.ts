import { type RedisSandbox, redisSandbox, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AppServices, defineApp } from '../../src/define-app.js';
import { serve, type TestServer } from '../serve.js';

let redis: RedisSandbox;
let server: TestServer;
/** Another instance over the same stores. */
let other: TestServer;
let services: AppServices;

beforeAll(async () => {
  redis = await redisSandbox();
  const stores = { redisUrl: redis.url, keyPrefix: `${redis.namespace}:` };
  const application = defineApp((given) => {
    services = given;
    return {};
  });
  server = await serve({ ...stores, application });
  other = await serve({ ...stores, role: 'api', databaseUrl: server.databaseUrl });
});
afterAll(async () => {
  await other?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  await redis?.[Symbol.asyncDispose]();
});

/** What a command comes to, however long that takes. */
async function outcomeOf(eventType: string, payload: unknown) {
  const body = { domain: 'DEMO', eventType, bizKey: 'b', payload, timeBudgetMs: 5_000 };
  const answer = await server.send('/api/operations', { body });
  if (answer.status === 200) return answer.body.outcome;
  expect(answer.status).toBe(202);
  return (await server.send(`${answer.body.statusUrl}?wait=30`)).body.outcome;
}

const resultOf = async (id: string, processorType: string, count: number, payload: object) => {
  const jobs = Array.from({ length: count }, (_, n) => ({ id: `job-${n}`, processorType, payload }));
  await services.bulk.submitBulk({ id }, jobs);
  return until(() => services.bulk.getResult(id), { what: `the result of ${id}`, deadlineMs: 20_000 });
};

describe('the demo application, served beside the user’s', () => {
  it('greets', async () => {
    expect(await outcomeOf('GREET', { name: 'Ada' })).toMatchObject({
      type: 'Ok',
      data: { greeting: 'Hello, Ada' },
    });
    expect(await outcomeOf('GREET', null)).toMatchObject({ data: { greeting: 'Hello, world' } });
  });

  it('mails in bulk, and adds up what it did', async () => {
    const { data } = await outcomeOf('MAIL', { count: 20, ms: 1 });
    expect(data).toMatchObject({ total: 20, success: 20, data: { workedMs: 20 } });
  });

  it('settles in steps; one of them can be made to fail', async () => {
    const { data } = await outcomeOf('CLOSE', { ms: 1 });
    expect(data.results.report).toEqual({ settled: 1_000 });
    expect(await outcomeOf('CLOSE', { ms: 1, fail: 'gbp' })).toMatchObject({
      type: 'Fail',
      message: 'gbp was asked to fail',
    });
  });

  it.each([
    ['GREET', { ms: 60_001 }],
    ['MAIL', { count: 10_001 }],
    ['CLOSE', { fail: 'nothing' }],
  ])('refuses a payload of %s that it cannot read, and says why', async (event, payload) => {
    const outcome = await outcomeOf(event, payload);
    expect(outcome).toMatchObject({ type: 'Fail' });
    expect(outcome.message).toMatch(/The payload cannot be used/);
  });

  it('has jobs that die of three causes, and a service that refuses calls without a loss', async () => {
    const [dead, called] = await Promise.all([
      resultOf('dead', 'demo.work', 9, { ms: 1, fail: 'always' }),
      resultOf('called', 'demo.call', 12, { ms: 1 }),
    ]);
    expect(dead.failedByCode).toEqual({ CARD_EXPIRED: 3, NO_SUCH_ADDRESS: 3, LEDGER_LOCKED: 3 });
    expect(called).toMatchObject({ success: 12 });
    expect((await services.bulk.getGroup('called')).throttled).toBeGreaterThan(0);
  });
});

describe('POST and DELETE /api/demo', () => {
  const post = (at: TestServer, body: object = {}) => at.send('/api/demo', { method: 'POST', body });
  const stop = (at: TestServer) => at.send('/api/demo', { method: 'DELETE' });
  const openGroups = async (tenant: string) => {
    const { items } = await services.bulk.listGroups({ tenant });
    return items.filter(({ status }) => ['CREATED', 'DISPATCHED', 'RUNNING'].includes(status));
  };

  it('starts one for all instances; any of them stops it', async () => {
    const first = await post(server, { seconds: 30, whaleJobs: 3_000, tenants: 2 });
    expect(first).toMatchObject({ status: 202, body: { created: true } });
    const { run, groupId } = first.body;
    for (const at of [server, other])
      expect(await post(at, { seconds: 600 })).toMatchObject({
        status: 202,
        body: { ...first.body, created: false, startedAt: expect.any(String) },
      });
    expect((await openGroups('demo-whale')).map(({ id }) => id)).toEqual([groupId]);
    const patience = { deadlineMs: 15_000 };
    await until(async () => (await openGroups('demo-caller')).length > 0, { what: 'calls', ...patience });
    const bizKeys = async () => (await server.send('/api/operations?limit=50')).body.items;
    await until(async () => JSON.stringify(await bizKeys()).includes(`"bizKey":"${run}`), {
      what: 'a command',
      ...patience,
    });
    const sessions = () => server.send('/api/chat/sessions?tenant=demo-desk');
    await until(async () => (await sessions()).body.items.length > 0, { what: 'a chat', ...patience });

    const stopped = await stop(other);
    expect(stopped.status).toBe(200);
    expect(stopped.body.groups).toBeGreaterThanOrEqual(1);
    expect((await services.bulk.getGroup(groupId)).status).toBe('CANCELLED');
    // The instance that runs it sees that, and then another one can be started.
    await until(() => server.lines.some((line) => line.includes('A demo has ended')), {
      what: 'the end of the demo',
      ...patience,
    });
    expect(await openGroups('demo-caller')).toEqual([]);

    const again = await post(server, { seconds: 10, whaleJobs: 100 });
    expect(again.body).toMatchObject({ created: true });
    expect((await stop(server)).body.groups).toBeGreaterThanOrEqual(1);
    expect((await stop(server)).body).toEqual({ groups: 0, batches: 0, operations: 0 });
  });

  it('takes what it is asked for only within its bounds', async () => {
    for (const body of [{ seconds: 9 }, { seconds: 601 }, { whaleJobs: 20_001 }, { tenants: 21 }, { x: 1 }])
      expect(await post(server, body)).toMatchObject({ status: 400, body: { code: 'REQUEST_INVALID' } });
  });

  it('starts none where too many jobs would wait', async () => {
    await using small = await serve({ bulk: { limits: { queuedJobsMax: 5_000 } } });
    expect(await post(small)).toMatchObject({ status: 503, body: { code: 'DEMO_REFUSED' } });
  });
});
