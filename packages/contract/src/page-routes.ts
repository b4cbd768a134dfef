import { VIEWS } from './paths.js';
import { empty, type HttpRoute, type RouteSpec, responsesOf, text } from './route.js';

/** The ids of the routes of the dashboard, in metrics and logs. */
export type PageRouteId = 'getView' | 'getAsset';

const UNCHANGED = { 304: empty('Unchanged since the ETag in If-None-Match') };

const pageRoute = (
  id: PageRouteId,
  path: string,
  spec: Pick<RouteSpec, 'summary' | 'description' | 'ok' | 'fails'>,
): HttpRoute<PageRouteId> => {
  const row = { tag: 'Page', role: 'none', tenancy: 'open', ...spec } as const;
  return { ...row, id, method: 'GET', path, responses: responsesOf(row) };
};

const viewAt = (path: string): HttpRoute<PageRouteId> =>
  pageRoute('getView', path, {
    summary: 'A view of the dashboard',
    description: 'The same page for every view. It gets its data from the API with the key of its user.',
    ok: { 200: text('The page', 'text/html'), ...UNCHANGED },
    fails: ['PAGE_NOT_BUILT'],
  });

const { overview: OVERVIEW, ...OTHER_VIEWS } = VIEWS;

/**
 * The routes that a browser requests to show the dashboard: every view, and the files of the page. They are not part of ROUTES
 * because they are no API: they change with every build.
 */
export const PAGE_ROUTES: {
  readonly views: readonly [HttpRoute<PageRouteId>, ...HttpRoute<PageRouteId>[]];
  readonly asset: HttpRoute<PageRouteId>;
} = {
  views: [viewAt(OVERVIEW), ...Object.values(OTHER_VIEWS).map(viewAt)],
  asset: pageRoute('getAsset', '/assets/{file}', {
    summary: 'A file of the dashboard',
    description: 'The name changes with the content, so the file can be cached without a limit.',
    ok: { 200: text('The file', '*/*'), ...UNCHANGED },
    fails: ['NOT_FOUND', 'PAGE_NOT_BUILT'],
  }),
};
