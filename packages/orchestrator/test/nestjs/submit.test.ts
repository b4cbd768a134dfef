import { AcceptedResponse, CompletedResponse } from '@millrace/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inline, Outcome } from '../../src/index.js';
import { endless, expectProblem, open, type Served, serve } from './boot.js';

const COMMAND = { domain: 'ORDER', eventType: 'PLACE', bizKey: 'order-1' };
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
/** A budget that is enough on a busy machine. */
const PATIENT = { timeBudgetMs: 5_000 };

const quick = inline(({ payload }) => Outcome.ok({ echo: payload }, 'done'));

describe('orchestrator FR-5: the answer 200', () => {
  it('orchestrator FR-5: an outcome within the budget is 200 with opId, status and every field of the outcome', async () => {
    const { post } = await serve({ routes: { 'ORDER.PLACE': quick } });
    const response = await post({ ...COMMAND, idemKey: 'k', payload: { a: [1, null] }, ...PATIENT });
    const body = await response.json();
    expect(response.status).toBe(200);
    expect(body).toEqual({
      opId: expect.stringMatching(UUID_V7),
      status: 'COMPLETED',
      outcome: { type: 'Ok', message: 'done', data: { echo: { a: [1, null] } } },
    });
    expect(CompletedResponse.parse(body)).toEqual(body);
    for (const name of ['location', 'retry-after', 'preference-applied'])
      expect(response.headers.get(name)).toBeNull();
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  it('orchestrator FR-5: a business failure is 200 with status FAILED, not an HTTP error', async () => {
    const { client } = await serve({
      routes: {
        'ORDER.PLACE': inline(() => Outcome.fail('NO_STOCK', 'There is none left', { left: 0 })),
        'ORDER.SPENT': inline(
          () => Outcome.retry({ reason: 'LATER', attemptCount: 1, nextRetryAfterMs: 10 }),
          {
            retry: { retries: 0 },
          },
        ),
      },
    });
    const submit = (eventType: string) => client.submit({ ...COMMAND, eventType }, PATIENT);
    expect(await submit('PLACE')).toEqual({
      opId: expect.any(String),
      status: 'FAILED',
      outcome: { type: 'Fail', errorCode: 'NO_STOCK', message: 'There is none left', cause: { left: 0 } },
    });
    expect(await submit('SPENT')).toMatchObject({
      status: 'FAILED',
      outcome: { type: 'Retry', reason: 'LATER', attemptCount: 1, nextRetryAfterMs: 10 },
    });
  });
});

describe('orchestrator FR-5: the answer 202', () => {
  it('orchestrator FR-5: after the budget it is 202 with statusUrl, estimate, Location and Retry-After, and the URL works at once', async () => {
    const { post, ask } = await serve({ routes: { 'ORDER.PLACE': endless }, gracePeriodMs: 10 });
    const before = Date.now();
    const response = await post({ ...COMMAND, timeBudgetMs: 50 });
    const body = (await response.json()) as AcceptedResponse;
    expect(response.status).toBe(202);
    expect(body).toEqual({
      opId: expect.stringMatching(UUID_V7),
      status: 'IN_PROGRESS',
      statusUrl: `/api/operations/${body.opId}/status`,
      estimatedCompletionTime: expect.any(String),
    });
    expect(AcceptedResponse.parse(body)).toEqual(body);
    expect(Date.parse(body.estimatedCompletionTime)).toBeGreaterThan(before);
    expect(response.headers.get('location')).toBe(body.statusUrl);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await (await ask(body.statusUrl)).json()).toMatchObject({ opId: body.opId, endedAt: null });
  });

  it('orchestrator FR-5: a status URL is below the path of the request, or below statusBasePath', async () => {
    const routes = { 'ORDER.PLACE': endless };
    const quickly = { ...COMMAND, timeBudgetMs: 50 };
    const prefixed = await serve(
      { routes, path: '/ops/', gracePeriodMs: 10 },
      { prepare: (app) => app.setGlobalPrefix('v1'), path: '/v1/ops' },
    );
    const accepted = (await (await prefixed.post(quickly)).json()) as AcceptedResponse;
    expect(accepted.statusUrl).toBe(`/v1/ops/${accepted.opId}/status`);
    expect((await prefixed.ask(accepted.statusUrl)).status).toBe(200);
    const named = await serve({
      routes,
      statusBasePath: 'https://example.test/operations',
      gracePeriodMs: 10,
    });
    const other = await named.client.submit(COMMAND, { timeBudgetMs: 50 });
    expect(other).toMatchObject({ statusUrl: `https://example.test/operations/${other.opId}/status` });
  });
});

describe('orchestrator FR-5: Prefer (RFC 7240)', () => {
  const routes = { 'ORDER.PLACE': quick, 'ORDER.SLOW': endless };
  let served: Served;
  beforeAll(async () => {
    served = await open({ routes, gracePeriodMs: 10 });
  });
  afterAll(() => served.app.close());

  it.each<[string, string, number, string | null]>([
    ['PLACE', 'respond-async, wait=100', 200, 'wait=5'],
    ['SLOW', 'wait=0, respond-async', 202, 'respond-async, wait=0.05'],
    ['SLOW', 'return=minimal', 202, null],
  ])(
    'orchestrator FR-5: %s with Prefer: %s is %i, and Preference-Applied says %s',
    async (eventType, prefer, status, applied) => {
      const response = await served.post({ ...COMMAND, eventType }, { prefer });
      expect(response.status).toBe(status);
      expect(response.headers.get('preference-applied')).toBe(applied);
    },
  );

  it('orchestrator FR-5: the budget of the body wins over a preference', async () => {
    const { post, client } = served;
    const response = await post({ ...COMMAND, eventType: 'SLOW', timeBudgetMs: 50 }, { prefer: 'wait=5' });
    expect(response.status).toBe(202);
    expect(response.headers.get('preference-applied')).toBeNull();
    expect(await client.submit(COMMAND, { wait: 100 })).toMatchObject({ status: 'COMPLETED' });
  });
});

describe('orchestrator FR-5: Idempotency-Key', () => {
  it('orchestrator FR-5: the header is the idemKey: the same key returns the same operation, whose work runs once', async () => {
    let runs = 0;
    const { post } = await serve({ routes: { 'ORDER.PLACE': inline(() => ++runs) } });
    const answers = await Promise.all(
      [{}, { idemKey: 'key 1' }, {}].map(async (extra) => {
        const response = await post({ ...COMMAND, ...extra, ...PATIENT }, { 'idempotency-key': 'key 1' });
        return (await response.json()) as CompletedResponse;
      }),
    );
    expect(new Set(answers.map(({ opId }) => opId)).size).toBe(1);
    expect(answers.map(({ outcome }) => outcome)).toEqual(Array(3).fill({ type: 'Ok', data: 1 }));
    expect(runs).toBe(1);
    const other = await post({ ...COMMAND, ...PATIENT }, { 'idempotency-key': 'key 2' });
    expect(((await other.json()) as CompletedResponse).opId).not.toBe(answers[0]?.opId);
  });

  it('orchestrator FR-5: rejects a key that differs from the body, and an invalid one', async () => {
    const { post } = await serve({ routes: { 'ORDER.PLACE': quick } });
    const differing = await post({ ...COMMAND, idemKey: 'a' }, { 'idempotency-key': 'b' });
    const problem = await expectProblem(differing, 'COMMAND_INVALID', 400, /Idempotency-Key/);
    expect(problem.errors).toEqual([{ field: 'idemKey', message: expect.stringContaining('left out') }]);
    const long = await expectProblem(
      await post(COMMAND, { 'idempotency-key': 'x'.repeat(256) }),
      'COMMAND_INVALID',
      400,
    );
    expect(long.errors).toEqual([{ field: 'idemKey', message: expect.stringContaining('255') }]);
  });
});
