import type { Problem } from '../problem.js';
import { type Deadline, deadline, pause } from './timing.js';

/** Connection settings of a client. */
export interface ClientOptions {
  /** Address of the server, such as `http://127.0.0.1:3000`. It may have a path. */
  readonly baseUrl: string;
  /** Sent as `Authorization: Bearer …`. */
  readonly apiKey?: string | undefined;
  /** Path of the operations API (`/api/operations`). */
  readonly path?: string | undefined;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** Maximum retries after a network failure, 429, 502, 503 or 504 (2). */
  readonly retries?: number | undefined;
  /** Maximum time without a byte from the server, in milliseconds (40000). */
  readonly timeoutMs?: number | undefined;
  /** Maximum `Retry-After` to wait for, in milliseconds (30000). With a longer one the error is thrown at once. */
  readonly retryAfterMaxMs?: number | undefined;
}

/** A request to send. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query, appended to the address of the server. */
  readonly path: string;
  /** Pieces can be read once, so a request with them must not be repeated. */
  readonly body?: string | PiecesLeft | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One server-sent event. */
export interface ServerEvent {
  readonly type: string;
  readonly data: string;
}

/** The server refused the request. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;

  /**
   * @param problem - the body of the response (RFC 9457).
   * @param retryAfterMs - from the header `Retry-After`; undefined if that is missing.
   */
  constructor(
    readonly problem: Problem,
    readonly retryAfterMs?: number | undefined,
  ) {
    super(`${problem.code}: ${problem.detail}`);
    this.code = problem.code;
    this.status = problem.status;
    this.retryable = problem.retryable;
  }
}

/** Statuses after which the same request may be sent again. */
export const BUSY_STATUSES: readonly number[] = [429, 502, 503, 504];

const RETRIES = 2;
/** Above the 30 s that a long poll may take. */
const TIMEOUT_MS = 40_000;
const RETRY_AFTER_MAX_MS = 30_000;
const FIRST_PAUSE_MS = 100;
const PAUSE_DOUBLINGS_MAX = 6;
/** Without these Node's `fetch` keeps the whole body in case of a redirect (nodejs/undici#4058). */
const STREAMED = { duplex: 'half', redirect: 'error', window: null };

/** Sends requests and retries them. Every request must be safe to repeat: a submit is, by its key. */
export class Http {
  constructor(private readonly options: ClientOptions) {}

  /**
   * Sends a request and returns the JSON of the response. Retries after a network failure or a busy status.
   * @throws ProblemError if the server refuses; the error of `fetch`; the reason of the request's signal.
   */
  async send<T>(request: HttpRequest): Promise<T> {
    const { retries = RETRIES } = this.options;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#attempt<T>(request);
      } catch (error) {
        const pauseMs = this.pauseAfter(error, attempt, request.signal);
        if (attempt >= retries) throw error;
        await pause(pauseMs, request.signal);
      }
    }
  }

  /**
   * Opens a stream of server-sent events. It breaks after `timeoutMs` of silence; keep-alive comments count.
   * @throws as `send`, without a retry.
   */
  async *stream(request: HttpRequest): AsyncGenerator<ServerEvent, void, undefined> {
    const headers = { accept: 'text/event-stream', ...request.headers };
    const { response, limit } = await this.#open({ ...request, headers });
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    const read = eventReader();
    try {
      for (;;) {
        const { done = true, value } = (await reader?.read()) ?? {};
        if (done) return;
        limit.renew();
        yield* read(decoder.decode(value, { stream: true }));
      }
    } finally {
      limit.clear();
      // Not awaited: a connection that hangs must not delay a caller that has read enough.
      reader?.cancel().catch(() => {});
    }
  }

  /**
   * Returns the milliseconds to wait before the next attempt.
   * @throws the error itself if a retry cannot help or would take too long; the reason of the signal.
   */
  pauseAfter(error: unknown, failures: number, signal: AbortSignal | undefined): number {
    const { retryAfterMaxMs = RETRY_AFTER_MAX_MS } = this.options;
    signal?.throwIfAborted();
    const problem = error instanceof ProblemError ? error : undefined;
    const pauseMs = problem?.retryAfterMs ?? FIRST_PAUSE_MS * 2 ** Math.min(failures, PAUSE_DOUBLINGS_MAX);
    if ((problem && !BUSY_STATUSES.includes(problem.status)) || pauseMs > retryAfterMaxMs) throw error;
    return pauseMs;
  }

  async #attempt<T>(request: HttpRequest): Promise<T> {
    const { response, limit } = await this.#open(request);
    try {
      return (await response.json()) as T;
    } finally {
      limit.clear();
    }
  }

  /** Returns the head of a successful response. The caller reads the body within `limit`, then clears it. */
  async #open(request: HttpRequest): Promise<{ response: Response; limit: Deadline }> {
    const { baseUrl, fetch = globalThis.fetch, apiKey, timeoutMs = TIMEOUT_MS } = this.options;
    const { method, path, body, signal, headers } = request;
    const limit = deadline(timeoutMs, signal);
    try {
      const response = await fetch(baseUrl.replace(/\/+$/, '') + path, {
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

function problemErrorOf(response: Response, body: string): ProblemError {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfterMs = seconds >= 0 ? seconds * 1000 : undefined;
  return new ProblemError(parseProblem(body) ?? foreignProblem(response), retryAfterMs);
}

function parseProblem(body: string): Problem | undefined {
  try {
    const problem = JSON.parse(body) as Problem | null;
    return typeof problem?.code === 'string' ? problem : undefined;
  } catch {
    return undefined;
  }
}

/** The problem of a response that Millrace did not send: that of a proxy, or of another server at this address. */
const foreignProblem = ({ status, statusText }: Response): Problem => ({
  type: 'about:blank',
  title: statusText,
  status,
  detail: `The response was ${status} ${statusText} without a problem in its body`,
  code: `HTTP_${status}`,
  retryable: BUSY_STATUSES.includes(status),
});

/** Returns a parser of server-sent events. It takes the text piece by piece and returns the events that are complete. */
function eventReader(): (text: string) => ServerEvent[] {
  let rest = '';
  let type = 'message';
  let data: string[] = [];
  return (text) => {
    const events: ServerEvent[] = [];
    // The last line may be incomplete. So may a CR: its LF comes with the next piece.
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [, field, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      if (field === 'event') type = value;
      else if (field === 'data') data.push(value);
      else if (line === '') {
        if (data.length > 0) events.push({ type, data: data.join('\n') });
        type = 'message';
        data = [];
      }
    }
    return events;
  };
}

/** A body that is made while it is sent: texts and bytes, in order. */
export type BodyPieces = AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;

/** The pieces that have not been sent yet. */
export type PiecesLeft = AsyncGenerator<string | Uint8Array, void, undefined>;

/**
 * Starts reading the pieces of a body. The caller must `return()` it at the end of the request: Node's `fetch` abandons the pieces after an
 * early response, and after an abort reads on without an end.
 */
export async function* piecesLeft(pieces: BodyPieces): PiecesLeft {
  yield* pieces;
}

/**
 * Makes a body for `fetch`. Reads each piece when the one before it has been sent, and keeps none. `limit` does not run while the body waits
 * for a piece, because that is no silence of the server.
 */
export function streamOf(
  left: PiecesLeft,
  limit: Pick<Deadline, 'hold' | 'renew'>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      async pull(controller) {
        limit.hold();
        const { done, value } = await left.next();
        limit.renew();
        if (done) controller.close();
        else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value);
      },
    },
    { highWaterMark: 0 },
  );
}
