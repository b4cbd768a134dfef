import { inspect } from 'node:util';
import { systemClock } from '@millrace/foundation';
import { ManualClock, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { describe, expect, it } from 'vitest';
import type { OpenAiChatRuntimeOptions } from '../../src/chat/openai-options.js';
import { OpenAiChatRuntime } from '../../src/chat/openai-runtime.js';
import type { ChatTurn } from '../../src/chat/ports.js';
import { thrownBy } from '../lanes/tools.js';
import { type Answer, delta, startModelServer, stream } from './model-server.js';

leakCheck();

const DONE = 'data: [DONE]\n\n';

const turn = (given: Partial<ChatTurn> = {}): ChatTurn => ({
  sessionId: 's',
  tenant: '',
  traceparent: '',
  message: 'Hello?',
  history: [],
  signal: new AbortController().signal,
  ...given,
});

async function ask(answer: Answer, options: Partial<OpenAiChatRuntimeOptions> = {}, clock = systemClock) {
  const server = await startModelServer(answer);
  const runtime = new OpenAiChatRuntime({ url: server.url, model: 'small', ...options }, { clock });
  return { ...server, runtime };
}

/** The tokens of one turn, and what ended it early. */
async function answerTo(runtime: OpenAiChatRuntime, given?: Partial<ChatTurn>) {
  const tokens: string[] = [];
  try {
    for await (const token of runtime.processEnqueuedTurn(turn(given))) tokens.push(token);
    return { tokens };
  } catch (error) {
    return { tokens, error };
  }
}

const failure = (reason: string | RegExp) =>
  expect.objectContaining({
    code: 'CHAT_STREAM_ERROR',
    status: 502,
    message: expect.stringMatching(reason),
    cause: expect.anything(),
  });

describe('OpenAiChatRuntime', () => {
  it('asks for a stream with model, key, trace, system prompt and the latest history', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const { runtime, asked } = await ask(
      (response) => stream(response, delta('Hi'), delta('!'), DONE).end(),
      {
        apiKey: 'sk-secret',
        systemPrompt: 'Be short.',
        historyMessagesMax: 2,
      },
    );
    const history = ['one', 'two', 'three'].map((content) => ({ role: 'user' as const, content }));
    expect(await answerTo(runtime, { history, traceparent })).toEqual({ tokens: ['Hi', '!'] });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({
      path: '/v1/chat/completions',
      headers: { authorization: 'Bearer sk-secret', traceparent, accept: 'text/event-stream' },
      body: {
        model: 'small',
        stream: true,
        messages: [
          { role: 'system', content: 'Be short.' },
          { role: 'user', content: 'two' },
          { role: 'user', content: 'three' },
          { role: 'user', content: 'Hello?' },
        ],
      },
    });
  });

  it('takes the whole address too, and sends no header that it has nothing for', async () => {
    const server = await startModelServer((response) => stream(response, DONE).end());
    const url = `${server.url}/chat/completions/`;
    const runtime = new OpenAiChatRuntime({ url, model: 'm' });
    await answerTo(runtime, { traceparent: 'not one\r\nx: y' });
    expect(server.asked[0]?.path).toBe('/v1/chat/completions');
    expect(server.asked[0]?.headers).not.toHaveProperty('authorization');
    expect(server.asked[0]?.headers).not.toHaveProperty('traceparent');
  });

  it('passes over what is no text: roles, usage, comments, other choices', async () => {
    const { runtime } = await ask((response) =>
      stream(
        response,
        ': keep-alive\n\n',
        'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n',
        'data: {"choices":[]}\r\n\r\ndata: null\n\n',
        delta(''),
        delta('x'),
        'data: {"choices":[{"delta":{"content":null},"finish_reason":"stop"}],"error":null}\n\n',
        DONE,
      ).end(),
    );
    expect(await answerTo(runtime)).toEqual({ tokens: ['x'] });
  });

  it('puts tokens together that arrive in single bytes, and slow ones as they come', async () => {
    const bytes = new TextEncoder().encode(delta('Grüße 😀') + delta('!') + DONE);
    let sent = 0;
    const { runtime } = await ask((response) => {
      stream(response);
      const next = () => {
        if (sent === bytes.length) response.end();
        else response.write(bytes.subarray(sent, ++sent), () => setImmediate(next));
      };
      next();
    });
    expect(await answerTo(runtime)).toEqual({ tokens: ['Grüße 😀', '!'] });
    expect(sent).toBe(bytes.length);
  });

  it('gives each token when it comes, however long the next one takes', async () => {
    let more = () => {};
    const clock = new ManualClock();
    const { runtime } = await ask(
      (response) => {
        stream(response, delta('first'));
        more = () => response.end(delta('second') + DONE);
      },
      { idleTimeoutMs: 60_000 },
      clock,
    );
    const tokens = runtime.processEnqueuedTurn(turn());
    expect((await tokens.next()).value).toBe('first');
    // The time in which nobody asks for the next token is not the endpoint's.
    await clock.advance(120_000);
    const second = tokens.next();
    await clock.advance(59_999);
    more();
    expect((await second).value).toBe('second');
    expect((await tokens.next()).done).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  it('gives up on an endpoint that falls silent, before or in the middle of its answer', async () => {
    for (const begun of [false, true]) {
      const clock = new ManualClock();
      const { runtime, asked, hungUp } = await ask(
        (response) => {
          if (begun) stream(response, delta('x'));
        },
        { idleTimeoutMs: 1000 },
        clock,
      );
      const tokens = runtime.processEnqueuedTurn(turn());
      if (begun) expect((await tokens.next()).value).toBe('x');
      const thrown = thrownBy(() => tokens.next());
      await until(() => asked.length === 1, { what: 'the question' });
      await clock.advance(1000);
      expect(await thrown).toEqual(failure('silent for 1000 ms'));
      await hungUp.wait();
    }
  });

  it('fails with the reason of an error sent in mid-stream', async () => {
    for (const [sent, reason] of [
      ['data: {"error":{"message":"model overloaded","code":"busy"}}\n\n', 'model overloaded'],
      ['data: {"error":"plain words"}\n\n', 'plain words'],
      ['data: {"error":{}}\n\n', 'no message given'],
      ['event: error\ndata: gone fishing\n\n', 'gone fishing'],
      ['data: {"choices":\n\n', 'not JSON'],
    ] as const) {
      const { runtime } = await ask((response) => stream(response, delta('before'), sent));
      expect(await answerTo(runtime)).toEqual({ tokens: ['before'], error: failure(reason) });
    }
  });

  it('fails when the connection is dropped or closed before [DONE]', async () => {
    const dropped = await ask((response) => {
      stream(response, delta('half'));
      setImmediate(() => response.destroy());
    });
    expect(await answerTo(dropped.runtime)).toEqual({ tokens: ['half'], error: failure('') });
    const closed = await ask((response) => stream(response, delta('half'), 'data: {"choi').end());
    expect(await answerTo(closed.runtime)).toEqual({
      tokens: ['half'],
      error: failure('ended before the answer was complete'),
    });
    const bare = await ask((response) => stream(response, delta('whole'), 'data: [DONE]').end());
    expect(await answerTo(bare.runtime)).toEqual({ tokens: ['whole'] });
  });

  it('fails with status and reason of an answer that is none, and never shows the key', async () => {
    const json = { 'content-type': 'application/json', 'retry-after': '7' };
    const refusing = await ask(
      (response) =>
        response.writeHead(429, json).end('{"error":{"message":"Too many requests for sk-secret"}}'),
      { apiKey: 'sk-secret' },
    );
    const refused = await answerTo(refusing.runtime);
    expect(refused.error).toEqual(failure(/answered 429: Too many requests for \*\*\*$/));
    expect(refused.error).toMatchObject({ retryAfterMs: 7000 });
    expect(inspect(refused.error, { depth: 9 })).not.toContain('sk-secret');
    const html = await ask((response) => response.writeHead(500).end(`<h1>${'x'.repeat(100_000)}`));
    expect((await answerTo(html.runtime)).error).toEqual(failure(/answered 500: <h1>x+…$/));
    const empty = await ask((response) => response.writeHead(404).end());
    expect((await answerTo(empty.runtime)).error).toEqual(failure(/answered 404$/));
    const wrong = await ask((response) => response.writeHead(200, json).end('{"error":"no streams here"}'));
    expect((await answerTo(wrong.runtime)).error).toEqual(
      failure('answered 200 with application/json: no streams here'),
    );
  });

  it('says why an endpoint cannot be reached', async () => {
    const runtime = new OpenAiChatRuntime({ url: 'http://127.0.0.1:1/v1', model: 'm' });
    expect((await answerTo(runtime)).error).toEqual(failure('fetch failed: .+'));
    const fetch = async () => {
      throw 'not even an error';
    };
    const odd = new OpenAiChatRuntime({ url: 'http://x', model: 'm' }, { fetch });
    expect((await answerTo(odd)).error).toEqual(failure('not even an error'));
  });

  it('refuses a line over the limit', async () => {
    const { runtime } = await ask((response) => stream(response, delta('x'.repeat(500))), {
      lineCharactersMax: 200,
    });
    expect((await answerTo(runtime)).error).toEqual(failure('longer than 200 characters'));
  });

  it('a cancelled turn ends the request, waiting for the answer or in the middle of it', async () => {
    for (const begun of [false, true]) {
      const { runtime, asked, hungUp } = await ask((response) => {
        if (begun) stream(response, delta('x'));
      });
      const control = new AbortController();
      const tokens = runtime.processEnqueuedTurn(turn({ signal: control.signal }));
      if (begun) await tokens.next();
      const thrown = thrownBy(() => tokens.next());
      await until(() => asked.length === 1, { what: 'the question' });
      control.abort(new Error('enough'));
      expect(await thrown).toMatchObject({ code: 'ABORTED', cause: new Error('enough') });
      await hungUp.wait();
    }
    const { runtime, asked } = await ask(() => {});
    const { error } = await answerTo(runtime, { signal: AbortSignal.abort() });
    expect(error).toMatchObject({ code: 'ABORTED' });
    expect(asked).toEqual([]);
  });

  it('leaving the answer early ends the request', async () => {
    const { runtime, hungUp } = await ask((response) => stream(response, delta('x'), delta('y')));
    for await (const token of runtime.processEnqueuedTurn(turn())) {
      expect(token).toBe('x');
      break;
    }
    await hungUp.wait();
  });

  it('refuses bad settings, and never shows the key', () => {
    const make = (options: object) => () => new OpenAiChatRuntime(options as OpenAiChatRuntimeOptions);
    expect(make({ url: 'ftp://x', model: 'm' })).toThrow('url must be an http or https address');
    expect(make({ model: 'm' })).toThrow('url must be an http or https address');
    expect(make({ url: 'http://x' })).toThrow("model must be a model's name");
    expect(make({ url: 'http://x', model: 'm', apiKey: 'sk-secret\n' })).toThrow(
      'apiKey must be printable characters without spaces, got (not shown)',
    );
  });
});
