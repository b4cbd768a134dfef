import { ROUTES } from '@millrace/contract';
import type { ChatRuntime } from '@millrace/runtime/chat';
import { type Latch, latch, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineApp } from '../../src/define-app.js';
import { type Received, type Sent, serve, type TestServer } from '../serve.js';
import { type Heard, type Listening, listen } from './sse.js';

const ADMIN = 'admin-secret-of-24-characters';
const ANA = 'ana-operates-tenant-a-of-24-ch';
const BEN = 'ben-operates-tenant-b-of-24-ch';
const KEYS = `root:admin:${ADMIN},ana:operate:a:${ANA},ben:operate:b:${BEN}`;

/** What a turn waits for before its second token, by its message. */
const gates = new Map<string, Latch<void>>();
const gated = (message: string): Latch<void> => {
  const gate = latch(`the turn '${message}' may go on`);
  gates.set(message, gate);
  return gate;
};

/** How turns went on after their first token, by their messages. */
const ends = new Map<string, 'ended' | 'aborted'>();

/** Repeats the message word by word; waits, fails and counts when the message says so. */
const runtime: ChatRuntime = {
  async *processEnqueuedTurn({ message, history, tenant, traceparent, signal }) {
    if (message === 'who') yield `${tenant} ${history.length} ${traceparent}`;
    const [first = '', ...words] = message.split(' ');
    if (message !== 'who') yield first;
    const gone = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    const gate = gates.get(message);
    if (gate) await Promise.race([gate.promise, gone]);
    ends.set(message, signal.aborted ? 'aborted' : 'ended');
    if (signal.aborted) return;
    if (message.endsWith('fails')) throw new Error('the model is out');
    for (const word of words) yield ` ${word}`;
  },
};

describe('chat over HTTP', () => {
  let server: TestServer;
  const send = (path: string, sent: Sent = {}): Promise<Received> =>
    server.send(`/api/chat/sessions${path}`, { key: ANA, ...sent });
  const open = async (sent: Sent = {}): Promise<string> =>
    (await send('', { body: {}, ...sent })).body.session_id;
  const say = (session: string, message: string, sent: Sent = {}) =>
    send(`/${session}/queue`, { body: { message }, ...sent });
  const hear = (path: string, headers: Record<string, string> = {}): Promise<Listening> =>
    listen(`${server.url}/api/chat/sessions${path}`, { authorization: `Bearer ${ANA}`, ...headers });
  const turn = async (session: string, message: string) => {
    const { body } = await say(session, message);
    return { path: `/${session}/tasks/${body.task_id}`, taskId: body.task_id as string };
  };
  const short = ({ id, event, data }: Heard) => [id, event, data.text ?? data.code];

  beforeAll(async () => {
    server = await serve({
      apiKeys: KEYS,
      gracePeriodMs: 2_000,
      application: defineApp({ chat: runtime }),
      chat: { maxWorkers: 4, queueMaxSize: 2 },
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('streams a turn token by token, while it comes', async () => {
    const gate = gated('one two three');
    const session = await open();
    const queued = await say(session, 'one two three');
    expect(queued.status).toBe(201);
    expect(ROUTES.queueChatMessage.ok[201].schema.parse(queued.body)).toEqual(queued.body);
    expect(queued.body).toMatchObject({ session_id: session });
    const path = `/${session}/tasks/${queued.body.task_id}`;
    const stream = await hear(`${path}/stream`);
    expect(Object.fromEntries(stream.response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
    });
    expect(await stream.next()).toEqual({ id: '0', event: 'start', data: {} });
    expect(await stream.next()).toEqual({ id: '1', event: 'token', data: { text: 'one' } });
    const running = await send(`${path}/status`);
    expect(running.body).toMatchObject({ status: 'STREAMING', ended_at: null });
    // Enough for a page that is opened now to hear the rest of it.
    const opened = (await send(`/${session}`)).body;
    expect(opened.turns).toEqual([{ task_id: queued.body.task_id, status: 'STREAMING' }]);
    expect(ROUTES.getChatTaskStatus.ok.parse(running.body)).toEqual(running.body);
    expect(await send(`${path}/result`)).toMatchObject({ status: 409, body: { code: 'TASK_PENDING' } });
    gate.open();
    expect((await stream.rest()).map(short)).toEqual([
      ['2', 'token', ' two'],
      ['3', 'token', ' three'],
      ['4', 'done', undefined],
    ]);
    const result = await send(`${path}/result`);
    expect(result.body).toMatchObject({ status: 'COMPLETED', text: 'one two three', session_id: session });
    expect(ROUTES.getChatTaskResult.ok.parse(result.body)).toEqual(result.body);
    const read = await send(`/${session}`);
    expect(ROUTES.getChatSession.ok.parse(read.body)).toEqual(read.body);
    const { items } = (await send('')).body;
    expect(items).toContainEqual({ session_id: session, tenant: 'a', created_at: read.body.created_at });
    expect(read.body.turns).toEqual([]);
    expect(read.body.messages).toMatchObject([
      { role: 'user', content: 'one two three', task_id: queued.body.task_id },
      { role: 'assistant', content: 'one two three', task_id: queued.body.task_id },
    ]);
  });

  it('goes on after Last-Event-ID, while it runs and when it has ended', async () => {
    const gate = gated('a b c');
    const session = await open();
    const { path } = await turn(session, 'a b c');
    const cut = await hear(`${path}/stream`);
    await cut.next();
    await cut.next();
    cut.leave();
    const resumed = await hear(`${path}/stream`, { 'last-event-id': '1' });
    gate.open();
    expect((await resumed.rest()).map(short)).toEqual([
      ['2', 'token', ' b'],
      ['3', 'token', ' c'],
      ['4', 'done', undefined],
    ]);
    const later = async (id: string) => (await hear(`${path}/stream`, { 'last-event-id': id })).rest();
    expect((await later('2')).map(short)).toEqual([
      ['3', 'token', ' c'],
      ['4', 'done', undefined],
    ]);
    expect(await later('4')).toEqual([]);
    expect(await later('')).toHaveLength(5);
    for (const id of ['-1', 'x', '1e3', '9'.repeat(16)])
      expect(await send(`${path}/stream`, { headers: { 'last-event-id': id } })).toMatchObject({
        status: 400,
        body: { code: 'REQUEST_INVALID', errors: [{ field: 'Last-Event-ID' }] },
      });
  });

  it('cancels a turn; its answer is not kept', async () => {
    gated('stop here');
    const session = await open();
    const { path } = await turn(session, 'stop here');
    const stream = await hear(`${path}/stream`);
    await stream.next();
    await stream.next();
    for (const _ of [1, 2]) {
      const { status, body } = await send(path, { method: 'DELETE' });
      expect({ status, task: body.status }).toEqual({ status: 200, task: 'CANCELLED' });
      expect(ROUTES.cancelChatTask.ok.parse(body)).toEqual(body);
    }
    expect((await stream.rest()).map(short)).toEqual([['2', 'error', 'TASK_CANCELLED']]);
    expect(await send(`${path}/result`)).toMatchObject({ status: 410, body: { code: 'TASK_CANCELLED' } });
    expect((await send(`/${session}`)).body.messages).toHaveLength(1);
  });

  it('says so when what answers has failed', async () => {
    const session = await open();
    const { path } = await turn(session, 'it fails');
    const events = await (await hear(`${path}/stream`)).rest();
    expect(events.map(short)).toEqual([
      ['0', 'start', undefined],
      ['1', 'token', 'it'],
      ['2', 'error', 'CHAT_STREAM_ERROR'],
    ]);
    expect(events[2]?.data.message).toContain('the model is out');
    expect(await send(`${path}/result`)).toMatchObject({
      status: 502,
      body: { code: 'CHAT_STREAM_ERROR', retryable: true },
    });
    expect(await send(`${path}/status`)).toMatchObject({ status: 200, body: { status: 'FAILED' } });
  });

  it('keeps tenants apart, also when they choose the same id', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const body = { session_id: 'support' };
    const mine = await send('', { body, headers: { traceparent } });
    expect(mine).toMatchObject({ status: 201, body: { session_id: 'support', tenant: 'a' } });
    expect(ROUTES.createChatSession.ok[201].schema.parse(mine.body)).toEqual(mine.body);
    expect((await send('', { body, key: BEN })).body).toMatchObject({ session_id: 'support', tenant: 'b' });
    const { path, taskId } = await turn('support', 'who');
    expect((await (await hear(`${path}/stream`)).rest())[1]?.data.text).toBe(`a 0 ${traceparent}`);

    expect((await send('/support', { key: BEN })).body.messages).toEqual([]);
    const ways = [
      ['GET', ''],
      ['POST', '/queue'],
      ['GET', `/tasks/${taskId}/status`],
      ['GET', `/tasks/${taskId}/result`],
      ['GET', `/tasks/${taskId}/stream`],
      ['DELETE', `/tasks/${taskId}`],
    ] as const;
    for (const [method, way] of ways) {
      const sent = { method, key: BEN, ...(method === 'POST' && { body: { message: 'hello' } }) };
      const theirs = await send(`/a%2Fsupport${way}`, sent);
      expect({ status: theirs.status, code: theirs.body.code }, way).toEqual({
        status: 404,
        code: 'CHAT_SESSION_NOT_FOUND',
      });
      if (way.startsWith('/tasks'))
        expect((await send(`/support${way}`, sent)).body.code).toBe('CHAT_TASK_NOT_FOUND');
    }
    const admin = { key: ADMIN };
    expect((await send('/a%2Fsupport', admin)).body).toMatchObject({ session_id: 'a/support' });
    expect((await send('/a%2Fsupport')).body).toMatchObject({ session_id: 'support' });
    expect((await send('/support', admin)).status).toBe(404);
    expect((await send('?tenant=b', admin)).body.items).toMatchObject([
      { session_id: 'b/support', tenant: 'b' },
    ]);
    expect((await send('', { body: { ...body, tenant: 'b' }, ...admin })).body.session_id).toBe('b/support');
    const listed = async (query: string) =>
      (await send(query, admin)).body.items.map(({ tenant }: { tenant: string }) => tenant);
    expect((await listed('')).slice(0, 2)).toEqual(['b', 'a']);
    expect(await listed('?tenant=')).toEqual([]);
    expect(new Set(await listed('?tenant=a'))).toEqual(new Set(['a']));
    expect((await send('?limit=1', { key: BEN })).body.items).toMatchObject([{ session_id: 'support' }]);
    expect((await send('?tenant=a', { key: BEN })).body.code).toBe('REQUEST_INVALID');
  });

  it('refuses turns when too many wait, and says when to come back', async () => {
    const gate = gated('hold');
    const session = await open();
    const held = await turn(session, 'hold');
    await until(async () => (await send(`${held.path}/status`)).body.status === 'STREAMING', {
      what: 'the first turn runs',
    });
    for (const message of ['second', 'third']) expect((await say(session, message)).status).toBe(201);
    const refused = await say(session, 'fourth');
    expect(refused).toMatchObject({ status: 429, body: { code: 'CHAT_QUEUE_FULL', retryable: true } });
    expect(refused.headers.get('retry-after')).toBe('2');
    expect((await send(`/${session}`)).body.messages).toHaveLength(3);
    gate.open();
    await until(async () => (await send(`/${session}`)).body.messages.length === 6, {
      what: 'all turns have been answered',
    });
  });

  it('refuses what it cannot read', async () => {
    const session = await open();
    const cases: readonly (readonly [Promise<Received>, number, string])[] = [
      [send('', { body: { colour: 'red' } }), 400, 'REQUEST_INVALID'],
      [send('', { body: { session_id: 'a/b' } }), 400, 'REQUEST_INVALID'],
      [send('', { body: { session_id: '' } }), 400, 'REQUEST_INVALID'],
      [send('', { body: { tenant: 'b' } }), 400, 'REQUEST_INVALID'],
      [send('?limit=1000'), 400, 'REQUEST_INVALID'],
      [send(`/${session}/queue`, { body: { message: 'hi', colour: 'red' } }), 400, 'REQUEST_INVALID'],
      [send(`/${session}/queue`, { body: { message: 1 } }), 400, 'REQUEST_INVALID'],
      [say(session, '  '), 400, 'CHAT_MESSAGE_EMPTY'],
      [say(session, 'x'.repeat(100_001)), 413, 'CHAT_MESSAGE_TOO_LONG'],
      [say('nobody', 'hello'), 404, 'CHAT_SESSION_NOT_FOUND'],
      [send('/a%2Fb%2Fc'), 400, 'ID_INVALID'],
      [send(`/${session}/tasks/none/stream`), 404, 'CHAT_TASK_NOT_FOUND'],
    ];
    const answers = await Promise.all(cases.map(([answer]) => answer));
    for (const [index, [, status, code]] of cases.entries()) {
      const { body, ...received } = answers[index] as Received;
      expect({ status: received.status, code: body.code }).toEqual({ status, code });
    }
  });

  // The last one: there is no server after it.
  it('ends streams at once when the server stops, lets turns end within the grace period, ends the others', async () => {
    const gate = gated('last words');
    gated('no end');
    const streams = await Promise.all(
      ['last words', 'no end'].map(async (message) => {
        const { path } = await turn(await open(), message);
        const stream = await hear(`${path}/stream`);
        expect(await stream.next()).toMatchObject({ event: 'start' });
        expect(await stream.next()).toMatchObject({ event: 'token' });
        return stream;
      }),
    );
    const closing = server.close();
    expect(await Promise.all(streams.map((stream) => stream.rest()))).toEqual([[], []]);
    gate.open();
    await closing;
    expect([ends.get('last words'), ends.get('no end')]).toEqual(['ended', 'aborted']);
    expect(server.lines.join('')).not.toContain('are left behind');
  });
});
