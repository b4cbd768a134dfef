import { type Deadline, deadline, pause } from '../system/timing.js';
import { BUSY_STATUSES, ProblemError, problemErrorOf } from './problem-error.js';
import { readEvents, type ServerEvent } from './read-events.js';
import { type PiecesLeft, streamOf } from './request-body.js';

/** How a client reaches its server. */
export interface ClientOptions {
  /** Such as `http://127.0.0.1:3000`; a path in it stays. */
  readonly baseUrl: string;
  /** Sent as `Authorization: Bearer …`. */
  readonly apiKey?: string | undefined;
  /** Where the operations are (`/api/operations`). */
  readonly path?: string | undefined;
  /** Instead of the global one. */
  readonly fetch?: typeof fetch | undefined;
  /** How often a request is repeated after a network failure, 429, 502, 503 or 504 (2). */
  readonly retries?: number | undefined;
  /** Longest wait for an answer, and longest silence of a stream (40000). */
  readonly timeoutMs?: number | undefined;
  /** A longer Retry-After is not waited for but thrown (30000). */
  readonly retryAfterMaxMs?: number | undefined;
}

/** What one request is. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  /** Pieces can be read once: a request with them must not be repeated. */
  readonly body?: string | PiecesLeft | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

const RETRIES = 2;
/** Above the 30 s that a long poll may take. */
const TIMEOUT_MS = 40_000;
const RETRY_AFTER_MAX_MS = 30_000;
const FIRST_PAUSE_MS = 100;
const PAUSE_DOUBLINGS_MAX = 6;
/** Node's `fetch` keeps all that was sent for a redirect, unless it can see that it never needs it (nodejs/undici#4058). */
const STREAMED = { duplex: 'half', redirect: 'error', window: null };

/** Sends requests, and sends them again where that is safe: all of them are repeatable, a submit by its key. */
export class Http {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /**
   * Sends a request until it is answered, refused, or repeated too often.
   * @returns the JSON of the answer.
   * @throws ProblemError when the server refuses; what `fetch` threw; the reason of the request's signal.
   */
  async send<T>(request: HttpRequest): Promise<T> {
    const { retries = RETRIES } = this.#options;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once<T>(request);
      } catch (error) {
        const pauseMs = this.pauseAfter(error, attempt, request.signal);
        if (attempt >= retries) throw error;
        await pause(pauseMs, request.signal);
      }
    }
  }

  /**
   * Opens a stream of server-sent events; a silence of more than `timeoutMs` breaks it.
   * @throws like `send`; nothing is repeated.
   */
  async *stream(request: HttpRequest): AsyncGenerator<ServerEvent, void, undefined> {
    const { response, limit } = await this.#open(request);
    try {
      if (response.body) yield* readEvents(response.body, limit.renew);
    } finally {
      limit.clear();
    }
  }

  /**
   * How long to wait before a request is sent again.
   * @throws the error itself where repeating does not help or would take too long; the signal's reason.
   */
  pauseAfter(error: unknown, failures: number, signal: AbortSignal | undefined): number {
    const { retryAfterMaxMs = RETRY_AFTER_MAX_MS } = this.#options;
    signal?.throwIfAborted();
    const problem = error instanceof ProblemError ? error : undefined;
    const pauseMs = problem?.retryAfterMs ?? FIRST_PAUSE_MS * 2 ** Math.min(failures, PAUSE_DOUBLINGS_MAX);
    if ((problem && !BUSY_STATUSES.includes(problem.status)) || pauseMs > retryAfterMaxMs) throw error;
    return pauseMs;
  }

  async #once<T>(request: HttpRequest): Promise<T> {
    const { response, limit } = await this.#open(request);
    try {
      return (await response.json()) as T;
    } finally {
      limit.clear();
    }
  }

  /** The head of a good answer; its body is read inside the same deadline, which the caller clears. */
  async #open(request: HttpRequest): Promise<{ response: Response; limit: Deadline }> {
    const { fetch = globalThis.fetch, apiKey, timeoutMs = TIMEOUT_MS } = this.#options;
    const { method, url, body, signal, headers } = request;
    const limit = deadline(timeoutMs, signal);
    try {
      const response = await fetch(url, {
        method,
        ...(typeof body === 'object' ? { ...STREAMED, body: streamOf(body, limit) } : { body }),
        headers: {
          ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        signal: limit.signal,
      } as RequestInit);
      if (!response.ok) throw problemErrorOf(response, await response.text());
      return { response, limit };
    } catch (error) {
      limit.clear();
      throw error;
    }
  }
}
