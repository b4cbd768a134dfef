import { latch } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { createClient, ProblemError } from '../src/client/client.js';
import type { OperationEvent } from '../src/index.js';
import { json, problem, startServer } from './server.js';

const COMMAND = { domain: 'A', eventType: 'B', bizKey: 'k' };
const DONE = { opId: 'x', status: 'COMPLETED', outcome: { type: 'Ok' } };

it('orchestrator FR-5: retries after a cut connection and after 503, with the same key', async () => {
  const { url, seen } = await startServer((response, _, index) => {
    if (index === 0) response.destroy();
    else if (index === 1) problem(response, 503, 'STORE_UNAVAILABLE', { 'retry-after': '0' });
    else json(response, 200, DONE);
  });
  const client = createClient({ baseUrl: `${url}/`, apiKey: 'secret' });
  expect(await client.submit({ ...COMMAND, payload: { n: 1 } }, { timeBudgetMs: 100 })).toEqual(DONE);
  const bodies = seen.map(({ body }) => JSON.parse(body));
  expect(bodies[0]).toEqual({
    ...COMMAND,
    payload: { n: 1 },
    timeBudgetMs: 100,
    idemKey: expect.stringMatching(/^[0-9a-f]{32}$/),
  });
  expect(bodies.slice(1)).toEqual([bodies[0], bodies[0]]);
  for (const { method, url: path, headers } of seen) {
    expect([method, path]).toEqual(['POST', '/api/operations']);
    expect(headers).toMatchObject({ authorization: 'Bearer secret', 'content-type': 'application/json' });
  }
});

it('orchestrator FR-5: keeps the key of the caller, draws one for each other call, and sends wait as a preference', async () => {
  const { url, seen } = await startServer((response) => json(response, 200, DONE));
  const client = createClient({ baseUrl: url, path: '/ops/' });
  await client.submit({ ...COMMAND, idemKey: 'own' });
  await client.submit({ ...COMMAND, idemKey: 'own' }, { idempotencyKey: 'wins', wait: 1.5 });
  await client.submit(COMMAND);
  await client.submit(COMMAND);
  const keys = seen.map(({ body }) => JSON.parse(body).idemKey);
  expect(keys.slice(0, 2)).toEqual(['own', 'wins']);
  expect(keys[2]).not.toBe(keys[3]);
  expect(seen.map(({ headers }) => headers.prefer)).toEqual([undefined, 'wait=1.5', undefined, undefined]);
  expect(seen[0]?.url).toBe('/ops');
  expect(seen[0]?.headers.authorization).toBeUndefined();
});

it('orchestrator FR-5: throws a refusal without a retry', async () => {
  const { url, seen } = await startServer((response) => problem(response, 409, 'OPERATION_RUNNING'));
  const refused = createClient({ baseUrl: url }).submit(COMMAND);
  await expect(refused).rejects.toBeInstanceOf(ProblemError);
  await expect(refused).rejects.toMatchObject({
    code: 'OPERATION_RUNNING',
    status: 409,
    retryable: true,
    retryAfterMs: undefined,
    message: 'OPERATION_RUNNING: because of OPERATION_RUNNING',
    problem: { title: 'OPERATION_RUNNING' },
  });
  expect(seen).toHaveLength(1);
});

it('orchestrator FR-5: throws a long Retry-After at once, and the last of all failures', async () => {
  const { url, seen } = await startServer((response, { url: path }) =>
    problem(response, 429, 'RATE_LIMIT', { 'retry-after': path.startsWith('/long') ? '3600' : '0' }),
  );
  const long = createClient({ baseUrl: `${url}/long` }).submit(COMMAND);
  await expect(long).rejects.toMatchObject({ code: 'RATE_LIMIT', retryAfterMs: 3_600_000 });
  expect(seen).toHaveLength(1);
  const last = createClient({ baseUrl: url, retries: 3 }).submit(COMMAND);
  await expect(last).rejects.toMatchObject({ status: 429 });
  expect(seen).toHaveLength(5);
});

it('orchestrator FR-5: makes a problem of a foreign response, and throws the error of fetch without a server', async () => {
  const { url } = await startServer((response) => response.writeHead(404).end('<html>nothing here</html>'));
  const foreign = createClient({ baseUrl: url }).status('x');
  await expect(foreign).rejects.toMatchObject({ code: 'HTTP_404', retryable: false });
  const nowhere = createClient({ baseUrl: 'http://127.0.0.1:1', retries: 0 }).status('x');
  await expect(nowhere).rejects.toThrow('fetch failed');
});

it('orchestrator FR-5: times out without a response, and stops when the caller aborts', async () => {
  const arrived = latch('a request arrived');
  const { url, seen } = await startServer(() => arrived.open());
  const impatient = createClient({ baseUrl: url, timeoutMs: 300, retries: 1 });
  await expect(impatient.submit(COMMAND)).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(new Set(seen.map(({ body }) => body)).size).toBe(1);
  expect(seen).toHaveLength(2);
  const controller = new AbortController();
  const submitting = createClient({ baseUrl: url }).submit(COMMAND, { signal: controller.signal });
  await arrived.wait();
  controller.abort(new Error('enough'));
  await expect(submitting).rejects.toThrow('enough');
  const aborted = { signal: AbortSignal.abort(new Error('never')) };
  await expect(createClient({ baseUrl: url }).submit(COMMAND, aborted)).rejects.toThrow('never');
});

it('orchestrator FR-5: polls until the operation ends, or until its time is up', async () => {
  const { url, seen } = await startServer((response, _, index) => {
    if (index === 1) response.destroy();
    else json(response, 200, { endedAt: index < 3 ? null : '2026-01-01T00:00:00.000Z' });
  });
  const client = createClient({ baseUrl: url });
  expect((await client.waitFor('a b')).endedAt).not.toBeNull();
  expect(seen[0]?.url).toBe('/api/operations/a%20b/status?wait=20.000');
  expect(seen).toHaveLength(4);
  const never = await startServer((response) => json(response, 200, { endedAt: null }));
  const left = await createClient({ baseUrl: never.url }).waitFor('a b', { timeoutMs: 120 });
  expect(left.endedAt).toBeNull();
  expect(never.seen.length).toBeLessThanOrEqual(4);
});

const event = (type: string, n: number) => `event: ${type}\r\ndata: {"n":\r\ndata: ${n}}\r\n\r\n`;
it('orchestrator FR-5: reads events cut at any byte, skips comments, and reconnects a broken stream', async () => {
  const { url, seen } = await startServer(async (response, _, index) => {
    if (index === 1) return problem(response, 503, 'BUSY', { 'retry-after': '0' });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const text =
      index === 0
        ? `: hello\n\n${event('start', 1)}${event('change', 2)}event: change\ndata: {`
        : event('start', 3) + event('end', 4);
    for (const byte of Buffer.from(text)) {
      response.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    return index === 0 ? response.destroy() : response.end();
  });
  const events: OperationEvent[] = [];
  for await (const one of createClient({ baseUrl: url, retries: 0 }).events('x')) events.push(one);
  expect(events).toEqual([
    { type: 'start', operation: { n: 1 } },
    { type: 'change', operation: { n: 2 } },
    { type: 'start', operation: { n: 3 } },
    { type: 'end', operation: { n: 4 } },
  ]);
  expect(seen.map(({ url: path, headers }) => [path, headers.accept])).toEqual(
    Array(3).fill(['/api/operations/x/events', 'text/event-stream']),
  );
});

it('orchestrator FR-5: reconnects a silent stream, and throws a refusal', async () => {
  const { url, seen } = await startServer((response, _, index) => {
    if (index === 2) return problem(response, 404, 'OPERATION_NOT_FOUND');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(event('start', index));
    return undefined;
  });
  const events = createClient({ baseUrl: url, timeoutMs: 300 }).events('x');
  expect((await events.next()).value).toMatchObject({ operation: { n: 0 } });
  expect((await events.next()).value).toMatchObject({ operation: { n: 1 } });
  await expect(events.next()).rejects.toMatchObject({ code: 'OPERATION_NOT_FOUND' });
  expect(seen).toHaveLength(3);
});

it('orchestrator FR-5: closes the stream when its reader stops, and on abort', async () => {
  const [first, second] = [latch('the first stream is closed'), latch('the second stream is closed')];
  const { url } = await startServer((response, _, index) => {
    response.writeHead(200).write(event('start', 1));
    response.once('close', () => (index === 0 ? first : second).open());
  });
  const client = createClient({ baseUrl: url });
  for await (const _ of client.events('first')) break;
  await first.wait();
  const controller = new AbortController();
  const events = client.events('second', { signal: controller.signal });
  await events.next();
  const next = events.next();
  controller.abort(new Error('enough'));
  await expect(next).rejects.toThrow('enough');
  await second.wait();
});

it('orchestrator FR-5: writes list filters and escapes ids', async () => {
  const { url, seen } = await startServer((response) => json(response, 200, {}));
  const client = createClient({ baseUrl: url });
  await client.list();
  await client.list({ domain: 'A&B', deadLetter: true, limit: 5, cursor: undefined });
  await client.cancel('../x');
  expect(seen.map(({ method, url: path }) => `${method} ${path}`)).toEqual([
    'GET /api/operations',
    'GET /api/operations?domain=A%26B&deadLetter=true&limit=5',
    'DELETE /api/operations/..%2Fx',
  ]);
  expect(seen[2]?.headers['content-type']).toBeUndefined();
});
