import { empty, type HttpRoute, problems, type RouteSpec, text } from './route.js';
import { VIEWS } from './views.js';

/** The ids of what the page is made of, in metrics and logs. */
export type PageRouteId = 'getView' | 'getAsset';

const NEEDS_NO_KEY = { tag: 'Page', role: 'none', tenancy: 'open' } as const;
const NOT_BUILT = 'PAGE_NOT_BUILT: the server runs from a repository where the page has not been built.';

const { overview: OVERVIEW, ...OTHER_VIEWS } = VIEWS;

const VIEW: RouteSpec = {
  ...NEEDS_NO_KEY,
  summary: 'A view of the page',
  description:
    'The same page for every view: it asks the API for what it shows, with the key that it is given.',
  answers: {
    200: text('The page.', 'text/html'),
    304: empty('What If-None-Match names is still the same.'),
    ...problems({ 404: NOT_BUILT }),
  },
};

const viewAt = (path: string): HttpRoute<PageRouteId> => ({ ...VIEW, id: 'getView', method: 'GET', path });

/**
 * What a browser asks for to show the page: every view, and the files that it loads. A table apart from ROUTES, because these are no part
 * of the API: nobody calls them, their answers say nothing about work, and they change with every build. The server judges them by
 * their rows like everything else.
 */
export const PAGE_ROUTES: {
  readonly views: readonly [HttpRoute<PageRouteId>, ...HttpRoute<PageRouteId>[]];
  readonly asset: HttpRoute<PageRouteId>;
} = {
  views: [viewAt(OVERVIEW), ...Object.values(OTHER_VIEWS).map(viewAt)],
  asset: {
    ...NEEDS_NO_KEY,
    id: 'getAsset',
    method: 'GET',
    path: '/assets/{file}',
    summary: 'A file of the page',
    description: 'Its name changes with what is in it, so that it may be kept for ever.',
    answers: {
      200: text('The file.', '*/*'),
      304: empty('What If-None-Match names is still the same.'),
      ...problems({ 404: `NOT_FOUND: the page has no such file. ${NOT_BUILT}` }),
    },
  },
};
