import { MillraceError } from '@millrace/foundation';
import type { Agent, Dispatcher } from 'undici';
import { ERRORS } from '../errors.js';
import type { AddressGuard } from './address-guard.js';

/** One request, no redirect followed. */
export interface HttpCall {
  readonly method: string;
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
}

/** What came back. */
export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case; of one that came several times, the first. */
  readonly headers: Readonly<Record<string, string>>;
  /** Its start, read as UTF-8. */
  readonly body: string;
  /** Whether there was more of the body. */
  readonly truncated: boolean;
}

/** Speaks HTTP to what a guard allows. */
export class GuardedHttp {
  readonly #guard: AddressGuard;
  #agent: Promise<Agent> | undefined;
  #isClosed = false;

  /** @param guard - decides about every address, at the moment of connecting. */
  constructor(guard: AddressGuard) {
    this.#guard = guard;
  }

  /**
   * Makes one request.
   * @param call - see HttpCall.
   * @param options - `protocols` that may be spoken, `bodyBytesMax` to read of the answer, `signal` to end it early.
   * @returns the answer, whatever its status.
   * @throws MillraceError `ADDRESS_REFUSED`; `CALL_FAILED` when no answer came; the signal's reason.
   */
  async request(
    call: HttpCall,
    options: {
      readonly protocols: readonly string[];
      readonly bodyBytesMax: number;
      readonly signal: AbortSignal;
    },
  ): Promise<HttpAnswer> {
    const { protocols, bodyBytesMax, signal } = options;
    const { method, url, headers, body } = call;
    this.#guard.checkUrl(url, protocols);
    if (this.#isClosed)
      throw ERRORS.create('CALL_FAILED', { host: url.host, reason: 'the processor is closed' });
    try {
      const agent = await this.#connections();
      const answer = await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: method as Dispatcher.HttpMethod,
        headers,
        body: body ?? null,
        signal,
      });
      const read = await readStart(answer.body, bodyBytesMax);
      return { status: answer.statusCode, headers: firstOf(answer.headers), ...read };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof MillraceError) throw error;
      throw ERRORS.create('CALL_FAILED', { host: url.host, reason: reasonOf(error) }, { cause: error });
    }
  }

  /** Ends every connection; what is under way fails. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const agent = await this.#agent;
    await agent?.destroy();
  }

  /** Loaded with the first call: most processes make none, and it takes a tenth of a second. */
  #connections(): Promise<Agent> {
    const { lookup } = this.#guard;
    this.#agent ??= import('undici').then(
      ({ Agent: Connections }) => new Connections({ connect: { lookup } }),
    );
    return this.#agent;
  }
}

/** Leaving the loop early ends the connection: nobody sends us a gigabyte that we do not want. */
async function readStart(
  body: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<Pick<HttpAnswer, 'body' | 'truncated'>> {
  const decoder = new TextDecoder();
  let text = '';
  let left = bytesMax;
  for await (const chunk of body) {
    text += decoder.decode(chunk.subarray(0, left), { stream: true });
    left -= chunk.byteLength;
    if (left < 0) return { body: text, truncated: true };
  }
  return { body: text + decoder.decode(), truncated: false };
}

const firstOf = (
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      const first = Array.isArray(value) ? value[0] : value;
      return first === undefined ? [] : [[name.toLowerCase(), first]];
    }),
  );

/** An error of several connection attempts has no message of its own. */
function reasonOf(error: unknown): string {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  const { message, code } = (first ?? {}) as { readonly message?: unknown; readonly code?: unknown };
  const told = [message, code].find((text) => typeof text === 'string' && text !== '');
  return told === undefined ? 'no answer' : String(told);
}
