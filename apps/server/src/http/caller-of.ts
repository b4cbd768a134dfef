import type { FastifyRequest } from 'fastify';
import type { Caller } from '../security/caller.js';

const CALLERS = new WeakMap<object, Caller>();

/** Who sent a request; known after its key was checked. */
export function callerOf(request: FastifyRequest): Caller {
  const caller = CALLERS.get(request);
  if (!caller) throw new TypeError(`Nobody has checked who sent ${request.method} ${request.url}`);
  return caller;
}

/**
 * Who sent a request; undefined for one that was refused before its key was known, or that is for no route.
 */
export const callerIfKnown = (request: FastifyRequest): Caller | undefined => CALLERS.get(request);

/** Notes who sent a request. */
export function noteCaller(request: FastifyRequest, caller: Caller): void {
  CALLERS.set(request, caller);
}
