import type { Clock } from '@millrace/foundation';
import { UnsupportedMediaTypeException } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerConfig } from '../config/model.js';
import { ERRORS } from '../errors.js';
import { NDJSON } from './asked.js';
import { routeOf } from './route-of.js';

/** How long bodies are waited for. */
export interface BodyPatience {
  readonly limits: Pick<ServerConfig['limits'], 'uploadStallMs'>;
  readonly clock: Clock;
}

/** Requests whose bodies are read by their routes, which look after the senders themselves. */
const HANDED_OVER = new WeakSet<FastifyRequest>();

/**
 * Says how bodies are read: JSON as a whole; lines while they come, by the routes that take them; nothing else. One that is not complete
 * after `limits.uploadStallMs` ends the connection, also when its request was refused long before.
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
