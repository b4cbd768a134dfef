import { type HttpRoute, ROUTES } from '@millrace/contract';

/** A route by its method and the pattern that Fastify knows it by. */
const BY_PATTERN: ReadonlyMap<string, HttpRoute> = new Map(
  Object.values(ROUTES).map((route: HttpRoute) => [`${route.method} ${patternOf(route)}`, route]),
);

/**
 * The path of a route as Fastify and Nest write it: `:name` for parameters.
 * @param route - the route.
 */
export function patternOf({ path }: Pick<HttpRoute, 'path'>): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/**
 * The row of the table of routes behind a request; undefined for what is no route.
 * @param method - of the request.
 * @param pattern - that it matched.
 */
export const routeOf = (method: string, pattern: string | undefined): HttpRoute | undefined =>
  BY_PATTERN.get(`${method} ${pattern}`);
