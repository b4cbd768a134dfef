import { Problem, ROUTES } from '@millrace/contract';
import { ProblemError } from '@millrace/contract/client';
import { latch } from '@millrace/testkit';
import { ForbiddenException } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inline, MemoryOperationStore, Outcome } from '../../src/index.js';
import { ProblemFilter } from '../../src/nestjs/index.js';
import { endless, expectProblem, open, type Served, serve } from './boot.js';

const COMMAND = { domain: 'ORDER', eventType: 'PLACE', bizKey: 'order-1' };
const UNKNOWN = '018f0000-0000-7000-8000-000000000000';
const never = inline(() => Outcome.ok(), {
  protect: { rateLimit: { rps: 0.01, burst: 1 }, onRefused: 'reject' },
});
const full = inline(() => latch('never').promise, {
  protect: { bulkhead: { concurrency: 1 }, onRefused: 'reject' },
});
const failing = inline(
  () => {
    throw new Error('down');
  },
  {
    protect: { circuitBreaker: { callsMin: 1, openMs: 60_000 }, onRefused: 'reject' },
    retry: { retries: 0 },
  },
);

describe('orchestrator FR-5: every problem has its code and status', () => {
  let served: Served;
  beforeAll(async () => {
    served = await open(
      {
        routes: {
          'ORDER.PLACE': inline(() => 1),
          'ORDER.RATE': never,
          'ORDER.FULL': full,
          'ORDER.DOWN': failing,
        },
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
    ['nothing', {}, ['domain', 'eventType', 'bizKey']],
    ['a list', [], ['']],
    ['a text', '"text"', ['']],
    ['null', 'null', ['']],
    ['small letters', { ...COMMAND, domain: 'order' }, ['domain']],
    ['too many letters', { ...COMMAND, eventType: 'X'.repeat(51) }, ['eventType']],
    ['no business key', { ...COMMAND, bizKey: '' }, ['bizKey']],
    ['a blank business key', { ...COMMAND, bizKey: ' \t' }, ['bizKey']],
    ['a business key that is too long', { ...COMMAND, bizKey: 'x'.repeat(101) }, ['bizKey']],
    ['a blank idempotency key', { ...COMMAND, idemKey: '  ' }, ['idemKey']],
    ['NUL', { ...COMMAND, bizKey: 'a\0b', idemKey: '\0' }, ['bizKey', 'idemKey']],
    ['half a surrogate pair', { ...COMMAND, bizKey: 'a\ud800' }, ['bizKey']],
    ['numbers', { ...COMMAND, bizKey: 1, idemKey: null }, ['bizKey', 'idemKey']],
    ['unknown fields', { ...COMMAND, tenant: 'other', opId: UNKNOWN }, ['tenant', 'opId']],
    ['a budget in words', { ...COMMAND, timeBudgetMs: '200' }, ['timeBudgetMs']],
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

  it.each([49, 5_001, 0, -1, 1e300])(
    'orchestrator FR-3: TIME_BUDGET_OUT_OF_RANGE 400 for %d',
    async (timeBudgetMs) => {
      const response = await served.post({ ...COMMAND, timeBudgetMs });
      await expectProblem(response, 'TIME_BUDGET_OUT_OF_RANGE', 400, /between 50 and 5000 ms \(current: /);
    },
  );

  it('orchestrator FR-5: ROUTE_NOT_FOUND 404, OPERATION_NOT_FOUND 404 for every question, whatever the id is', async () => {
    await expectProblem(
      await served.post({ ...COMMAND, eventType: 'NONE' }),
      'ROUTE_NOT_FOUND',
      404,
      /ORDER\.NONE/,
    );
    for (const id of [UNKNOWN, 'x', '%00', 'a%2Fb', '..%2F..', "'%3B--"])
      for (const [path, method] of [
        [`/${id}/status`, 'GET'],
        [`/${id}/status?wait=1`, 'GET'],
        [`/${id}/events`, 'GET'],
        [`/${id}`, 'DELETE'],
      ] as const)
        await expectProblem(
          await served.ask(`/api/operations${path}`, { method }),
          'OPERATION_NOT_FOUND',
          404,
        );
  });

  it('orchestrator FR-5: IDEMPOTENCY_CONFLICT 422 for the same key with another payload', async () => {
    const command = { ...COMMAND, idemKey: 'conflict', timeBudgetMs: 5_000 };
    const first = (await (await served.post({ ...command, payload: 1 })).json()) as { opId: string };
    const problem = await expectProblem(
      await served.post({ ...command, payload: 2 }),
      'IDEMPOTENCY_CONFLICT',
      422,
      new RegExp(first.opId),
    );
    expect(problem.retryable).toBe(false);
  });

  it('orchestrator FR-5: RATE_LIMIT 429, BULKHEAD_FULL 503 and CB_OPEN 503 with Retry-After; nothing is stored', async () => {
    for (const [eventType, code, status, seconds] of [
      ['RATE', 'RATE_LIMIT', 429, 50],
      ['FULL', 'BULKHEAD_FULL', 503, 1],
      ['DOWN', 'CB_OPEN', 503, 50],
    ] as const) {
      const command = { ...COMMAND, eventType, timeBudgetMs: 50 };
      expect((await served.post(command)).status).toBeLessThan(300);
      const refused = await served.post({ ...command, bizKey: 'refused' });
      const retryAfter = Number(refused.headers.get('retry-after'));
      const problem = await expectProblem(refused, code, status);
      expect(problem.retryable).toBe(true);
      expect(retryAfter).toBeGreaterThanOrEqual(seconds);
      expect((await served.client.list({ bizKey: 'refused' })).items).toEqual([]);
    }
  });

  it('orchestrator FR-5: what Nest and Fastify refuse is a problem too, with its own status', async () => {
    await expectProblem(await served.post('{"a":'), 'BAD_REQUEST', 400);
    await expectProblem(await served.post('x'.repeat(3_000_000)), 'PAYLOAD_TOO_LARGE', 413);
    await expectProblem(
      await served.post('a=b', { 'content-type': 'text/csv' }),
      'UNSUPPORTED_MEDIA_TYPE',
      415,
    );
    await expectProblem(
      await served.post(COMMAND, { 'x-secret': 'wrong' }),
      'FORBIDDEN',
      403,
      'Not with this key',
    );
    await expectProblem(await served.ask('/api/nothing'), 'NOT_FOUND', 404);
  });

  it('orchestrator FR-5: who may not come in learns nothing of what is wrong with the request', async () => {
    const headers = { 'x-secret': 'wrong' };
    await expectProblem(await served.post({}, headers), 'FORBIDDEN', 403);
    for (const path of ['?limit=0', '/x/status', `/${UNKNOWN}/status?wait=x`, '/x/events'])
      await expectProblem(await served.ask(`/api/operations${path}`, { headers }), 'FORBIDDEN', 403);
  });

  it('orchestrator FR-5: every route of the contract is served, and answers as the contract says', async () => {
    const routes = Object.values(ROUTES).filter(({ tag }) => tag === 'Operations');
    for (const { method, path, responses } of routes) {
      const init = method === 'POST' ? { body: '{}', headers: { 'content-type': 'application/json' } } : {};
      const response = await served.ask(path.replace('{opId}', UNKNOWN), { method, ...init });
      const { code } = (await response.json()) as { code?: string };
      expect(code, `${method} ${path}`).not.toBe('NOT_FOUND');
      expect(Object.keys(responses)).toContain(String(response.status));
    }
  });

  it('orchestrator FR-5: anything unexpected is INTERNAL 500 without a word of what it was', async () => {
    for (const response of [
      await served.post(COMMAND, { 'x-secret': 'broken' }),
      await served.ask('/api/operations', { headers: { 'x-secret': 'broken' } }),
    ]) {
      const problem = await expectProblem(response, 'INTERNAL', 500);
      expect(JSON.stringify(problem)).not.toMatch(/hunter2|Error|at /);
      expect(Object.keys(problem).sort()).toEqual([
        'code',
        'detail',
        'instance',
        'retryable',
        'status',
        'title',
        'type',
      ]);
    }
  });

  it.each([
    '?state=DONE',
    '?limit=0',
    '?limit=201',
    '?limit=x',
    '?unknown=1',
    '?deadLetter=yes',
    '?state=FAILED&state=PENDING',
    '?cursor=',
  ])('orchestrator FR-5: REQUEST_INVALID 400 for the list %s', async (query) => {
    const response = await served.ask(`/api/operations${query}`);
    const problem = await expectProblem(response, 'REQUEST_INVALID', 400);
    expect(problem).toMatchObject({ errors: [{ field: expect.stringMatching(/^[a-zA-Z]+$/) }] });
  });

  it.each(['?wait=x', '?wait=-1', '?wait=1e3', '?wait=', '?wait=1&wait=2', '?weit=1'])(
    'orchestrator FR-5: REQUEST_INVALID 400 for the status %s',
    async (query) => {
      await expectProblem(
        await served.ask(`/api/operations/${UNKNOWN}/status${query}`),
        'REQUEST_INVALID',
        400,
      );
    },
  );

  it('orchestrator FR-5: a cursor that is not ours is refused', async () => {
    await expectProblem(await served.ask('/api/operations?cursor=zzz'), 'ID_INVALID', 400);
  });
});

it('orchestrator FR-5: OPERATION_RUNNING 409 in strict mode; the client throws the problem', async () => {
  const { client } = await serve({
    routes: { 'ORDER.PLACE': endless },
    idempotency: 'strict',
    gracePeriodMs: 10,
  });
  const { opId } = await client.submit(COMMAND, { timeBudgetMs: 50, idempotencyKey: 'one' });
  const second = client.submit(COMMAND, { timeBudgetMs: 50, idempotencyKey: 'one' });
  const error = await second.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ProblemError);
  expect(error).toMatchObject({
    code: 'OPERATION_RUNNING',
    status: 409,
    retryable: true,
    message: expect.stringContaining(opId),
    problem: { instance: '/api/operations' },
  });
});

it('orchestrator FR-5: STORE_UNAVAILABLE 503 with Retry-After when the store does not confirm; STORE_FULL 503 when it has no room', async () => {
  const store = new MemoryOperationStore({ operationsMax: 1 });
  const { post } = await serve({ routes: { 'ORDER.PLACE': endless }, store, gracePeriodMs: 10 });
  expect((await post({ ...COMMAND, timeBudgetMs: 50 })).status).toBe(202);
  const full = await post({ ...COMMAND, timeBudgetMs: 50 });
  expect(Number(full.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  await expectProblem(full, 'STORE_FULL', 503);

  const hanging = new MemoryOperationStore();
  const { runs } = hanging;
  Object.defineProperty(hanging, 'runs', {
    value: { ...bound(runs), accept: () => latch('the store answers').promise },
  });
  const away = await serve({ routes: { 'ORDER.PLACE': endless }, store: hanging, gracePeriodMs: 10 });
  const response = await away.post({ ...COMMAND, timeBudgetMs: 50 });
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  const problem = await expectProblem(response, 'STORE_UNAVAILABLE', 503, /repeat the same idempotency key/);
  expect(problem.retryable).toBe(true);
});

/** The methods of a part of a store, so that one of them can be another. */
const bound = <T extends object>(part: T): T =>
  Object.fromEntries(
    Object.getOwnPropertyNames(Object.getPrototypeOf(part))
      .filter((name) => name !== 'constructor')
      .map((name) => [name, (part as Record<string, (...args: never[]) => unknown>)[name]?.bind(part)]),
  ) as T;
