import { latch, recordingLogger } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { describe, expect, it } from 'vitest';
import { ChatService } from '../../src/chat/chat-service.js';
import { InMemoryChatSessionStore } from '../../src/chat/in-memory-session-store.js';
import type { ChatMessage } from '../../src/chat/model.js';
import type { ChatRuntime } from '../../src/chat/ports.js';
import { ERRORS } from '../../src/errors.js';
import { brief, collect, thrownBy } from '../lanes/tools.js';
import { startChat } from './start-chat.js';

leakCheck();

const said = (messages: readonly ChatMessage[]) => messages.map(({ role, content }) => `${role}: ${content}`);

describe('ChatService', () => {
  it('answers a message: receipt, stream, status, result, messages', async () => {
    const { chat, steps, settle, turns, clock } = await startChat();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const session = await chat.createSession({ traceparent });
    expect(session).toMatchObject({ tenant: '', traceparent, createdAt: new Date(clock.now()) });
    const receipt = await chat.enqueue(session.id, 'hello');
    expect(receipt).toEqual({
      sessionId: session.id,
      taskId: expect.any(String),
      queuedAt: new Date(clock.now()),
    });
    const { taskId } = receipt;
    const events = chat.stream(session.id, taskId).then(collect);
    await settle();
    expect(await chat.status(session.id, taskId)).toMatchObject({ ...receipt, status: 'STREAMING' });
    await expect(chat.result(session.id, taskId)).rejects.toMatchObject({ code: 'TASK_PENDING' });
    steps.finish('hello');
    expect(brief(await events)).toBe('0:start 1:re:  2:hello 3:done');
    expect(await chat.result(session.id, taskId)).toMatchObject({
      text: 're: hello',
      status: 'COMPLETED',
      taskId,
    });
    expect(said(await chat.messages(session.id))).toEqual(['user: hello', 'assistant: re: hello']);
    expect(turns[0]).toMatchObject({
      sessionId: session.id,
      tenant: '',
      traceparent,
      message: 'hello',
      history: [],
    });
    const resumed = await chat.stream(session.id, taskId, { fromOffset: 2 });
    expect(brief(await collect(resumed))).toBe('2:hello 3:done');
  });

  it('a turn that fails is logged with its session, its task and its trace', async () => {
    const { log, lines } = recordingLogger();
    const runtime: ChatRuntime = {
      // biome-ignore lint/correctness/useYield: it fails before it has anything to say.
      async *processEnqueuedTurn() {
        throw new Error('as the test wants');
      },
    };
    const { chat, settle } = await startChat({ runtime, log });
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const traced = await chat.createSession({ traceparent: `00-${traceId}-b7ad6b7169203331-01` });
    const plain = await chat.createSession();
    const first = await chat.enqueue(traced.id, 'hello');
    const second = await chat.enqueue(plain.id, 'hello');
    await settle();
    const failed = lines.flatMap(({ fields, message }) => (message === 'A task failed' ? [fields] : []));
    expect(failed).toMatchObject([
      { sessionId: traced.id, taskId: first.taskId, traceId },
      { sessionId: plain.id, taskId: second.taskId },
    ]);
    expect(failed[1]).not.toHaveProperty('traceId');
  });

  it('runtime RT-5: turns of a session run in order; each sees the conversation before it and nothing later', async () => {
    const { chat, steps, settle, turns } = await startChat();
    const { id } = await chat.createSession();
    const other = await chat.createSession();
    await Promise.all(['one', 'two', 'three'].map((message) => chat.enqueue(id, message)));
    await chat.enqueue(other.id, 'elsewhere');
    await settle();
    expect(steps.started).toEqual(['one', 'elsewhere']);
    expect(said(await chat.messages(id))).toEqual(['user: one', 'user: two', 'user: three']);
    for (const message of ['one', 'two', 'three']) {
      steps.finish(message);
      await settle();
    }
    const conversation = [
      'user: one',
      'assistant: re: one',
      'user: two',
      'assistant: re: two',
      'user: three',
      'assistant: re: three',
    ];
    expect(said(await chat.messages(id))).toEqual(conversation);
    const histories = turns
      .filter(({ sessionId }) => sessionId === id)
      .map(({ history }) => said(history as ChatMessage[]));
    expect(histories).toEqual([[], conversation.slice(0, 2), conversation.slice(0, 4)]);
    steps.finish('elsewhere');
  });

  it('a tenant that floods the queue leaves room for others', async () => {
    const { chat, steps, settle } = await startChat({ tasks: { maxWorkers: 1, queueMaxSize: 10 } });
    const flood = await chat.createSession({ tenant: 'flood' });
    const calm = await chat.createSession({ tenant: 'calm' });
    const ask = (session: { id: string; tenant: string }, message: string) =>
      chat.enqueue(session.id, message, session).then(
        () => 'accepted',
        ({ code }) => code,
      );
    expect(await ask(flood, 'runs')).toBe('accepted');
    await settle();
    const answers: string[] = [];
    for (let n = 0; n < 12; n++) answers.push(await ask(flood, `flood ${n}`));
    expect(answers.filter((answer) => answer === 'accepted')).toHaveLength(6);
    expect(answers.at(-1)).toBe('CHAT_QUEUE_FULL');
    expect(await ask(calm, 'hello')).toBe('accepted');
    // What has started takes no room.
    for (let n = 0; n < 3; n++) {
      expect(await ask(flood, 'too early')).toBe(n < 2 ? 'CHAT_QUEUE_FULL' : 'accepted');
      steps.finish(steps.started.at(-1) as string);
      await settle();
    }
  });

  it('runtime RT-7: a full queue answers CHAT_QUEUE_FULL with a time, and the message is not stored', async () => {
    const { chat, steps, settle } = await startChat({ tasks: { maxWorkers: 1, queueMaxSize: 1 } });
    const { id } = await chat.createSession();
    await chat.enqueue(id, 'runs');
    await settle();
    await chat.enqueue(id, 'waits');
    const before = chat.stats;
    const error = await thrownBy(() => chat.enqueue(id, 'refused'));
    expect(error).toMatchObject({
      code: 'CHAT_QUEUE_FULL',
      status: 429,
      retryable: true,
      retryAfterMs: 2000,
      message: 'Too many chat turns are waiting; try again in 2 s',
      cause: { code: 'QUEUE_FULL' },
    });
    expect(said(await chat.messages(id))).toEqual(['user: runs', 'user: waits']);
    expect(chat.stats).toEqual(before);
    for (const message of ['runs', 'waits']) {
      steps.finish(message);
      await settle();
    }
    expect(steps.started).toEqual(['runs', 'waits']);
  });

  it('refuses empty and long messages, unknown sessions and tasks, and stores nothing', async () => {
    const { chat, steps, settle } = await startChat({}, { messageCharactersMax: 5 });
    const { id } = await chat.createSession();
    for (const empty of ['', ' \n\t', undefined as never, 7 as never]) {
      await expect(chat.enqueue(id, empty)).rejects.toMatchObject({
        code: 'CHAT_MESSAGE_EMPTY',
        status: 400,
      });
    }
    await expect(chat.enqueue(id, '123456')).rejects.toMatchObject({
      code: 'CHAT_MESSAGE_TOO_LONG',
      status: 413,
    });
    const missing = { code: 'CHAT_SESSION_NOT_FOUND', status: 404 };
    for (const call of ['status', 'result', 'cancel', 'stream'] as const) {
      await expect(chat[call]('nobody', 't')).rejects.toMatchObject(missing);
      await expect(chat[call](id, 'nothing')).rejects.toMatchObject({
        code: 'CHAT_TASK_NOT_FOUND',
        status: 404,
      });
    }
    await expect(chat.enqueue('nobody', 'hi')).rejects.toMatchObject(missing);
    await expect(chat.messages('nobody')).rejects.toMatchObject(missing);
    expect(await chat.messages(id)).toEqual([]);
    // A task of another session is none of this one's.
    const other = await chat.createSession();
    const { taskId } = await chat.enqueue(other.id, 'hi');
    await expect(chat.cancel(id, taskId)).rejects.toMatchObject({ code: 'CHAT_TASK_NOT_FOUND' });
    await settle();
    steps.finish('hi');
  });

  it('a failed turn has CHAT_STREAM_ERROR in its stream and result; its answer is not stored, the lane goes on', async () => {
    const { chat, steps, settle } = await startChat();
    const { id } = await chat.createSession();
    const { taskId } = await chat.enqueue(id, 'breaks');
    const next = await chat.enqueue(id, 'works');
    await settle();
    const cause = new Error('the model is on fire');
    steps.finish('breaks', cause);
    await settle();
    steps.finish('works');
    await settle();
    expect(brief(await collect(await chat.stream(id, taskId)))).toBe('0:start 1:re:  2!CHAT_STREAM_ERROR');
    const error = await thrownBy(() => chat.result(id, taskId));
    expect(error).toMatchObject({
      code: 'CHAT_STREAM_ERROR',
      status: 502,
      message: 'The chat model failed: the model is on fire',
      cause,
    });
    expect((await chat.status(id, next.taskId)).status).toBe('COMPLETED');
    expect(said(await chat.messages(id))).toEqual(['user: breaks', 'user: works', 'assistant: re: works']);
  });

  it('an error of the runtime that has the code already is passed on as it is', async () => {
    const own = ERRORS.create('CHAT_STREAM_ERROR', { reason: 'as it is' }, { retryAfterMs: 5 });
    const runtime = {
      processEnqueuedTurn(): AsyncIterable<string> {
        throw own;
      },
    };
    const { chat, settle } = await startChat({ runtime });
    const { id } = await chat.createSession();
    const { taskId } = await chat.enqueue(id, 'x');
    await settle();
    expect(await thrownBy(() => chat.result(id, taskId))).toBe(own);
  });

  it('a turn that cannot read its history fails, and its result says why', async () => {
    const store = new InMemoryChatSessionStore();
    store.messages = () => Promise.reject(new Error('disk on strike'));
    const { chat, settle } = await startChat({ store });
    const { id } = await chat.createSession();
    const { taskId } = await chat.enqueue(id, 'x');
    await settle();
    expect(await thrownBy(() => chat.result(id, taskId))).toMatchObject({
      code: 'CHAT_STREAM_ERROR',
      message: 'The chat model failed: disk on strike',
    });
  });

  it('cancel ends the stream and aborts the turn; nothing of its answer is stored', async () => {
    const { chat, steps, settle, turns } = await startChat();
    const { id } = await chat.createSession();
    const { taskId } = await chat.enqueue(id, 'stop me');
    const queued = await chat.enqueue(id, 'me too');
    await settle();
    expect(await chat.cancel(id, queued.taskId)).toMatchObject({ status: 'CANCELLED', sessionId: id });
    expect(await chat.cancel(id, taskId)).toMatchObject({ status: 'CANCELLED', taskId });
    expect(turns[0]?.signal.aborted).toBe(true);
    steps.finish('stop me');
    await settle();
    expect(brief(await collect(await chat.stream(id, taskId)))).toBe('0:start 1:re:  2!TASK_CANCELLED');
    await expect(chat.result(id, taskId)).rejects.toMatchObject({ code: 'TASK_CANCELLED' });
    expect(said(await chat.messages(id))).toEqual(['user: stop me', 'user: me too']);
    expect(steps.started).toEqual(['stop me']);
  });

  it("keeps tenants apart: each in its own namespace, reached from outside as 'tenant/id'", async () => {
    const { chat, steps, settle } = await startChat();
    const mine = await chat.createSession({ sessionId: 's', tenant: 'acme' });
    await chat.createSession({ sessionId: 's', tenant: 'other' });
    await chat.enqueue('s', 'secret', { tenant: 'acme' });
    expect(await chat.messages('s', { tenant: 'other' })).toEqual([]);
    expect(said(await chat.messages('acme/s'))).toEqual(['user: secret']);
    for (const sessionId of ['acme/s', 'nobody/s']) {
      await expect(chat.messages(sessionId, { tenant: 'other' })).rejects.toMatchObject({
        code: 'CHAT_SESSION_NOT_FOUND',
      });
    }
    expect(await chat.listSessions({ tenant: 'acme' })).toEqual([mine]);
    expect(await chat.listSessions({ tenant: '' })).toEqual([]);
    expect((await chat.listSessions()).map(({ tenant }) => tenant).sort()).toEqual(['acme', 'other']);
    // Taken in this tenant: the session that is there.
    expect(await chat.createSession({ sessionId: 's', tenant: 'acme', traceparent: 'x' })).toBe(mine);
    for (const sessionId of ['', 'a/b']) {
      await expect(chat.createSession({ sessionId })).rejects.toMatchObject({ code: 'ID_INVALID' });
    }
    await settle();
    steps.finish('secret');
  });

  it('a message that the store cannot keep is refused, and its turn asks nobody', async () => {
    const store = new InMemoryChatSessionStore();
    const down = new Error('disk full');
    let broken = false;
    const { chat, steps, settle, turns } = await startChat({
      store: {
        create: (session) => store.create(session),
        find: (session) => store.find(session),
        list: (query) => store.list(query),
        messages: (session) => store.messages(session),
        append: (session, message) => (broken ? Promise.reject(down) : store.append(session, message)),
      },
    });
    const { id } = await chat.createSession();
    broken = true;
    expect(await thrownBy(() => chat.enqueue(id, 'lost'))).toBe(down);
    broken = false;
    await chat.enqueue(id, 'kept');
    await settle();
    expect(turns.map(({ message }) => message)).toEqual(['kept']);
    expect(said(await chat.messages(id))).toEqual(['user: kept']);
    steps.finish('kept');
  });

  it('messages are stored in the order in which they were accepted, though the store answers out of order', async () => {
    const store = new InMemoryChatSessionStore();
    const slow = latch('the store to answer');
    const { chat, steps, settle, turns } = await startChat({
      store: {
        create: (session) => store.create(session),
        find: (session) => store.find(session),
        list: (query) => store.list(query),
        messages: (session) => store.messages(session),
        append: async (session, message) => {
          if (message.content === 'first') await slow.promise;
          return store.append(session, message);
        },
      },
    });
    const { id } = await chat.createSession();
    const accepted = ['first', 'second'].map((message) => chat.enqueue(id, message));
    await settle();
    // Its message is not stored yet, so nobody is asked.
    expect(turns).toEqual([]);
    slow.open();
    await Promise.all(accepted);
    expect(said(await chat.messages(id))).toEqual(['user: first', 'user: second']);
    for (const message of ['first', 'second']) {
      await settle();
      steps.finish(message);
    }
  });

  it('a session that the store has dropped meanwhile is not found', async () => {
    const store = new InMemoryChatSessionStore({ maxSessions: 1 });
    const { chat, steps, settle } = await startChat({ store });
    const first = await chat.createSession();
    const { taskId } = await chat.enqueue(first.id, 'running');
    await settle();
    await chat.createSession();
    steps.finish('running');
    await settle();
    await expect(chat.status(first.id, taskId)).rejects.toMatchObject({ code: 'CHAT_SESSION_NOT_FOUND' });
    expect(chat.stats).toMatchObject({ active: 0, lanes: 0 });
  });

  it('lists the newest first, within listMax', async () => {
    const { chat, clock } = await startChat({}, { listMax: 2 });
    for (const sessionId of ['a', 'b', 'c']) {
      await chat.createSession({ sessionId });
      await clock.advance(1000);
    }
    const listed = async (limit?: number) => (await chat.listSessions({ limit })).map(({ id }) => id);
    expect(await listed()).toEqual(['c', 'b']);
    expect(await listed(50)).toEqual(['c', 'b']);
    expect(await listed(1)).toEqual(['c']);
    for (const bad of [0, -1, 1.5, Number.NaN]) {
      await expect(listed(bad)).rejects.toMatchObject({ code: 'OPTION_INVALID' });
    }
  });

  it('stop cancels turns that have not started and refuses new ones', async () => {
    const { chat, steps, settle } = await startChat();
    const { id } = await chat.createSession();
    const first = await chat.enqueue(id, 'runs');
    const second = await chat.enqueue(id, 'waits');
    await settle();
    const stopped = chat.stop();
    await expect(chat.enqueue(id, 'late')).rejects.toMatchObject({ code: 'QUEUE_CLOSED' });
    await settle();
    steps.finish('runs');
    await stopped;
    expect((await chat.status(id, first.taskId)).status).toBe('COMPLETED');
    expect((await chat.status(id, second.taskId)).status).toBe('CANCELLED');
  });
});

it('a runtime that is none is refused when the service is made', () => {
  const runtime = {} as ChatRuntime;
  expect(() => new ChatService({ runtime })).toThrow(
    'runtime must be a ChatRuntime (with processEnqueuedTurn), got {}',
  );
});
