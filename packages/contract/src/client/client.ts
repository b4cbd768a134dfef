import type {
  AcceptedResponse,
  CancelResponse,
  CommandBody,
  CompletedResponse,
  ListFilter,
  OperationBody,
  OperationEvent,
  OperationPage,
} from '../operations.js';
import { monotonicMs, pause, randomKey } from '../system/timing.js';
import { type ClientOptions, Http } from './http.js';

/** What every call may be given. */
export interface CallOptions {
  /** Ends the call; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** How a command is submitted. */
export interface SubmitCallOptions extends CallOptions {
  /** Longest wait for the outcome; refused when out of range. */
  readonly timeBudgetMs?: number | undefined;
  /** The same in seconds, as a preference: clamped when out of range. */
  readonly wait?: number | undefined;
  /** Instead of the command's `idemKey`; random unless either is given. */
  readonly idempotencyKey?: string | undefined;
}

/** How long an end is waited for. */
export interface WaitOptions extends CallOptions {
  /** Longest wait (60000); then the operation is answered as it is. */
  readonly timeoutMs?: number | undefined;
}

/** What can be done with operations. Every call throws ProblemError when the server refuses. */
export interface OperationsClient {
  /** Submits a command; repeated after a lost answer with the same key, so its work runs once. `status` tells the two answers apart. */
  submit(command: CommandBody, options?: SubmitCallOptions): Promise<CompletedResponse | AcceptedResponse>;
  /** Looks at an operation. */
  status(opId: string, options?: CallOptions): Promise<OperationBody>;
  /** Waits for the end of an operation. Look at `endedAt`: it is null when the time was up first. */
  waitFor(opId: string, options?: WaitOptions): Promise<OperationBody>;
  /** Watches an operation until its end; connects again when the stream is cut, which begins with another `start`. */
  events(opId: string, options?: CallOptions): AsyncGenerator<OperationEvent, void, undefined>;
  /** Lists operations, newest first. */
  list(filter?: ListFilter, options?: CallOptions): Promise<OperationPage>;
  /** Cancels an operation. */
  cancel(opId: string, options?: CallOptions): Promise<CancelResponse>;
}

const WAIT_MS = 60_000;
/** One long poll: below what proxies allow a request, usually 60 s. */
const POLL_MS = 20_000;
/** Between two of them: a server that is about to stop answers at once. */
const POLL_PAUSE_MS = 100;
/** Streams in a row that brought nothing. */
const FAILURES_MAX = 10;

const EVENTS = { accept: 'text/event-stream' };

/**
 * Makes a client.
 * @param options - `baseUrl`, `apiKey` and more: see ClientOptions.
 */
export function createClient(options: ClientOptions): OperationsClient {
  const http = new Http(options);
  const base = `${options.baseUrl.replace(/\/+$/, '')}/${(options.path ?? 'api/operations').replace(/^\/+|\/+$/g, '')}`;
  const urlOf = (opId: string, rest = '') => `${base}/${encodeURIComponent(opId)}${rest}`;

  const status = (opId: string, { signal }: CallOptions = {}, query = '') =>
    http.send<OperationBody>({ method: 'GET', url: urlOf(opId, `/status${query}`), signal });

  return {
    submit(command, { timeBudgetMs, wait, idempotencyKey, signal } = {}) {
      const idemKey = idempotencyKey ?? command.idemKey ?? randomKey();
      return http.send({
        method: 'POST',
        url: base,
        body: JSON.stringify({ ...command, idemKey, timeBudgetMs }),
        headers: wait === undefined ? {} : { prefer: `wait=${wait}` },
        signal,
      });
    },

    status: (opId, call) => status(opId, call),

    async waitFor(opId, { timeoutMs = WAIT_MS, signal } = {}) {
      const endsAt = monotonicMs() + timeoutMs;
      for (;;) {
        const leftMs = Math.max(0, endsAt - monotonicMs());
        const seconds = (Math.min(leftMs, POLL_MS) / 1000).toFixed(3);
        const operation = await status(opId, { signal }, `?wait=${seconds}`);
        if (operation.endedAt !== null || monotonicMs() >= endsAt) return operation;
        await pause(Math.min(POLL_PAUSE_MS, Math.max(0, endsAt - monotonicMs())), signal);
      }
    },

    async *events(opId, { signal } = {}) {
      const request = { method: 'GET', url: urlOf(opId, '/events'), headers: EVENTS, signal };
      for (let failures = 0; ; failures++) {
        try {
          for await (const { type, data } of http.stream(request)) {
            failures = 0;
            yield { type, operation: JSON.parse(data) } as OperationEvent;
            if (type === 'end') return;
          }
          throw new Error(`The events of operation ${opId} broke off before its end`);
        } catch (error) {
          const pauseMs = http.pauseAfter(error, failures, signal);
          if (failures >= FAILURES_MAX) throw error;
          await pause(pauseMs, signal);
        }
      }
    },

    list(filter = {}, { signal } = {}) {
      const query = new URLSearchParams();
      for (const [name, value] of Object.entries(filter))
        if (value !== undefined) query.set(name, String(value));
      const search = query.size > 0 ? `?${query}` : '';
      return http.send({ method: 'GET', url: base + search, signal });
    },

    cancel: (opId, { signal } = {}) => http.send({ method: 'DELETE', url: urlOf(opId), signal }),
  };
}
