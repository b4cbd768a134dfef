import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import helmet from '@fastify/helmet';
import rateLimit from '@fastify/rate-limit';
import { PROBLEM_CONTENT_TYPE, toProblem } from '@millrace/contract';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerConfig } from '../config/model.js';
import { ERRORS } from '../errors.js';
import { ANYBODY, callerOf, LOCAL_CALLER } from '../security/caller.js';
import { readBodies } from './bodies.js';
import { addGate, type GateEnvironment } from './gate.js';
import { guardAnswers } from './guard-answers.js';
import { observeRequests, type RequestObservers } from './observe-requests.js';
import { routeOf } from './routes.js';

/** Longer than any id, as a URL writes it. */
const PARAMETER_CHARACTERS_MAX = 2_048;
/** A request whose head does not come in this time is no request. */
const HEAD_TIMEOUT_MS = 10_000;

/** What an HTTP server is made of. */
export interface HttpEnvironment extends GateEnvironment, RequestObservers {
  readonly limits: ServerConfig['limits'];
}

/** Makes the HTTP server: parsers, headers, limits and the gate; Nest adds the routes. */
export async function createAdapter(environment: HttpEnvironment): Promise<FastifyAdapter> {
  const { limits } = environment;
  const adapter = new FastifyAdapter({
    bodyLimit: limits.bodyBytesMax,
    exposeHeadRoutes: false,
    // Whoever is still being answered when everything has stopped is cut off; SSE clients would stay for ever.
    forceCloseConnections: true,
    routerOptions: { maxParamLength: PARAMETER_CHARACTERS_MAX },
    requestTimeout: 0,
    connectionTimeout: 0,
    // Node would answer without a Host by itself, with an empty body; the gate says what is wrong.
    http: { headersTimeout: HEAD_TIMEOUT_MS, requireHostHeader: false },
    frameworkErrors: (error: FastifyError, _request: FastifyRequest, reply: FastifyReply) => {
      const problem = problemOf(error.statusCode ?? 400, 'BAD_REQUEST', 'The address cannot be read');
      reply.code(problem.status).type(PROBLEM_CONTENT_TYPE).send(JSON.stringify(problem));
    },
    clientErrorHandler: answerUnreadable,
  });
  const fastify = adapter.getInstance() as unknown as FastifyInstance;
  fastify.server.on('checkExpectation', refuseExpectation);
  observeRequests(fastify, environment);
  readBodies(fastify, environment);
  guardAnswers(fastify, environment);
  // Before the gate: what that refuses has these headers, too.
  await fastify.register(helmet, HEADERS);
  addGate(fastify, environment);
  if (limits.requestsPerSecond > 0) await fastify.register(rateLimit, rateLimitOf(limits.requestsPerSecond));
  return adapter;
}

const SELF = ["'self'"];
const NONE = ["'none'"];

/** Nothing from anywhere else, nothing inline, no frames. */
const HEADERS = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: NONE,
      scriptSrc: SELF,
      styleSrc: SELF,
      imgSrc: [...SELF, 'data:'],
      fontSrc: SELF,
      connectSrc: SELF,
      baseUri: NONE,
      formAction: NONE,
      frameAncestors: NONE,
    },
  },
  // Whoever ends TLS says so; this server speaks HTTP.
  strictTransportSecurity: false,
  crossOriginEmbedderPolicy: false,
} as const;

const rateLimitOf = (max: number) => ({
  max,
  timeWindow: 1_000,
  keyGenerator: (request: FastifyRequest) => {
    const caller = callerOf(request);
    if (caller === LOCAL_CALLER || caller === ANYBODY) return request.ip;
    // Two customers may have named their keys alike.
    return `key ${caller.tenant ?? ''}/${caller.name}`;
  },
  allowList: (request: FastifyRequest) => routeOf(request.method, request.routeOptions.url)?.role === 'none',
  errorResponseBuilder: () => ERRORS.create('TOO_MANY_REQUESTS', { max }, { retryAfterMs: 1_000 }),
});

function problemOf(status: number, code: string, message: string) {
  return toProblem({ status, code, retryable: false, message });
}

/** `Expect` with anything but `100-continue`: Node would answer without a word. */
function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const problem = problemOf(417, 'EXPECTATION_FAILED', 'Nothing but 100-continue can be expected');
  response.writeHead(417, { 'content-type': PROBLEM_CONTENT_TYPE, connection: 'close' });
  response.end(JSON.stringify(problem));
}

/** By the code of Node's error. */
const UNREADABLE: Readonly<Record<string, ReturnType<typeof problemOf>>> = {
  HPE_HEADER_OVERFLOW: problemOf(431, 'HEADERS_TOO_LARGE', 'The head of the request is too large'),
  ERR_HTTP_REQUEST_TIMEOUT: problemOf(408, 'REQUEST_TIMEOUT', 'The head of the request did not come in time'),
};

/** What is no HTTP at all, or has too long a head: Fastify has no request to answer. */
function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  // As Node does: in the middle of another answer this one would be taken for a part of it.
  const { _httpMessage: under } = socket as { _httpMessage?: ServerResponse | null };
  if (under?.headersSent) {
    socket.destroy();
    return;
  }
  const problem = UNREADABLE[error.code ?? ''] ?? problemOf(400, 'BAD_REQUEST', 'The request cannot be read');
  const body = JSON.stringify(problem);
  socket.end(
    `HTTP/1.1 ${problem.status} ${problem.title}\r\ncontent-type: ${PROBLEM_CONTENT_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
