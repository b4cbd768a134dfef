import { fieldErrorsOf, type RouteSpec } from '@millrace/contract';
import { traceIdOf } from '@millrace/foundation';
import {
  applyDecorators,
  createParamDecorator,
  HttpCode,
  RequestMapping,
  RequestMethod,
} from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Caller } from '../security/caller.js';
import { callerOf } from './caller-of.js';
import { requestInvalid } from './request-invalid.js';
import { patternOf, routeOf, type ServedRoute } from './route-of.js';

type Read<S> = S extends z.ZodType ? z.output<S> : undefined;

/** A request that was checked against its row of the table of routes. */
export interface Asked<R extends RouteSpec> {
  readonly params: Read<R['params']>;
  readonly query: Read<R['query']>;
  readonly body: Read<R['body']>;
  readonly caller: Caller;
  /** W3C trace context, where it is well formed. */
  readonly traceparent: string | undefined;
}

/**
 * Serves a row of the table of routes: its method, its path, its status.
 * @param alike - more rows that differ in their paths only.
 */
export function Serve(route: ServedRoute, ...alike: readonly ServedRoute[]): MethodDecorator {
  const status =
    Object.keys(route.responses)
      .map(Number)
      .find((code) => code < 300) ?? 200;
  return applyDecorators(
    RequestMapping({ path: [route, ...alike].map(patternOf), method: RequestMethod[route.method] }),
    HttpCode(status),
  );
}

/** What a route without a query or a body takes: what would be ignored is refused instead. */
const NOTHING = z.strictObject({});

/** The parameter that holds the request, checked: see Asked. */
export const Ask = createParamDecorator<void>((_, context) =>
  readAsked(context.switchToHttp().getRequest<FastifyRequest>()),
);

/**
 * Checks a request against its row of the table of routes.
 * @throws MillraceError `REQUEST_INVALID`: each field, in `details.errors`.
 */
function readAsked(request: FastifyRequest): Asked<RouteSpec> {
  const route = routeOf(request.method, request.routeOptions.url);
  return {
    params: checked(route?.params, request.params) as never,
    query: checked(route?.query ?? NOTHING, request.query) as never,
    // A body of lines is read while it comes.
    body: (route?.ndjson && isNdjson(request)
      ? undefined
      : checked(route?.body ?? NOTHING, request.body)) as never,
    caller: callerOf(request),
    traceparent: traceparentOf(request),
  };
}

/** The W3C trace context of a request, where it is well formed. */
export function traceparentOf({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' && traceIdOf(traceparent) !== undefined ? traceparent : undefined;
}

/** The content type of bodies that are lines of JSON. */
export const NDJSON = 'application/x-ndjson';

/** Whether the body of a request is lines of JSON. */
export const isNdjson = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  headers['content-type']?.split(';')[0]?.trim().toLowerCase() === NDJSON;

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
    // Of a list of a million zod hands all mistakes on as arguments of one call.
    if (!(error instanceof RangeError)) throw error;
    throw requestInvalid([{ field: '', message: 'has more mistakes than can be told' }]);
  }
}
