import type { FastifyInstance } from 'fastify';
import type { ServerConfig } from '../config/model.js';
import { routeOf } from './route-of.js';

/**
 * What holds for every answer: nobody keeps a copy unless its route says so, and a client that does not take it is dropped.
 * @param fastify - before it has routes.
 * @param options - the limits.
 */
export function guardAnswers(
  fastify: FastifyInstance,
  { limits }: { readonly limits: Pick<ServerConfig['limits'], 'streamStallMs'> },
): void {
  fastify.addHook('onSend', async (request, reply) => {
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
    // Streams are looked after by Streams: they may have nothing to say for long. Node sets its own time when the answer is out.
    if (!routeOf(request.method, request.routeOptions.url)?.streams)
      reply.raw.socket?.setTimeout(limits.streamStallMs);
  });
}
