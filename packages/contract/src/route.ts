import { z } from 'zod';
import { ERROR_CODES } from './error-codes.generated.js';
import { PARAMS, type ParamsOf } from './params.js';
import { PATHS, type RouteId } from './paths.js';
import { INTERNAL, PROBLEM_CONTENT_TYPE, Problem } from './problem.js';

/** The roles of API keys, each with the rights of those before it. `none` needs no key. */
export const ROLES = ['none', 'read', 'operate', 'admin'] as const;
/** The role that a route requires: `read` to look, `operate` to change work, `admin` to change what all share. */
export type Role = (typeof ROLES)[number];

/**
 * Access for a key that belongs to a tenant. `own`: only that tenant's data; other ids are not found and lists are filtered.
 * `shared`: refused, because the data belongs to all tenants. `open`: as for every other key.
 */
export type Tenancy = 'own' | 'shared' | 'open';

type HeaderTexts = Readonly<Record<string, string>>;

/** One possible response of a route. */
export interface HttpResponse<S extends z.ZodType = z.ZodType> {
  readonly description: string;
  /** '' for a response without a body. */
  readonly contentType: string;
  readonly schema: S;
  readonly headers?: HeaderTexts | undefined;
}

/** Failures that have no error registry, or need more words than their message in the documentation. */
const HTTP_ERRORS = {
  BAD_REQUEST: { status: 400, message: 'The body is not valid JSON' },
  UNAUTHENTICATED: { status: 401, message: 'The API key is missing or unknown' },
  NOT_FOUND: { status: 404, message: 'No such file' },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    message: 'The body exceeds limits.bodyBytesMax, or the payload of a job exceeds limits.payloadBytesMax',
  },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: 'The route does not accept this content type' },
  INTERNAL,
} as const;

const ERRORS = { ...ERROR_CODES, ...HTTP_ERRORS };

/** The code of an error that a route can fail with. */
export type ErrorCode = keyof typeof ERRORS;

/** The definition of a route. */
export interface RouteSpec {
  readonly summary: string;
  readonly description: string;
  /** Groups routes in the documentation. */
  readonly tag: string;
  /** By default `read` for GET, else `operate`. */
  readonly role: Role;
  readonly tenancy: Tenancy;
  /** Changes existing work or settings: the request is recorded in the audit log first. */
  readonly audited?: true | undefined;
  /** Responds with server-sent events until the client disconnects. */
  readonly streams?: true | undefined;
  /** Follows from the path. */
  readonly params?: z.ZodObject | undefined;
  readonly query?: z.ZodObject | undefined;
  readonly headers?: HeaderTexts | undefined;
  /** Schema of a JSON body. */
  readonly body?: z.ZodType | undefined;
  /** The body may be lines of JSON instead (`application/x-ndjson`): describes a line. */
  readonly ndjson?: string | undefined;
  /** The schema of the JSON body of a 200, or the responses that are not failures by status. */
  readonly ok: z.ZodType | Readonly<Record<number, HttpResponse>>;
  /** Codes this route can fail with. Those that follow from path, role, tenancy and body are added. */
  readonly fails?: readonly ErrorCode[] | undefined;
}

/** A route: enough to check a request, to authorize its caller, and to write its OpenAPI entry. */
export interface HttpRoute<Id extends string = RouteId> extends RouteSpec {
  readonly id: Id;
  readonly method: (typeof PATHS)[RouteId][0];
  /** Parameters are written as `{name}`. */
  readonly path: string;
  /** Every response by status, failures included. */
  readonly responses: Readonly<Record<number, HttpResponse>>;
}

type PartSpec = Partial<Omit<RouteSpec, 'params'>>;
type Specs<D> = { readonly [Id in RouteId]?: Omit<RouteSpec, keyof D | 'role' | 'params'> & PartSpec };
type Completed<Id> = Pick<HttpRoute, 'id' | 'method' | 'path' | 'role' | 'responses'> & {
  readonly params: ParamsOf<(typeof PATHS)[Id & RouteId][1]>;
};

/** Makes routes from their definitions. A definition overrides `shared`; its `fails` are added to the shared ones. */
export function defineRoutes<const D extends PartSpec, const R extends Specs<D>>(
  shared: D,
  specs: R,
): { readonly [Id in keyof R]: Omit<D, keyof R[Id]> & R[Id] & Completed<Id> } {
  const routes = Object.entries(specs as Record<string, PartSpec>).map(([name, own]) => {
    const id = name as RouteId;
    const [method, path] = PATHS[id];
    const role: Role = method === 'GET' ? 'read' : 'operate';
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, param]) => param as keyof typeof PARAMS);
    const schemas = names.map((param) => [param, PARAMS[param].schema]);
    const params = names.length > 0 ? z.object(Object.fromEntries(schemas)) : undefined;
    const fails = [shared, ...names.map((param) => PARAMS[param]), own].flatMap((part) => part.fails ?? []);
    const spec = { role, ...shared, ...own, params, fails } as RouteSpec;
    return [id, { ...spec, id, method, path, responses: responsesOf(spec) }];
  });
  return Object.fromEntries(routes);
}

/** All responses of a route by status. */
export function responsesOf(spec: RouteSpec): Record<number, HttpResponse> {
  const { ok } = spec;
  const codes = failuresOf(spec);
  const problems = codes.map((code) => {
    const { status } = ERRORS[code];
    const alike = codes.filter((other) => ERRORS[other].status === status);
    return [status, problem(status, alike, spec)] as const;
  });
  return { ...Object.fromEntries(problems), ...(ok instanceof z.ZodType ? { 200: json('OK', ok) } : ok) };
}

function failuresOf({ role, tenancy, body, audited, streams, fails = [] }: RouteSpec): ErrorCode[] {
  const codes: (ErrorCode | readonly ErrorCode[] | false | undefined)[] = [
    fails,
    role !== 'none' && ['UNAUTHENTICATED', 'FORBIDDEN', 'TOO_MANY_REQUESTS', 'SERVER_STOPPING'],
    tenancy === 'shared' && 'TENANT_REFUSED',
    body && ['BAD_REQUEST', 'BODY_TIMEOUT', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'],
    audited && 'AUDIT_UNAVAILABLE',
    streams && 'STREAMS_FULL',
    'INTERNAL',
  ];
  return [...new Set(codes.flat().filter((code) => code !== false && code !== undefined))];
}

const RETRY_AFTER = { 'Retry-After': 'Seconds to wait before the next attempt.' };

const problem = (status: number, codes: readonly ErrorCode[], { role }: RouteSpec): HttpResponse => ({
  description: codes.map((code) => `${code}: ${ERRORS[code].message.replace('{needed}', role)}.`).join(' '),
  contentType: PROBLEM_CONTENT_TYPE,
  schema: Problem,
  ...((status === 429 || status === 503) && { headers: RETRY_AFTER }),
});

const response = <S extends z.ZodType>(
  description: string,
  contentType: string,
  schema: S,
  headers?: HeaderTexts,
): HttpResponse<S> => ({ description, contentType, schema, headers });

/** A response with a JSON body. */
export const json = <S extends z.ZodType>(description: string, schema: S, headers?: HeaderTexts) =>
  response(description, 'application/json', schema, headers);

/** A response with a body that is not JSON. */
export const text = (description: string, contentType: string, headers?: HeaderTexts) =>
  response(description, contentType, z.string(), headers);

/** A stream of server-sent events, each of the given schema. */
export const eventStream = <S extends z.ZodType>(schema: S) =>
  response('The stream of events', 'text/event-stream', schema);

/** A response without a body. */
export const empty = (description: string) => response(description, '', z.undefined());
