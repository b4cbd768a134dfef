import { ManualClock } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { describe, expect, it } from 'vitest';
import {
  ChatService,
  chatRuntimeFromEnvironment,
  DemoChatRuntime,
  OpenAiChatRuntime,
} from '../../src/chat/index.js';
import { collect, shownText } from '../lanes/tools.js';
import { delta, startModelServer, stream } from './model-server.js';

leakCheck();

describe('DemoChatRuntime', () => {
  it('needs nothing, says that it is a demo, and repeats the message word by word', async () => {
    await using chat = new ChatService({ runtime: new DemoChatRuntime({ tokenDelayMs: 0 }) });
    await chat.start();
    const { id } = await chat.createSession();
    const { taskId } = await chat.enqueue(id, 'Is  anybody there?');
    const events = await collect(await chat.stream(id, taskId));
    expect(events.length).toBeGreaterThan(20);
    expect(shownText(events)).toMatch(/^This is the demo runtime .* You said: Is {2}anybody there\?$/);
  });

  it('pauses between words, and a cancelled turn ends in the pause', async () => {
    const clock = new ManualClock();
    const runtime = new DemoChatRuntime({}, { clock });
    const control = new AbortController();
    const { signal } = control;
    const turn = {
      sessionId: 's',
      tenant: '',
      traceparent: '',
      message: 'x'.repeat(1000),
      history: [],
      signal,
    };
    const words = runtime.processEnqueuedTurn(turn);
    const first = words.next();
    await clock.advance(29);
    await clock.advance(1);
    expect((await first).value).toBe('This');
    const second = words.next();
    control.abort();
    expect((await second).done).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('chatRuntimeFromEnvironment', () => {
  it('runtime RT-9: gives the demo without CHAT_API_URL, else a client with the three variables', async () => {
    expect(chatRuntimeFromEnvironment({})).toBeInstanceOf(DemoChatRuntime);
    expect(chatRuntimeFromEnvironment({ CHAT_API_URL: '', CHAT_MODEL: 'm' })).toBeInstanceOf(DemoChatRuntime);
    const { url, asked } = await startModelServer((response) => {
      stream(response, delta('from afar'), 'data: [DONE]\n\n').end();
    });
    const env = { CHAT_API_URL: url, CHAT_API_KEY: 'sk-1', CHAT_MODEL: 'large' };
    const runtime = chatRuntimeFromEnvironment(env);
    expect(runtime).toBeInstanceOf(OpenAiChatRuntime);
    await using chat = new ChatService({ runtime });
    await chat.start();
    const { id } = await chat.createSession();
    const { taskId } = await chat.enqueue(id, 'hello');
    expect(shownText(await collect(await chat.stream(id, taskId)))).toBe('from afar');
    expect(asked[0]).toMatchObject({ headers: { authorization: 'Bearer sk-1' }, body: { model: 'large' } });
  });

  it('runtime RT-9: refuses what cannot work with the name of the variable, and never shows the key', () => {
    const url = 'https://models.example/v1';
    for (const [env, message] of [
      [
        { CHAT_API_URL: 'models.example' },
        "CHAT_API_URL must be an http or https address, got 'models.example'",
      ],
      [{ CHAT_API_URL: url }, "CHAT_MODEL must be a model's name when CHAT_API_URL is set, got ''"],
      [
        { CHAT_API_URL: url, CHAT_MODEL: 'm', CHAT_API_KEY: 'sk secret' },
        "CHAT_API_KEY must be printable characters without spaces, got '(not shown)'",
      ],
    ] as const) {
      expect(() => chatRuntimeFromEnvironment(env)).toThrow(
        expect.objectContaining({ code: 'ENVIRONMENT_INVALID', message }),
      );
    }
  });
});
