import { Problem, ROUTES } from '@millrace/contract';
import { ProblemError } from '@millrace/contract/client';
import { latch } from '@millrace/testkit';
import { ForbiddenException } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { inline, MemoryOperationStore } from '../../src/index.js';
import { ProblemFilter } from '../../src/nestjs/index.js';
import { endless, expectProblem, open, type Served, serve } from './boot.js';

const COMMAND = { domain: 'ORDER', eventType: 'PLACE', bizKey: 'order-1' };
const UNKNOWN = '018f0000-0000-7000-8000-000000000000';
const onRefused = 'reject';
const routes = {
  'ORDER.PLACE': inline(() => 1),
  'ORDER.RATE': inline(() => 1, { protect: { rateLimit: { rps: 0.01, burst: 1 }, onRefused } }),
  'ORDER.FULL': inline(() => latch('never').promise, {
    protect: { bulkhead: { concurrency: 1 }, onRefused },
  }),
  'ORDER.DOWN': inline(() => Promise.reject(new Error('down')), {
    protect: { circuitBreaker: { callsMin: 1, openMs: 60_000 }, onRefused },
    retry: { retries: 0 },
  }),
};

let served: Served;
beforeAll(async () => {
  served = await open(
    {
      routes,
      gracePeriodMs: 10,
      tenantOf: ({ headers }) => {
        if (headers['x-secret'] === 'wrong') throw new ForbiddenException('Not with this key');
        if (headers['x-secret'] === 'broken') throw new Error('password=hunter2');
        return '';
      },
    },
    { prepare: (app) => app.useGlobalFilters(new ProblemFilter()) },
  );
});
afterAll(() => served.app.close());

it.each<[string, unknown, readonly string[]]>([
  ['missing fields', {}, ['domain', 'eventType', 'bizKey']],
  ['no object', 'null', ['']],
  ['unknown fields', { ...COMMAND, tenant: 'other', opId: UNKNOWN }, ['tenant', 'opId']],
  ['a payload over 1 MiB', { ...COMMAND, payload: 'x'.repeat(1_048_575) }, ['payload']],
])('orchestrator FR-5: COMMAND_INVALID 400 names each field: %s', async (_, body, fields) => {
  const problem = Problem.parse(await expectProblem(await served.post(body), 'COMMAND_INVALID', 400));
  expect(problem.errors?.map(({ field }) => field)).toEqual(fields);
  expect(problem).toMatchObject({ retryable: false, instance: '/api/operations' });
});

it('orchestrator FR-5: a hostile body costs one answer: many unknown fields, names that are long, __proto__, depth', async () => {
  const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`f${index}`, 1]));
  const problem = await expectProblem(await served.post({ ...COMMAND, ...many }), 'COMMAND_INVALID', 400);
  expect((problem.errors as unknown[]).length).toBeLessThanOrEqual(50);
  const long = await served.post({ ...COMMAND, ['x'.repeat(100_000)]: 1 });
  expect(long.status).toBe(400);
  expect((await long.text()).length).toBeLessThan(2_000);
  for (const text of ['{"__proto__":{"polluted":1}}', '{"constructor":{"prototype":{"polluted":1}}}']) {
    const response = await served.post(text.replace('{', '{"domain":"ORDER",'));
    expect(response.status).toBe(400);
    expect({}).not.toHaveProperty('polluted');
  }
  const deep = `{"domain":"ORDER","eventType":"PLACE","bizKey":"deep","timeBudgetMs":5000,"payload":${'['.repeat(10_000)}${']'.repeat(10_000)}}`;
  const tooDeep = await expectProblem(await served.post(deep), 'COMMAND_INVALID', 400);
  expect(tooDeep.errors).toEqual([{ field: 'payload', message: expect.any(String) }]);
  expect((await served.post({ ...COMMAND, timeBudgetMs: 5_000 })).status).toBe(200);
});

it('orchestrator FR-5: answers each refusal of a command with the status of its code', async () => {
  const outside = { ...COMMAND, timeBudgetMs: 5_001 };
  const range = /between 50 and 5000 ms \(current: 5001\)/;
  await expectProblem(await served.post(outside), 'TIME_BUDGET_OUT_OF_RANGE', 400, range);
  const unknown = { ...COMMAND, eventType: 'NONE' };
  await expectProblem(await served.post(unknown), 'ROUTE_NOT_FOUND', 404, /ORDER\.NONE/);
  const command = { ...COMMAND, idemKey: 'conflict', timeBudgetMs: 5_000 };
  const { opId } = (await (await served.post({ ...command, payload: 1 })).json()) as { opId: string };
  const other = await served.post({ ...command, payload: 2 });
  const problem = await expectProblem(other, 'IDEMPOTENCY_CONFLICT', 422, new RegExp(opId));
  expect(problem.retryable).toBe(false);
});

it.each([
  ['RATE', 'RATE_LIMIT', 429, 50],
  ['FULL', 'BULKHEAD_FULL', 503, 1],
  ['DOWN', 'CB_OPEN', 503, 50],
])('orchestrator FR-5: route %s refuses with %s %i and Retry-After, and stores nothing', async (...given) => {
  const [eventType, code, status, seconds] = given;
  const command = { ...COMMAND, eventType, timeBudgetMs: 50 };
  expect((await served.post(command)).status).toBeLessThan(300);
  const refused = await served.post({ ...command, bizKey: 'refused' });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(seconds);
  expect(await expectProblem(refused, code, status)).toMatchObject({ retryable: true });
  expect((await served.client.list({ bizKey: 'refused' })).items).toEqual([]);
});

it('orchestrator FR-5: OPERATION_NOT_FOUND 404 for every question, whatever the id is', async () => {
  for (const id of [UNKNOWN, 'x', '%00', 'a%2Fb', '..%2F..', "'%3B--"])
    for (const [path, method] of [
      [`/${id}/status`, 'GET'],
      [`/${id}/status?wait=1`, 'GET'],
      [`/${id}/events`, 'GET'],
      [`/${id}`, 'DELETE'],
    ] as const) {
      const response = await served.ask(`/api/operations${path}`, { method });
      await expectProblem(response, 'OPERATION_NOT_FOUND', 404);
    }
});

it('orchestrator FR-5: answers what Nest and Fastify refuse as a problem with its own status', async () => {
  await expectProblem(await served.post('{"a":'), 'BAD_REQUEST', 400);
  await expectProblem(await served.post('x'.repeat(3_000_000)), 'PAYLOAD_TOO_LARGE', 413);
  const text = await served.post('a=b', { 'content-type': 'text/csv' });
  await expectProblem(text, 'UNSUPPORTED_MEDIA_TYPE', 415);
  await expectProblem(await served.ask('/api/nothing'), 'NOT_FOUND', 404);
});

it('orchestrator FR-5: tells a caller who is not admitted nothing of what is wrong with the request', async () => {
  const headers = { 'x-secret': 'wrong' };
  await expectProblem(await served.post({}, headers), 'FORBIDDEN', 403, 'Not with this key');
  for (const path of ['?limit=0', '/x/status', `/${UNKNOWN}/status?wait=x`, '/x/events'])
    await expectProblem(await served.ask(`/api/operations${path}`, { headers }), 'FORBIDDEN', 403);
});

it('orchestrator FR-5: serves every route of the contract, with a status that the contract names', async () => {
  const operations = Object.values(ROUTES).filter(({ tag }) => tag === 'Operations');
  for (const { method, path, responses } of operations) {
    const init = method === 'POST' ? { body: '{}', headers: { 'content-type': 'application/json' } } : {};
    const response = await served.ask(path.replace('{opId}', UNKNOWN), { method, ...init });
    const { code } = (await response.json()) as { code?: string };
    expect(code, `${method} ${path}`).not.toBe('NOT_FOUND');
    expect(Object.keys(responses)).toContain(String(response.status));
  }
});

it('orchestrator FR-5: answers anything unexpected with INTERNAL 500, without a word of what it was', async () => {
  const headers = { 'x-secret': 'broken' };
  for (const response of [
    await served.post(COMMAND, headers),
    await served.ask('/api/operations', { headers }),
  ]) {
    const problem = await expectProblem(response, 'INTERNAL', 500);
    expect(JSON.stringify(problem)).not.toMatch(/hunter2|Error|at /);
    const fields = ['code', 'detail', 'instance', 'retryable', 'status', 'title', 'type'];
    expect(Object.keys(problem).sort()).toEqual(fields);
  }
});

it.each([
  ['?state=DONE', 'REQUEST_INVALID'],
  ['?limit=0', 'REQUEST_INVALID'],
  ['?unknown=1', 'REQUEST_INVALID'],
  ['?cursor=zzz', 'ID_INVALID'],
  [`/${UNKNOWN}/status?wait=-1`, 'REQUEST_INVALID'],
  [`/${UNKNOWN}/status?weit=1`, 'REQUEST_INVALID'],
])('orchestrator FR-5: %s is %s 400', async (query, code) => {
  await expectProblem(await served.ask(`/api/operations${query}`), code, 400);
});

it('orchestrator FR-5: OPERATION_RUNNING 409 in strict mode, which the client throws', async () => {
  const strict = { routes: { 'ORDER.PLACE': endless }, idempotency: 'strict', gracePeriodMs: 10 } as const;
  const { client } = await serve(strict);
  const options = { timeBudgetMs: 50, idempotencyKey: 'one' };
  const { opId } = await client.submit(COMMAND, options);
  const error = await client.submit(COMMAND, options).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ProblemError);
  const problem = { code: 'OPERATION_RUNNING', status: 409, retryable: true };
  expect(error).toMatchObject({ ...problem, message: expect.stringContaining(opId) });
});

it('orchestrator FR-5: a 503 has a Retry-After even if its error sets no time', async () => {
  const store = new MemoryOperationStore({ operationsMax: 1 });
  const { post } = await serve({ routes: { 'ORDER.PLACE': endless }, store, gracePeriodMs: 10 });
  expect((await post({ ...COMMAND, timeBudgetMs: 50 })).status).toBe(202);
  const full = await post({ ...COMMAND, timeBudgetMs: 50 });
  expect(full.headers.get('retry-after')).toBe('1');
  await expectProblem(full, 'STORE_FULL', 503);
});
