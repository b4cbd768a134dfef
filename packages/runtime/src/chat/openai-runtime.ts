import { onAbort } from '@millrace/async-utils';
import { type Clock, type MillraceError, systemClock, traceIdOf } from '@millrace/foundation';
import { abortError, ERRORS } from '../errors.js';
import { EndpointFailure, isDone, refuseFailure, textOf } from './openai-answer.js';
import {
  type OpenAiChatRuntimeOptions,
  type ResolvedOpenAiChatRuntimeOptions,
  resolveOpenAiChatRuntimeOptions,
} from './openai-options.js';
import type { ChatRuntime, ChatTurn } from './ports.js';
import { EventStreamDecoder } from './server-sent-events.js';

/** What an OpenAiChatRuntime takes from outside; the platform's own unless given. */
export interface OpenAiChatRuntimeDependencies {
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly clock?: Clock | undefined;
}

/** Asks any endpoint that speaks OpenAI's streaming chat completions. */
export class OpenAiChatRuntime implements ChatRuntime {
  readonly #options: ResolvedOpenAiChatRuntimeOptions;
  readonly #endpoint: string;
  readonly #fetch: typeof globalThis.fetch;
  readonly #clock: Clock;

  /** @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`. */
  constructor(options: OpenAiChatRuntimeOptions, dependencies: OpenAiChatRuntimeDependencies = {}) {
    this.#options = resolveOpenAiChatRuntimeOptions(options);
    this.#endpoint = endpointOf(this.#options.url);
    this.#fetch = dependencies.fetch ?? globalThis.fetch;
    this.#clock = dependencies.clock ?? systemClock;
  }

  /**
   * Streams the answer to one turn; leaving it early, or the turn's signal, ends the request.
   * @throws MillraceError `CHAT_STREAM_ERROR` when the endpoint refuses, fails in mid-stream, falls silent, or closes the
   * connection before the answer is complete; AbortError (`ABORTED`).
   */
  async *processEnqueuedTurn(turn: ChatTurn): AsyncGenerator<string, void, undefined> {
    const { signal } = turn;
    if (signal.aborted) throw abortError(signal);
    const request = new AbortController();
    const forgetSignal = onAbort(signal, () => request.abort(signal.reason));
    try {
      const body = await this.#ask(turn, request);
      yield* this.#tokens(body, request);
    } catch (error) {
      if (signal.aborted) throw abortError(signal);
      // When this side gave up, what fetch throws depends on where it was; the reason does not.
      throw this.#failure(request.signal.aborted ? request.signal.reason : error);
    } finally {
      forgetSignal();
      // Frees the connection, whatever of the answer has not been read.
      request.abort();
    }
  }

  async #ask(turn: ChatTurn, request: AbortController): Promise<ReadableStream<Uint8Array>> {
    const { model, apiKey, systemPrompt, historyMessagesMax, errorBytesMax } = this.#options;
    const history = turn.history.slice(Math.max(0, turn.history.length - historyMessagesMax));
    const messages = [
      ...(systemPrompt === '' ? [] : [{ role: 'system', content: systemPrompt }]),
      ...history.map(({ role, content }) => ({ role, content })),
      { role: 'user', content: turn.message },
    ];
    const response = await this.#awaiting(request, () =>
      this.#fetch(this.#endpoint, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'text/event-stream',
          ...(apiKey !== '' && { authorization: `Bearer ${apiKey}` }),
          ...(traceIdOf(turn.traceparent) !== undefined && { traceparent: turn.traceparent }),
        },
        body: JSON.stringify({ model, messages, stream: true }),
        signal: request.signal,
      }),
    );
    await this.#awaiting(request, () => refuseFailure(response, errorBytesMax));
    if (!response.body) throw new EndpointFailure('the endpoint answered without a body');
    return response.body;
  }

  async *#tokens(
    body: ReadableStream<Uint8Array>,
    request: AbortController,
  ): AsyncGenerator<string, void, undefined> {
    const { lineCharactersMax } = this.#options;
    const decoder = new EventStreamDecoder({ lineCharactersMax, eventCharactersMax: lineCharactersMax });
    const reader = body.getReader();
    for (;;) {
      const { done, value } = await this.#awaiting(request, () => reader.read());
      if (done) break;
      for (const event of decoder.push(value)) {
        if (isDone(event)) return;
        const text = textOf(event);
        if (text !== '') yield text;
      }
    }
    if (decoder.end().some(isDone)) return;
    throw new EndpointFailure('the connection ended before the answer was complete');
  }

  /** Only the endpoint's silence counts: while whoever reads the tokens is slow, no time runs. */
  async #awaiting<T>(request: AbortController, work: () => Promise<T>): Promise<T> {
    const { idleTimeoutMs } = this.#options;
    const silent = () =>
      request.abort(new EndpointFailure(`the endpoint was silent for ${idleTimeoutMs} ms`));
    const cancelTimer = this.#clock.setTimer(idleTimeoutMs, silent, { unref: true });
    try {
      return await work();
    } finally {
      cancelTimer();
    }
  }

  #failure(error: unknown): MillraceError {
    const { apiKey } = this.#options;
    const told = reasonOf(error);
    const reason = apiKey === '' ? told : told.replaceAll(apiKey, '***');
    const retryAfterMs = error instanceof EndpointFailure ? error.retryAfterMs : undefined;
    // Some endpoints repeat the key they refuse, and causes are logged.
    const cause = reason === told ? error : new EndpointFailure(reason, retryAfterMs);
    return ERRORS.create('CHAT_STREAM_ERROR', { reason }, { cause, retryAfterMs });
  }
}

function endpointOf(url: string): string {
  const endpoint = new URL(url);
  const path = endpoint.pathname.replace(/\/+$/, '');
  endpoint.pathname = path.endsWith('/chat/completions') ? path : `${path}/chat/completions`;
  return endpoint.href;
}

/** `fetch failed` alone says nothing: what failed is in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, message } = (error.cause ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  const detail = [message, code].find((text) => typeof text === 'string' && text !== '');
  return detail === undefined ? error.message : `${error.message}: ${detail}`;
}
