import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { createClient, ProblemError } from '../src/client/client.js';
import type { OperationEvent } from '../src/index.js';
import { json, problem, startServer } from './server.js';

const COMMAND = { domain: 'A', eventType: 'B', bizKey: 'k' };
const DONE = { opId: 'x', status: 'COMPLETED', outcome: { type: 'Ok' } };

describe('orchestrator FR-5: the client submits', () => {
  it('orchestrator FR-5: a repetition after a cut connection or 503 has the same key, and waits as it is asked to', async () => {
    const { url, seen } = await startServer((response, _, index) => {
      if (index === 0) response.destroy();
      else if (index === 1) problem(response, 503, 'STORE_UNAVAILABLE', { 'retry-after': '0' });
      else json(response, 200, DONE);
    });
    const client = createClient({ baseUrl: `${url}/`, apiKey: 'secret' });
    expect(await client.submit({ ...COMMAND, payload: { n: 1 } }, { timeBudgetMs: 100 })).toEqual(DONE);
    expect(seen).toHaveLength(3);
    const bodies = seen.map(({ body }) => JSON.parse(body));
    expect(bodies[0]).toEqual({
      ...COMMAND,
      payload: { n: 1 },
      timeBudgetMs: 100,
      idemKey: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(bodies[1]).toEqual(bodies[0]);
    expect(bodies[2]).toEqual(bodies[0]);
    for (const { method, url: path, headers } of seen) {
      expect([method, path]).toEqual(['POST', '/api/operations']);
      expect(headers).toMatchObject({ authorization: 'Bearer secret', 'content-type': 'application/json' });
    }
  });

  it('orchestrator FR-5: a key of the caller is kept, another call has another; a wait is a preference', async () => {
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

  it('orchestrator FR-5: what the server refuses is thrown at once, and once', async () => {
    const { url, seen } = await startServer((response) => problem(response, 409, 'OPERATION_RUNNING'));
    const error = await createClient({ baseUrl: url })
      .submit(COMMAND)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ProblemError);
    expect(error).toMatchObject({
      name: 'ProblemError',
      code: 'OPERATION_RUNNING',
      status: 409,
      retryable: true,
      retryAfterMs: undefined,
      message: 'OPERATION_RUNNING: because of OPERATION_RUNNING',
      problem: { title: 'OPERATION_RUNNING' },
    });
    expect(seen).toHaveLength(1);
  });

  it('orchestrator FR-5: a Retry-After that is too long is for the caller; so is the last of all failures', async () => {
    const { url, seen } = await startServer((response, { url: path }) =>
      problem(response, 429, 'RATE_LIMIT', { 'retry-after': path.startsWith('/long') ? '3600' : '0' }),
    );
    const long = createClient({ baseUrl: `${url}/long` }).submit(COMMAND);
    await expect(long).rejects.toMatchObject({ code: 'RATE_LIMIT', retryAfterMs: 3_600_000 });
    expect(seen).toHaveLength(1);
    await expect(createClient({ baseUrl: url, retries: 3 }).submit(COMMAND)).rejects.toMatchObject({
      status: 429,
    });
    expect(seen).toHaveLength(5);
  });

  it('orchestrator FR-5: what is not from Millrace is a problem too; no server at all is what fetch says', async () => {
    const { url } = await startServer((response) => response.writeHead(404).end('<html>nothing here</html>'));
    await expect(createClient({ baseUrl: url }).status('x')).rejects.toMatchObject({
      code: 'HTTP_404',
      retryable: false,
    });
    await expect(createClient({ baseUrl: 'http://127.0.0.1:1', retries: 0 }).status('x')).rejects.toThrow(
      'fetch failed',
    );
  });

  it('orchestrator FR-5: an answer that does not come is given up; a caller may give up earlier', async () => {
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
    const late = createClient({ baseUrl: url }).submit(COMMAND, {
      signal: AbortSignal.abort(new Error('never')),
    });
    await expect(late).rejects.toThrow('never');
  });
});

describe('orchestrator FR-5: the client waits and watches', () => {
  const operation = (endedAt: string | null) => ({ opId: 'a b', endedAt });

  it('orchestrator FR-5: waitFor polls until the end, or until its time is up', async () => {
    const { url, seen } = await startServer((response, _, index) => {
      if (index === 1) response.destroy();
      else json(response, 200, operation(index < 3 ? null : '2026-01-01T00:00:00.000Z'));
    });
    const client = createClient({ baseUrl: url });
    expect((await client.waitFor('a b')).endedAt).not.toBeNull();
    expect(seen[0]?.url).toBe('/api/operations/a%20b/status?wait=20.000');
    expect(seen).toHaveLength(4);
    const never = await startServer((response) => json(response, 200, operation(null)));
    const left = await createClient({ baseUrl: never.url }).waitFor('a b', { timeoutMs: 120 });
    expect(left.endedAt).toBeNull();
    expect(never.seen.length).toBeGreaterThanOrEqual(1);
    expect(never.seen.length).toBeLessThanOrEqual(4);
  });

  const event = (type: string, n: number) => `event: ${type}\r\ndata: {"n":\r\ndata: ${n}}\r\n\r\n`;
  const collect = async (events: AsyncIterable<OperationEvent>) => {
    const all: unknown[] = [];
    for await (const one of events) all.push(one);
    return all;
  };

  it('orchestrator FR-5: events are read however they are cut, comments are not events, and a broken stream is opened again', async () => {
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
    const events = await collect(createClient({ baseUrl: url, retries: 0 }).events('x'));
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

  it('orchestrator FR-5: a stream that falls silent is opened again; what is refused is thrown', async () => {
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

  it('orchestrator FR-5: who has seen enough closes the stream; a signal does too', async () => {
    const closed: string[] = [];
    const { url } = await startServer((response, { url: path }) => {
      response.writeHead(200).write(event('start', 1));
      response.once('close', () => {
        closed.push(path);
        if (path.includes('first')) first.open();
        else second.open();
      });
    });
    const first = latch('the first stream is closed');
    const second = latch('the second stream is closed');
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
    expect(closed).toHaveLength(2);
  });

  it('orchestrator FR-5: lists and cancellations', async () => {
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
});
