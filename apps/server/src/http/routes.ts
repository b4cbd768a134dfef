import { type HttpRoute, PAGE_ROUTES, type PageRouteId, ROUTES, type RouteId } from '@millrace/contract';
import { applyDecorators, HttpCode, RequestMapping, RequestMethod } from '@nestjs/common';

/** A route of the API or of the dashboard. */
export type ServedRoute = HttpRoute<RouteId | PageRouteId>;

const SERVED: readonly ServedRoute[] = [...Object.values(ROUTES), ...PAGE_ROUTES.views, PAGE_ROUTES.asset];

/** Routes by method and Fastify pattern, such as `GET /api/bulk/groups/:groupId`. */
const BY_PATTERN: ReadonlyMap<string, ServedRoute> = new Map(
  SERVED.map((route) => [`${route.method} ${patternOf(route)}`, route]),
);

/** Returns the path of a route in the syntax of Fastify and Nest: `:name` for parameters. */
function patternOf({ path }: Pick<ServedRoute, 'path'>): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** Finds the route of a request by its method and Fastify pattern. */
export const routeOf = (method: string, pattern: string | undefined): ServedRoute | undefined =>
  BY_PATTERN.get(`${method} ${pattern}`);

/**
 * Makes a method the handler of a route. Sets method, path and success status from the contract.
 * @param alike - more routes that differ only in their paths.
 */
export function HandleRoute(route: ServedRoute, ...alike: readonly ServedRoute[]): MethodDecorator {
  const status =
    Object.keys(route.responses)
      .map(Number)
      .find((code) => code < 300) ?? 200;
  return applyDecorators(
    RequestMapping({ path: [route, ...alike].map(patternOf), method: RequestMethod[route.method] }),
    HttpCode(status),
  );
}
