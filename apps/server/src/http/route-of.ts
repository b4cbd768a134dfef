import { type HttpRoute, PAGE_ROUTES, type PageRouteId, ROUTES, type RouteId } from '@millrace/contract';

/** What can be served: the API and the page. */
export type ServedRoute = HttpRoute<RouteId | PageRouteId>;

const SERVED: readonly ServedRoute[] = [...Object.values(ROUTES), ...PAGE_ROUTES.views, PAGE_ROUTES.asset];

/** A route by its method and the pattern that Fastify knows it by. */
const BY_PATTERN: ReadonlyMap<string, ServedRoute> = new Map(
  SERVED.map((route) => [`${route.method} ${patternOf(route)}`, route]),
);

/** The path of a route as Fastify and Nest write it: `:name` for parameters. */
export function patternOf({ path }: Pick<ServedRoute, 'path'>): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** The row of the tables of routes behind a request; undefined for what is no route. */
export const routeOf = (method: string, pattern: string | undefined): ServedRoute | undefined =>
  BY_PATTERN.get(`${method} ${pattern}`);
