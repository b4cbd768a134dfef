import { functionOption, printable } from '@millrace/foundation';
import { ERRORS } from './errors.js';
import type { InlineHandler, InlineOptions, InlineRoute, Route, Routes } from './routes.js';

const NAME = /^[A-Z0-9_]{1,50}\.[A-Z0-9_]{1,50}$/;
const isFunction = functionOption();

/** Makes a route whose work runs in this process. `inline<Order>(…)` sets the assumed type of its payloads. */
export function inline<P = unknown>(run: InlineHandler<P>, options: InlineOptions = {}): InlineRoute {
  return Object.freeze({ kind: 'inline', run: run as InlineHandler, options: Object.freeze({ ...options }) });
}

/**
 * Validates routes and returns them frozen.
 * @param routes - by `DOMAIN.EVENT_TYPE`, made by `inline`, `bulk` and `batch`.
 * @throws MillraceError `ROUTE_INVALID`.
 */
export function defineRoutes(routes: Readonly<Record<string, Route>>): Routes {
  for (const [name, route] of Object.entries(routes)) {
    const refuse = (reason: string) =>
      ERRORS.create('ROUTE_INVALID', { route: `'${printable(name)}'`, reason });
    if (!NAME.test(name)) throw refuse('its name must be DOMAIN.EVENT_TYPE, each 1 to 50 of A–Z, 0–9 and _');
    if (typeof route !== 'object' || route === null || typeof route.kind !== 'string')
      throw refuse('make it with inline, bulk or batch');
    if (route.kind === 'inline' && !isFunction.accepts((route as InlineRoute).run))
      throw refuse('inline requires a function that does the work');
  }
  return Object.freeze({ ...routes });
}
