import { type Clock, type Logger, traceIdOf } from '@millrace/foundation';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerMetrics } from '../metrics/server-metrics.js';
import { callerIfKnown } from '../security/caller.js';
import { routeOf } from './routes.js';
import { traceparentOf } from './validated-request.js';

/** Who is told of requests. */
export interface RequestObservers {
  readonly metrics: Pick<ServerMetrics, 'noteRequest'>;
  readonly log: Logger;
  readonly clock: Clock;
}

/** What nginx made the custom: the caller went before the answer was out. */
const CALLER_GONE = 499;

/**
 * Counts, times and logs every request when its answer is out, or its caller gone. Query strings, headers and bodies are never
 * logged: they may hold anything.
 * @param fastify - before it has other hooks: what those refuse is counted, too.
 */
export function observeRequests(fastify: FastifyInstance, observers: RequestObservers): void {
  fastify.addHook('onRequest', async (request, reply) => {
    const from = observers.clock.monotonicMs();
    // Not onResponse: it never comes when the connection is lost, and a stream mostly ends that way.
    reply.raw.once('close', () => note(request, reply, observers, from));
  });
}

function note(
  request: FastifyRequest,
  { raw }: FastifyReply,
  { metrics, log, clock }: RequestObservers,
  from: number,
): void {
  const route = routeOf(request.method, request.routeOptions.url);
  const ms = clock.monotonicMs() - from;
  const isStream = route?.streams === true;
  const status = raw.writableFinished || (isStream && raw.headersSent) ? raw.statusCode : CALLER_GONE;
  metrics.noteRequest({ method: request.method, route: route?.id, status, ms, isStream });
  const traceId = traceIdOf(traceparentOf(request));
  const fields = {
    method: request.method,
    ...(route && { route: route.id }),
    status,
    ms: Math.round(ms),
    caller: callerIfKnown(request)?.name,
    ...(traceId !== undefined && { traceId }),
  };
  if (status >= 500) log.warn(fields, 'A request failed');
  else log.debug(fields, 'A request was answered');
}
