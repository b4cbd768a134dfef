import { z } from 'zod';
import { type HttpMethod, PATHS, type RouteId } from './paths.js';
import { PROBLEM_CONTENT_TYPE, Problem } from './problem.js';

/** What a caller must be allowed: nothing; to look; to change work too; to change what all share too. */
export type Role = 'none' | 'read' | 'operate' | 'admin';

/** The roles, each may what those before it may. */
export const ROLES = ['none', 'read', 'operate', 'admin'] as const satisfies readonly Role[];

/**
 * What a key that belongs to a tenant gets of a route. `own`: only what is that tenant's; anything else is not found, lists are
 * filtered. `shared`: refused, since it shows or changes what belongs to all. `open`: the same as everybody.
 */
export type Tenancy = 'own' | 'shared' | 'open';

/** One possible answer. */
export interface HttpResponse<S extends z.ZodType = z.ZodType> {
  readonly description: string;
  /** '' for one without a body. */
  readonly contentType: string;
  readonly schema: S;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** What a row of the table of routes says. */
export interface RouteSpec {
  readonly summary: string;
  readonly description: string;
  /** Groups routes in the documentation. */
  readonly tag: string;
  readonly role: Role;
  readonly tenancy: Tenancy;
  /** Changes work or settings that exist: who did it is written down. */
  readonly audited?: true | undefined;
  /** Answers with server-sent events, for as long as somebody listens. */
  readonly streams?: true | undefined;
  readonly params?: z.ZodObject | undefined;
  readonly query?: z.ZodObject | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Of a JSON body. */
  readonly body?: z.ZodType | undefined;
  /** The body may come as lines of JSON instead (`application/x-ndjson`): what each is. */
  readonly ndjson?: string | undefined;
  /** By status. */
  readonly answers: Readonly<Record<number, HttpResponse>>;
}

/** One thing that can be asked over HTTP: enough to check a request, to judge its caller, and to write its OpenAPI text. */
export interface HttpRoute<Id extends string = RouteId> extends RouteSpec {
  readonly id: Id;
  readonly method: HttpMethod;
  /** With `{name}` for parameters. */
  readonly path: string;
}

/** Completes a row of the table of routes. */
export function defineRoute<const S extends RouteSpec>(
  id: RouteId,
  spec: S,
): S & Pick<HttpRoute, 'id' | 'method' | 'path'> {
  const [method, path] = PATHS[id];
  return { ...spec, id, method, path };
}

/**
 * An answer in JSON.
 * @param description - when it is given.
 */
export const json = <S extends z.ZodType>(
  description: string,
  schema: S,
  headers?: Readonly<Record<string, string>>,
): HttpResponse<S> => ({ description, contentType: 'application/json', schema, headers });

/**
 * An answer in plain text or another type that is not JSON.
 * @param description - when it is given.
 */
export const text = (description: string, contentType: string): HttpResponse<z.ZodString> => ({
  description,
  contentType,
  schema: z.string(),
});

/**
 * An answer without a body.
 * @param description - when it is given.
 */
export const empty = (description: string): HttpResponse<z.ZodUndefined> => ({
  description,
  contentType: '',
  schema: z.undefined(),
});

/**
 * Answers that are problems.
 * @param descriptions - by status: codes and when they are given.
 */
export const problems = (
  descriptions: Readonly<Record<number, string>>,
): Record<number, HttpResponse<typeof Problem>> =>
  Object.fromEntries(
    Object.entries({ ...descriptions, 500: 'INTERNAL: something unexpected; no details.' }).map(
      ([status, description]) => [
        status,
        { description, contentType: PROBLEM_CONTENT_TYPE, schema: Problem },
      ],
    ),
  );

/** What every route says when what it needs is away. */
export const UNAVAILABLE = 'BACKEND_UNAVAILABLE: what it needs is away; Retry-After says when to come back.';
/** What every route says to a request that it cannot read. */
export const INVALID = 'REQUEST_INVALID with each field that is wrong; unknown fields are refused.';
