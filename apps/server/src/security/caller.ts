import type { Role } from '@millrace/contract';
import type { FastifyRequest } from 'fastify';

/** The sender of a request, as described by its API key. */
export interface Caller {
  /** The name of the key. The audit log records it. */
  readonly name: string;
  readonly role: Role;
  /** The tenant that the key is limited to. `undefined` means all tenants. */
  readonly tenant: string | undefined;
}

/** The caller of every request to a server without keys. Such a server accepts local connections only. */
export const LOCAL_CALLER: Caller = Object.freeze({ name: 'local', role: 'admin', tenant: undefined });

/** The caller of a request without a key to a public route. */
export const ANYBODY: Caller = Object.freeze({ name: 'anybody', role: 'none', tenant: undefined });

const CALLERS = new WeakMap<object, Caller>();

/**
 * Returns the caller of a request.
 * @throws TypeError if the request guard has not checked the request.
 */
export function callerOf(request: FastifyRequest): Caller {
  const caller = CALLERS.get(request);
  if (!caller) throw new TypeError(`The request guard has not checked ${request.method} ${request.url}`);
  return caller;
}

/** Returns the caller of a request. `undefined` if the request was rejected before its key was checked, or has no route. */
export const callerIfKnown = (request: FastifyRequest): Caller | undefined => CALLERS.get(request);

/** Stores the caller of a request. */
export function noteCaller(request: FastifyRequest, caller: Caller): void {
  CALLERS.set(request, caller);
}
