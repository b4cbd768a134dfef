import type { Clock } from '@millrace/foundation';
import { UnsupportedMediaTypeException } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerConfig } from '../config/model.js';
import { ERRORS } from '../errors.js';
import { routeOf } from './routes.js';

/** The content type of bodies that are lines of JSON. */
export const NDJSON = 'application/x-ndjson';

/** Reports whether the body of a request is lines of JSON. */
export const isNdjson = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  headers['content-type']?.split(';')[0]?.trim().toLowerCase() === NDJSON;

/** The limit on the time that a body may take, and the clock that measures it. */
export interface BodyPatience {
  readonly limits: Pick<ServerConfig['limits'], 'uploadStallMs'>;
  readonly clock: Clock;
}

/** Requests whose handler reads the body and drops stalled senders. */
const HANDED_OVER = new WeakSet<FastifyRequest>();

/**
 * Sets how the server reads bodies. It parses JSON as a whole, passes lines of JSON to the handlers that read them, and rejects
 * other types. A body that is incomplete after `limits.uploadStallMs` ends the connection, even if the request was rejected before.
 */
export function readBodies(fastify: FastifyInstance, { limits, clock }: BodyPatience): void {
  const { uploadStallMs: ms } = limits;
  fastify.removeContentTypeParser('text/plain');
  fastify.addContentTypeParser(NDJSON, async (request: FastifyRequest, payload: unknown) => {
    if (!routeOf(request.method, request.routeOptions.url)?.ndjson)
      throw new UnsupportedMediaTypeException('This route takes no lines; send JSON');
    HANDED_OVER.add(request);
    return payload;
  });
  fastify.addHook('onRequest', async (request, reply) => {
    if (!hasBody(request)) return;
    const late = () => {
      if (!HANDED_OVER.has(request)) cutOff(request, reply, ms);
    };
    request.raw.once('close', clock.setTimer(ms, late, { unref: true }));
  });
}

const hasBody = ({ headers }: FastifyRequest): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';

function cutOff({ raw }: FastifyRequest, reply: FastifyReply, ms: number): void {
  if (reply.raw.headersSent) raw.destroy();
  else reply.header('connection', 'close').send(ERRORS.create('BODY_TIMEOUT', { ms }));
}

/** One page of a list, as the engines return it. */
interface Page<T> {
  readonly items: readonly T[];
  readonly cursor?: string | undefined;
}

/** Converts a page to a response body. */
export const pageBody = <T, B>(
  { items, cursor }: Page<T>,
  body: (item: T) => B,
): { items: B[]; cursor: string | null } => ({ items: items.map(body), cursor: cursor ?? null });

/** Formats a time as ISO 8601, or returns null if there is none. */
export const toIsoOrNull = (time: Date | undefined): string | null => time?.toISOString() ?? null;
