/**
 * A typed client of all routes of a server, for browsers and Node. It does not import zod, so a page that uses it stays small.
 *
 * @packageDocumentation
 */

import { PATHS, type RouteId } from '../paths.js';
import type { RequestOf, ResponseOf } from '../routes.js';
import { type CallOptions, createClient, type OperationsClient, searchOf } from './client.js';
import {
  type BodyPieces,
  type ClientOptions,
  Http,
  type HttpRequest,
  piecesLeft,
  type ServerEvent,
} from './http.js';
import { randomKey } from './timing.js';

export { type RouteId, VIEWS, type ViewId } from '../paths.js';
export type { Problem } from '../problem.js';
export type { RequestOf, ResponseOf } from '../routes.js';
export {
  type BodyPieces,
  BUSY_STATUSES,
  type ClientOptions,
  ProblemError,
  type ServerEvent,
} from './http.js';

/** True if a part of a request may be left out. */
type IsOptional<T> = undefined extends T ? true : Record<never, never> extends T ? true : false;

/** The parts of a request, optional where the route allows it. */
type Needed<R> = { [K in keyof R as IsOptional<R[K]> extends true ? never : K]: R[K] } & {
  [K in keyof R as IsOptional<R[K]> extends true ? K : never]?: R[K] | undefined;
};

/** The `params`, `query` and `body` of a call, as far as its route has them. */
export type CallRequest<Id extends RouteId> = Needed<RequestOf<Id>>;

/** Options of a call. */
export interface ServerCallOptions extends CallOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The routes that accept a body of lines. */
export type UploadRouteId = 'submitGroup' | 'addJobs';

/** Options of an upload. */
export interface UploadOptions extends ServerCallOptions {
  /** Identifies the request. Sent again with the same key, lines stored before a failure are skipped. Random by default. */
  readonly idempotencyKey?: string | undefined;
}

/** The API of a server, typed by its routes. Every call throws ProblemError if the server refuses. */
export interface ServerClient {
  /** The operations API, with waiting. */
  readonly operations: OperationsClient;
  /** Calls a route and returns its JSON. Retries after a lost response, unless a repeat could act twice. */
  call<Id extends RouteId>(
    id: Id,
    request: CallRequest<Id>,
    options?: ServerCallOptions,
  ): Promise<ResponseOf<Id>>;
  /**
   * Sends lines of JSON (application/x-ndjson) while they are made, in any number. The route says what a line is. Sends once: after a
   * failure send all lines again with the same `idempotencyKey`. Browsers support it over HTTP/2 only.
   */
  upload<Id extends UploadRouteId>(
    id: Id,
    request: Omit<CallRequest<Id>, 'body'>,
    lines: BodyPieces,
    options?: UploadOptions,
  ): Promise<ResponseOf<Id>>;
  /** Opens the event stream of a route. Does not reconnect if it breaks; `Last-Event-ID` in `headers` resumes it. */
  stream<Id extends RouteId>(
    id: Id,
    request: CallRequest<Id>,
    options?: ServerCallOptions,
  ): AsyncGenerator<ServerEvent, void, undefined>;
}

type LooseBody = Readonly<Record<string, unknown>>;

interface LooseRequest {
  readonly params?: LooseBody | undefined;
  readonly query?: LooseBody | undefined;
  readonly body?: unknown;
}

const always = (): boolean => true;

/** Calls that are sent once: a repeat would act twice, or report the first one as made by another caller. Some only with such a body. */
const ONCE: { readonly [Id in RouteId]?: (body: LooseBody) => boolean } = {
  queueChatMessage: always,
  redriveDeadLetters: always,
  purgeDeadLetters: always,
  retryBatchTask: always,
  removeSchedule: always,
  // A short run may end before the repeat arrives, which would then start another.
  startBatch: ({ ifEnded }) => ifEnded !== undefined,
  // The server makes a new id for each.
  createChatSession: ({ session_id }) => session_id === undefined,
};

/** Calls that get a random idempotency key: the ids of jobs are made from it, so a repeat adds nothing. */
const KEYED: readonly RouteId[] = ['submitGroup', 'addJobs'];

/** Makes a client of a server. */
export function createServerClient(options: ClientOptions): ServerClient {
  const http = new Http(options);
  const single = new Http({ ...options, retries: 0 });
  const requestOf = (id: RouteId, request: LooseRequest, call: ServerCallOptions = {}): HttpRequest => ({
    method: PATHS[id][0],
    path: pathOf(PATHS[id][1], request.params) + searchOf({ ...request.query }),
    body: request.body === undefined ? undefined : JSON.stringify(request.body),
    headers: { ...(KEYED.includes(id) && { 'idempotency-key': randomKey() }), ...call.headers },
    signal: call.signal,
  });
  return {
    operations: createClient(options),
    call: (id, request: LooseRequest, call) => {
      const isOnce = ONCE[id]?.((request.body ?? {}) as LooseBody) ?? false;
      return (isOnce ? single : http).send(requestOf(id, request, call));
    },
    upload: (id, request: LooseRequest, lines, { idempotencyKey = randomKey(), ...call } = {}) => {
      const type = 'application/x-ndjson';
      const headers = { ...call.headers, 'content-type': type, 'idempotency-key': idempotencyKey };
      const body = piecesLeft(lines);
      // Not awaited: a source that hangs must not delay the response.
      const release = () => void body.return().catch(() => {});
      const sent = { ...requestOf(id, request, { ...call, headers }), body };
      return single.send<ResponseOf<typeof id>>(sent).finally(release);
    },
    stream: (id, request: LooseRequest, call) => http.stream(requestOf(id, request, call)),
  };
}

const pathOf = (path: string, params: LooseBody = {}): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
