import type { OperationEvent } from '@millrace/contract';
import { OperationBody, OperationPage } from '@millrace/contract';
import { createClient } from '@millrace/contract/client';
import { latch, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inline, Outcome } from '../../src/index.js';
import type { OrchestratorHost } from '../../src/nestjs/index.js';
import { endless, expectProblem, open, type Served, serve } from './boot.js';

const COMMAND = { domain: 'ORDER', eventType: 'PLACE', bizKey: 'order-1' };
const BRIEF = { timeBudgetMs: 50 };

/** Work that the test ends, and a signal of its start. */
function held() {
  const mayEnd = latch<unknown>('the work may end');
  const begun = latch('the work runs');
  const route = inline(() => {
    begun.open();
    return mayEnd.promise;
  });
  return { mayEnd, begun, routes: { 'ORDER.PLACE': route } };
}

/** Signals the start and the end of a request's wait. */
function watchWaits({ operations }: OrchestratorHost) {
  const entered = latch<AbortSignal>('the request waits');
  const left = latch('the request waits no more');
  const waitForEnd = operations.waitForEnd.bind(operations);
  operations.waitForEnd = async (id, waitMs, options) => {
    const waiting = waitForEnd(id, waitMs, options);
    entered.open(options?.signal as AbortSignal);
    const operation = await waiting;
    left.open();
    return operation;
  };
  return { entered, left };
}

describe('orchestrator FR-5: the status of an operation', () => {
  it('orchestrator FR-5: has state, outcome, attempts and times, before the end and after it', async () => {
    const { mayEnd, routes } = held();
    const { client, ask } = await serve({ routes });
    const { opId } = await client.submit(
      { ...COMMAND, payload: 'secret' },
      { ...BRIEF, idempotencyKey: 'k' },
    );
    const response = await ask(`/api/operations/${opId}/status`);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    const running = await until(
      async () => {
        const operation = await client.status(opId);
        return operation.state === 'IN_PROGRESS' && operation;
      },
      { what: 'the beginning to be written' },
    );
    expect(running).toEqual({
      opId,
      tenant: '',
      traceparent: null,
      domain: 'ORDER',
      eventType: 'PLACE',
      bizKey: 'order-1',
      idemKey: 'k',
      state: 'IN_PROGRESS',
      outcome: null,
      attempts: 1,
      attemptsMax: 4,
      refusals: 0,
      dueAt: null,
      backing: null,
      deadLetter: false,
      acceptedAt: expect.any(String),
      startedAt: expect.any(String),
      updatedAt: expect.any(String),
      endedAt: null,
    });
    mayEnd.open(Outcome.fail('NO', 'no'));
    const ended = await client.waitFor(opId);
    expect(OperationBody.parse(ended)).toEqual(ended);
    expect(ended).toMatchObject({
      state: 'FAILED',
      outcome: { type: 'Fail', errorCode: 'NO', message: 'no' },
      deadLetter: true,
      endedAt: expect.any(String),
    });
    const after = await ask(`/api/operations/${opId.toUpperCase()}/status`);
    expect(after.status).toBe(200);
    expect(after.headers.get('retry-after')).toBeNull();
  });

  it('orchestrator FR-5: ?wait= answers at the end of the operation, and after that time at the latest', async () => {
    const { mayEnd, begun, routes } = held();
    const { client, ask } = await serve({ routes });
    const { opId } = await client.submit(COMMAND, BRIEF);
    await begun.wait();
    const early = (await (await ask(`/api/operations/${opId}/status?wait=0.05`)).json()) as OperationBody;
    expect(early.endedAt).toBeNull();
    const waiting = ask(`/api/operations/${opId}/status?wait=999`);
    mayEnd.open('result');
    expect(await (await waiting).json()).toMatchObject({ state: 'COMPLETED', outcome: { data: 'result' } });
    expect(await client.waitFor(opId, { timeoutMs: 0 })).toMatchObject({ state: 'COMPLETED' });
  });

  it('orchestrator FR-5: stops waiting for a caller that disconnects', async () => {
    const { routes, mayEnd } = held();
    const { client, host } = await serve({ routes });
    const { opId } = await client.submit(COMMAND, BRIEF);
    const { entered, left } = watchWaits(host);
    const controller = new AbortController();
    const waiting = client.waitFor(opId, { signal: controller.signal });
    const signal = await entered.wait();
    expect(signal.aborted).toBe(false);
    controller.abort(new Error('changed my mind'));
    await expect(waiting).rejects.toThrow('changed my mind');
    await left.wait();
    expect(signal.aborted).toBe(true);
    mayEnd.open(1);
  });

  it('orchestrator FR-5: stores the trace of the caller, and ignores one that is not well formed', async () => {
    const { post, client } = await serve({ routes: { 'ORDER.PLACE': inline(() => 1) } });
    const trace = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    for (const [traceparent, kept] of [
      [trace, trace],
      ['x'.repeat(5_000), null],
    ] as const) {
      const response = await post({ ...COMMAND, timeBudgetMs: 5_000 }, { traceparent });
      const { opId } = (await response.json()) as { opId: string };
      expect(await client.status(opId)).toMatchObject({ traceparent: kept });
    }
  });
});

describe('orchestrator FR-5: events of an operation', () => {
  it('orchestrator FR-5: a stream begins with start, sends each change, and closes with the end', async () => {
    const mayEnd = latch('the second try may end');
    const run = async (_: unknown, { attempt }: { attempt: number }) => {
      if (attempt === 1) throw new Error('not this time');
      await mayEnd.promise;
      return 'well';
    };
    const { client, ask, host } = await serve({ routes: { 'ORDER.PLACE': inline(run) } });
    const { opId } = await client.submit(COMMAND, BRIEF);
    const events: OperationEvent[] = [];
    for await (const event of client.events(opId)) {
      events.push(event);
      if (event.operation.attempts === 2) mayEnd.open();
    }
    expect(events[0]?.type).toBe('start');
    expect(events.at(-1)).toMatchObject({
      type: 'end',
      operation: { opId, state: 'COMPLETED', attempts: 2 },
    });
    for (const { type, operation } of events.slice(1, -1)) {
      expect(type).toBe('change');
      expect(operation.endedAt).toBeNull();
    }
    await until(() => host.eventStreams === 0, { what: 'the stream to be forgotten' });
    // An ended operation sends start and end.
    const response = await ask(`/api/operations/${opId}/events`);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('cache-control')).toContain('no-cache');
    const lines = (await response.text()).split('\n').filter((line) => line.startsWith('event:'));
    expect(lines).toEqual(['event: start', 'event: end']);
  });

  it('orchestrator FR-5: frees the place of a client that disconnects for another one', async () => {
    const { client, ask, host } = await serve({
      routes: { 'ORDER.PLACE': endless },
      gracePeriodMs: 10,
      eventStreamsMax: 1,
    });
    const { opId } = await client.submit(COMMAND, BRIEF);
    const controller = new AbortController();
    const response = await ask(`/api/operations/${opId}/events`, { signal: controller.signal });
    expect(host.eventStreams).toBe(1);
    await expectProblem(await ask(`/api/operations/${opId}/events`), 'STREAMS_FULL', 429);
    controller.abort();
    await expect(response.text()).rejects.toThrow();
    await until(() => host.eventStreams === 0, { what: 'the client to be forgotten' });
    const events = client.events(opId);
    expect((await events.next()).value).toMatchObject({ type: 'start' });
    await events.return();
    await until(() => host.eventStreams === 0, { what: 'the second client to be forgotten' });
  });
});

describe('orchestrator FR-5: cancellation', () => {
  it('orchestrator FR-5: DELETE ends a running operation as FAILED CANCELLED, repeatably, and leaves an ended one as it is', async () => {
    const seen = latch('the work was told to stop');
    const route = inline((_, { signal }) => {
      signal.addEventListener('abort', () => seen.open());
      return latch('never').promise;
    });
    const routes = { 'ORDER.PLACE': route, 'ORDER.QUICK': inline(() => 1) };
    const { client } = await serve({ routes, gracePeriodMs: 10 });
    const { opId } = await client.submit(COMMAND, BRIEF);
    const answer = await client.cancel(opId);
    expect(answer).toMatchObject({
      cancelled: true,
      operation: {
        opId,
        state: 'FAILED',
        outcome: { type: 'Fail', errorCode: 'CANCELLED' },
        deadLetter: false,
        endedAt: expect.any(String),
      },
    });
    await seen.wait();
    expect(await client.cancel(opId)).toEqual(answer);
    const ended = await client.submit({ ...COMMAND, eventType: 'QUICK' }, { timeBudgetMs: 5_000 });
    expect(await client.cancel(ended.opId)).toMatchObject({
      cancelled: false,
      operation: { state: 'COMPLETED' },
    });
  });
});

describe('orchestrator FR-5: the list', () => {
  let served: Served;
  beforeAll(async () => {
    served = await open({
      routes: {
        'ORDER.PLACE': inline(() => 1),
        'ORDER.FAIL': inline(() => Outcome.fail('NO', 'no')),
        'MAIL.SEND': inline(() => 2),
      },
    });
    for (const [domain, eventType, bizKey] of [
      ['ORDER', 'PLACE', 'a'],
      ['ORDER', 'PLACE', 'b'],
      ['ORDER', 'FAIL', 'b'],
      ['MAIL', 'SEND', 'c'],
      ['MAIL', 'SEND', 'd'],
    ] as const)
      await served.client.submit({ domain, eventType, bizKey }, { timeBudgetMs: 5_000 });
  });
  afterAll(() => served.app.close());

  const keys = ({ items }: OperationPage) => items.map(({ bizKey }) => bizKey);

  it.each([
    [{ domain: 'ORDER' }, ['b', 'b', 'a']],
    [{ eventType: 'SEND' }, ['d', 'c']],
    [{ state: 'COMPLETED' as const, bizKey: 'b' }, ['b']],
    [{ deadLetter: true }, ['b']],
  ])('orchestrator FR-5: passes the filter %j', async (filter, expected) => {
    const page = await served.client.list(filter);
    expect(OperationPage.parse(page)).toEqual(page);
    expect([keys(page), page.cursor]).toEqual([expected, null]);
  });

  it('orchestrator FR-5: goes on at the cursor of the last page', async () => {
    const pages = [await served.client.list({ limit: 2 })];
    for (let last = pages[0]; last?.cursor; last = pages.at(-1))
      pages.push(await served.client.list({ limit: 2, cursor: last.cursor }));
    expect(pages.map(keys)).toEqual([['d', 'c'], ['b', 'b'], ['a']]);
  });
});

it('orchestrator FR-5: keeps tenants apart: same keys, own operations, none of another tenant', async () => {
  const { url, client: all } = await serve({
    routes: { 'ORDER.PLACE': inline(() => 1) },
    tenantOf: ({ headers }) => headers['x-tenant'] as string | undefined,
  });
  const clientOf = (tenant: string) =>
    createClient({
      baseUrl: url,
      retries: 0,
      fetch: (input, init) => fetch(input, { ...init, headers: { ...init?.headers, 'x-tenant': tenant } }),
    });
  const [a, b] = [clientOf('a'), clientOf('b')];
  const call = { timeBudgetMs: 5_000, idempotencyKey: 'same' };
  const ofA = await a.submit({ ...COMMAND, payload: 'a' }, call);
  const ofB = await b.submit({ ...COMMAND, payload: 'b' }, call);
  expect(ofA.opId).not.toBe(ofB.opId);
  for (const forbidden of [
    b.status(ofA.opId),
    b.cancel(ofA.opId),
    b.waitFor(ofA.opId),
    b.events(ofA.opId).next(),
  ])
    await expect(forbidden).rejects.toMatchObject({ code: 'OPERATION_NOT_FOUND', status: 404 });
  const opIds = async (client: typeof a) => (await client.list()).items.map(({ opId }) => opId);
  expect(await opIds(a)).toEqual([ofA.opId]);
  expect(await opIds(b)).toEqual([ofB.opId]);
  // A caller without a tenant sees all tenants.
  expect(await opIds(all)).toEqual([ofB.opId, ofA.opId]);
  expect((await all.list({ tenant: 'a' })).items).toMatchObject([{ opId: ofA.opId }]);
  expect((await all.list({ tenant: '' })).items).toEqual([]);
  expect((await a.list({ tenant: 'a' })).items).toMatchObject([{ opId: ofA.opId }]);
  for (const tenant of ['b', ''])
    await expect(a.list({ tenant })).rejects.toMatchObject({ code: 'REQUEST_INVALID', status: 400 });
  expect(await all.status(ofA.opId)).toMatchObject({ tenant: 'a' });
});

it('orchestrator FR-5: at a shutdown waiting callers get 202, long polls the status, streams their end, and the operation is kept', async () => {
  const begun = latch('the work runs');
  const route = inline((_, { signal }) => {
    begun.open();
    return new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  const { app, client, host, post, ask } = await open({
    routes: { 'ORDER.PLACE': route },
    gracePeriodMs: 500,
  });
  const submitting = post({ ...COMMAND, timeBudgetMs: 5_000 });
  await begun.wait();
  const [operation] = (await client.list()).items;
  const opId = operation?.opId ?? '';
  const { entered } = watchWaits(host);
  const polling = ask(`/api/operations/${opId}/status?wait=30`);
  await entered.wait();
  const stream = await ask(`/api/operations/${opId}/events`);
  expect(host.eventStreams).toBe(1);
  await app.close();
  const submitted = await submitting;
  expect(submitted.status).toBe(202);
  expect(await submitted.json()).toMatchObject({ opId, status: 'IN_PROGRESS' });
  expect(await (await polling).json()).toMatchObject({ opId, endedAt: null });
  const text = await stream.text();
  expect(text).toMatch(/^event: start\n/);
  expect(text).not.toContain('event: end');
  expect(host.orchestrator.state).toBe('STOPPED');
  expect(await host.operations.get(opId)).toMatchObject({ endedAt: undefined, owner: undefined });
});
