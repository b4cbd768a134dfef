import { type CallOptions, createClient, type OperationsClient } from '../client/client.js';
import { type ClientOptions, Http, type HttpRequest } from '../client/http.js';
import type { ServerEvent } from '../client/read-events.js';
import { type BodyPieces, piecesLeft } from '../client/request-body.js';
import { PATHS, type RouteId } from '../paths.js';
import type { RequestOf, ResponseOf, ROUTES } from '../routes.js';
import { randomKey } from '../system/timing.js';

/** The routes that a server has. */
export type ServerRouteId = RouteId & keyof typeof ROUTES;

/** Whether nothing has to be given. */
type IsFree<T> = undefined extends T ? true : Record<never, never> extends T ? true : false;

/** The members of a request that a route needs; the others may be left out. */
type Needed<R> = { [K in keyof R as IsFree<R[K]> extends true ? never : K]: R[K] } & {
  [K in keyof R as IsFree<R[K]> extends true ? K : never]?: R[K] | undefined;
};

/** What a call carries: `params`, `query` and `body`, as far as its route has them. */
export type CallRequest<Id extends ServerRouteId> = Needed<RequestOf<Id>>;

/** How one call is made. */
export interface ServerCallOptions extends CallOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The routes that take a body of lines. */
export type UploadRouteId = 'submitGroup' | 'addJobs';

/** How lines are sent. */
export interface UploadOptions extends ServerCallOptions {
  /** Names the request: lines that were stored before a failure are known when all are sent again with it. Random unless given. */
  readonly idempotencyKey?: string | undefined;
}

/** Everything that a server can be asked, typed by its table of routes. Every call throws ProblemError when the server refuses. */
export interface ServerClient {
  /** Commands and their operations, with waiting. */
  readonly operations: OperationsClient;
  /** Asks a route and reads its JSON. Sent again after a lost answer, except where that would do something twice. */
  call<Id extends ServerRouteId>(
    id: Id,
    request: CallRequest<Id>,
    options?: ServerCallOptions,
  ): Promise<ResponseOf<Id>>;
  /**
   * Sends lines of JSON (application/x-ndjson) while they are made, however many; what a line is, its route says. Sent once: after a
   * failure send all of them again with the same `idempotencyKey`. Browsers can do it over HTTP/2 only.
   */
  upload<Id extends UploadRouteId>(
    id: Id,
    request: Omit<CallRequest<Id>, 'body'>,
    lines: BodyPieces,
    options?: UploadOptions,
  ): Promise<ResponseOf<Id>>;
  /** Opens the stream of a route; it is not opened again when it breaks. */
  stream<Id extends ServerRouteId>(
    id: Id,
    request: CallRequest<Id>,
    options?: ServerCallOptions,
  ): AsyncGenerator<ServerEvent, void, undefined>;
}

type LooseBody = Readonly<Record<string, unknown>>;

const always = (): boolean => true;

/** Sent twice they would happen twice, or answer the second time as if somebody else had been there; some only with such a body. */
const ONCE: { readonly [Id in RouteId]?: (body: LooseBody) => boolean } = {
  queueChatMessage: always,
  redriveDeadLetters: always,
  purgeDeadLetters: always,
  retryBatchTask: always,
  removeSchedule: always,
  // A short run has ended before the repeat comes, which then starts another.
  startBatch: ({ ifEnded }) => ifEnded !== undefined,
  // The server draws an id for each.
  createChatSession: ({ session_id }) => session_id === undefined,
};

/** Ids of jobs without one are made from this key: a repeat adds nothing. */
const KEYED: readonly RouteId[] = ['submitGroup', 'addJobs'];

const NDJSON = { 'content-type': 'application/x-ndjson' };

/**
 * Makes a client of a whole server.
 * @param options - `baseUrl`, `apiKey` and more: see ClientOptions.
 */
export function createServerClient(options: ClientOptions): ServerClient {
  const http = new Http(options);
  const single = new Http({ ...options, retries: 0 });
  const requestOf = (id: RouteId, request: LooseRequest, call: ServerCallOptions = {}): HttpRequest => ({
    method: PATHS[id][0],
    url: options.baseUrl.replace(/\/+$/, '') + addressOf(PATHS[id][1], request),
    body: request.body === undefined ? undefined : JSON.stringify(request.body),
    headers: { ...(KEYED.includes(id) && { 'idempotency-key': randomKey() }), ...call.headers },
    signal: call.signal,
  });
  return {
    operations: createClient(options),
    call: (id, request, call) => {
      const body = ((request as LooseRequest).body ?? {}) as LooseBody;
      const isOnce = ONCE[id]?.(body) ?? false;
      return (isOnce ? single : http).send(requestOf(id, request as LooseRequest, call));
    },
    upload: (id, request, lines, { idempotencyKey = randomKey(), ...call } = {}) => {
      const asked = requestOf(id, request as LooseRequest, call);
      const headers = { ...asked.headers, ...NDJSON, 'idempotency-key': idempotencyKey };
      const body = piecesLeft(lines);
      // Not awaited: a source that hangs must not hold up who reads the answer.
      const leave = () => void body.return().catch(() => {});
      return single.send<ResponseOf<typeof id>>({ ...asked, headers, body }).finally(leave);
    },
    stream: (id, request, call) =>
      http.stream(
        requestOf(id, request as LooseRequest, {
          ...call,
          headers: { accept: 'text/event-stream', ...call?.headers },
        }),
      ),
  };
}

interface LooseRequest {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
}

function addressOf(path: string, { params = {}, query = {} }: LooseRequest): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) search.set(name, String(value));
  return search.size > 0 ? `${filled}?${search}` : filled;
}
