import { fieldErrorsOf, type RouteSpec } from '@millrace/contract';
import { traceIdOf } from '@millrace/foundation';
import { createParamDecorator } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Caller, callerOf } from '../security/caller.js';
import { isNdjson } from './bodies.js';
import { requestInvalid } from './request-errors.js';
import { routeOf } from './routes.js';

type Read<S> = S extends z.ZodType ? z.output<S> : undefined;

/** The parts of a request after validation against its route in the contract. */
export interface ValidatedRequest<R extends RouteSpec> {
  readonly params: Read<R['params']>;
  readonly query: Read<R['query']>;
  readonly body: Read<R['body']>;
  readonly caller: Caller;
  /** W3C trace context. `undefined` if the header is missing or malformed. */
  readonly traceparent: string | undefined;
}

/** Rejects a query or body that the route does not define. The server would ignore it otherwise. */
const NOTHING = z.strictObject({});

/** Injects the validated request into a handler parameter. */
export const RouteInput = createParamDecorator<void>((_, context) =>
  readRequest(context.switchToHttp().getRequest<FastifyRequest>()),
);

/**
 * Validates params, query and body against the contract.
 * @throws MillraceError `REQUEST_INVALID` with one entry per wrong field in `details.errors`.
 */
function readRequest(request: FastifyRequest): ValidatedRequest<RouteSpec> {
  const route = routeOf(request.method, request.routeOptions.url);
  return {
    params: checked(route?.params, request.params) as never,
    query: checked(route?.query ?? NOTHING, request.query) as never,
    // The handler reads a body of lines while it arrives.
    body: (route?.ndjson && isNdjson(request)
      ? undefined
      : checked(route?.body ?? NOTHING, request.body)) as never,
    caller: callerOf(request),
    traceparent: traceparentOf(request),
  };
}

/** Returns the W3C trace context of a request, or `undefined` if it is missing or malformed. */
export function traceparentOf({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' && traceIdOf(traceparent) !== undefined ? traceparent : undefined;
}

function checked(schema: z.ZodType | undefined, value: unknown): unknown {
  if (!schema) return undefined;
  const { success, data, error } = parsed(schema, value ?? {});
  if (success) return data;
  throw requestInvalid(fieldErrorsOf(error.issues));
}

function parsed(schema: z.ZodType, value: unknown): z.ZodSafeParseResult<unknown> {
  try {
    return schema.safeParse(value);
  } catch (error) {
    // zod passes all issues as arguments of one call. A million of them exceed the call stack.
    if (!(error instanceof RangeError)) throw error;
    throw requestInvalid([{ field: '', message: 'has more mistakes than can be told' }]);
  }
}
