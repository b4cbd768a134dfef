/**
 * A small typed client of the operations API, for browsers and Node. It does not import zod, so a page that uses it stays small.
 *
 * @packageDocumentation
 */

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
import { type ClientOptions, Http } from './http.js';
import { monotonicMs, pause, randomKey } from './timing.js';

export type { FieldError, Problem } from '../problem.js';
export { type ClientOptions, ProblemError } from './http.js';

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call, which rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a submit. */
export interface SubmitCallOptions extends CallOptions {
  /** Maximum wait for the outcome, in milliseconds. A value out of range is refused. */
  readonly timeBudgetMs?: number | undefined;
  /** Preferred wait for the outcome, in seconds. A value out of range is clamped. */
  readonly wait?: number | undefined;
  /** Replaces the command's `idemKey`. Random if neither is set. */
  readonly idempotencyKey?: string | undefined;
}

/** Options of a wait for the end of an operation. */
export interface WaitOptions extends CallOptions {
  /** Maximum wait in milliseconds (60000). After it the call returns the operation as it is. */
  readonly timeoutMs?: number | undefined;
}

/** The operations API. Every call throws ProblemError if the server refuses. */
export interface OperationsClient {
  /** Submits a command. Retries use the same key, so its work runs once. `status` tells the two responses apart. */
  submit(command: CommandBody, options?: SubmitCallOptions): Promise<CompletedResponse | AcceptedResponse>;
  /** Returns an operation. */
  status(opId: string, options?: CallOptions): Promise<OperationBody>;
  /** Waits for the end of an operation. If the time was up first, `endedAt` is null. */
  waitFor(opId: string, options?: WaitOptions): Promise<OperationBody>;
  /** Watches an operation until its end. Reconnects if the stream breaks, which yields another `start`. */
  events(opId: string, options?: CallOptions): AsyncGenerator<OperationEvent, void, undefined>;
  /** Lists operations, newest first. */
  list(filter?: ListFilter, options?: CallOptions): Promise<OperationPage>;
  /** Cancels an operation. */
  cancel(opId: string, options?: CallOptions): Promise<CancelResponse>;
}

const WAIT_MS = 60_000;
/** Duration of one long poll: below the time that proxies allow a request, usually 60 s. */
const POLL_MS = 20_000;
/** Pause between two polls: a server that stops answers at once. */
const POLL_PAUSE_MS = 100;
/** Maximum number of successive streams without an event. */
const FAILURES_MAX = 10;

/** Makes a client of the operations API. */
export function createClient(options: ClientOptions): OperationsClient {
  const http = new Http(options);
  const base = `/${(options.path ?? 'api/operations').replace(/^\/+|\/+$/g, '')}`;
  const pathOf = (opId: string, rest = '') => `${base}/${encodeURIComponent(opId)}${rest}`;

  const status = (opId: string, { signal }: CallOptions = {}, query = '') =>
    http.send<OperationBody>({ method: 'GET', path: pathOf(opId, `/status${query}`), signal });

  return {
    submit(command, { timeBudgetMs, wait, idempotencyKey, signal } = {}) {
      const idemKey = idempotencyKey ?? command.idemKey ?? randomKey();
      return http.send({
        method: 'POST',
        path: base,
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
      const request = { method: 'GET', path: pathOf(opId, '/events'), signal };
      for (let failures = 0; ; failures++) {
        try {
          for await (const { type, data } of http.stream(request)) {
            failures = 0;
            yield { type, operation: JSON.parse(data) } as OperationEvent;
            if (type === 'end') return;
          }
          throw new Error(`The event stream of operation ${opId} closed before the operation ended`);
        } catch (error) {
          const pauseMs = http.pauseAfter(error, failures, signal);
          if (failures >= FAILURES_MAX) throw error;
          await pause(pauseMs, signal);
        }
      }
    },

    list: (filter = {}, { signal } = {}) =>
      http.send({ method: 'GET', path: base + searchOf({ ...filter }), signal }),

    cancel: (opId, { signal } = {}) => http.send({ method: 'DELETE', path: pathOf(opId), signal }),
  };
}

/** Writes a query string, '' without parameters. Skips parameters that are undefined or null. */
export function searchOf(query: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) search.set(name, String(value));
  return search.size > 0 ? `?${search}` : '';
}
