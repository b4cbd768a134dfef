import { BadRequestException, NotFoundException } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ERRORS } from '../errors.js';
import type { ApiKeys } from '../security/api-keys.js';
import { ANYBODY, type Caller, LOCAL_CALLER, noteCaller } from '../security/caller.js';
import { refusalOf } from '../security/judge-caller.js';
import { originRefusal } from '../security/judge-origin.js';
import type { Draining } from './draining.js';
import { routeOf } from './routes.js';
import type { Streams } from './streams.js';

/** What the gate judges by. */
export interface GateEnvironment {
  readonly keys: ApiKeys;
  readonly isEmbedded: boolean;
  readonly draining: Draining;
  readonly streams: Streams;
}

const BEARER = /^Bearer +(\S+)$/i;
/** The same for every key that is none: nobody learns how near a guess was. */
const KEY_UNKNOWN =
  'This API key is not known: send its secret alone, without name and role, as Authorization: Bearer SECRET';

/**
 * Judges every request before anything of its body is read: where it comes from, who sent it, whether its route is for them.
 * A path without a row in the table of routes cannot be served at all.
 */
export function addGate(fastify: FastifyInstance, environment: GateEnvironment): void {
  fastify.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat())
      if (one !== 'OPTIONS' && one !== 'HEAD' && !routeOf(one, url))
        throw new TypeError(`${one} ${url} has no row in ROUTES or PAGE_ROUTES of @millrace/contract`);
  });
  fastify.addHook('onRequest', async (request, reply) => judge(request, reply, environment));
}

function judge(
  request: FastifyRequest,
  reply: FastifyReply,
  { keys, isEmbedded, draining, streams }: GateEnvironment,
): void {
  const hasKeys = keys.size > 0;
  if (request.headers.host === undefined && request.raw.httpVersion !== '1.0')
    throw new BadRequestException('The header Host is missing');
  const foreign = originRefusal(request, { hasKeys });
  if (foreign) throw foreign;
  const route = routeOf(request.method, request.routeOptions.url);
  // Here, or whoever stands behind would read the body first, of anybody.
  if (!route) throw new NotFoundException(`Cannot ${request.method} ${request.url.split('?')[0]}`);
  const caller = hasKeys ? keyOf(request, keys) : LOCAL_CALLER;
  const refusal = refusalOf(route, caller, { isEmbedded });
  if (refusal) throw refusal;
  noteCaller(request, caller ?? ANYBODY);
  if (route.role !== 'none') draining.enter(reply);
  // Without keys all callers are one.
  if (route.streams) streams.enter(reply, hasKeys ? caller : undefined);
}

function keyOf({ headers: { authorization } }: FastifyRequest, keys: ApiKeys): Caller | undefined {
  if (authorization === undefined) return undefined;
  const caller = keys.find(BEARER.exec(authorization)?.[1] ?? '');
  if (!caller) throw ERRORS.create('UNAUTHENTICATED', { reason: KEY_UNKNOWN });
  return caller;
}
