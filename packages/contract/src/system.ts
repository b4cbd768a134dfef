import { z } from 'zod';
import { count, time } from './fields.js';
import { VIEWS } from './paths.js';
import { defineRoutes, empty, type HttpRoute, json, type RouteSpec, responsesOf, text } from './route.js';

/** The caller of a request. */
export const CallerBody = z.object({
  name: z.string().describe('Name of the key.'),
  role: z.enum(['read', 'operate', 'admin']),
  tenant: z.string().nullable().describe('The tenant that the key is limited to; null means all tenants.'),
  version: z.string().describe('Version of the server.'),
  embedded: z.boolean().describe('True if the server is one process without other backends.'),
});
export type CallerBody = z.infer<typeof CallerBody>;

/** The health of a backend of the server. */
export const HealthCheck = z.object({
  name: z.string(),
  ok: z.boolean(),
  message: z
    .string()
    .nullable()
    .describe(
      'The problem and its remedy; for a healthy backend what could not be checked. null without a key for all tenants.',
    ),
  since: time.nullable().describe('Start of the problem; null if healthy.'),
});
export type HealthCheck = z.infer<typeof HealthCheck>;

/** The health of the server. */
export const HealthBody = z.object({ ok: z.boolean(), checks: z.array(HealthCheck) });
export type HealthBody = z.infer<typeof HealthBody>;

/** The size of a demo. */
export const DemoRequest = z.strictObject({
  seconds: z.int().min(10).max(600).default(60).describe('Seconds during which it adds work.'),
  whaleJobs: z.int().min(100).max(20_000).default(5_000).describe('Jobs of the large tenant.'),
  tenants: z.int().min(1).max(20).default(6).describe('Small tenants that come and go.'),
});
export type DemoRequest = z.infer<typeof DemoRequest>;

/** A running demo. */
export const DemoBody = z.object({
  run: z.string().describe('Its name; the ids of its groups and batches begin with it.'),
  created: z.boolean().describe('false: a demo ran already and the request was ignored.'),
  startedAt: time,
  endsAt: time.describe('From then on it adds no work and ends what is left.'),
  groupId: z.string().describe('The group of the large tenant.'),
});
export type DemoBody = z.infer<typeof DemoBody>;

/** The work that was ended with a demo. */
export const DemoStopped = z.object({
  groups: count.describe('Groups cancelled.'),
  batches: count.describe('Batches aborted.'),
  operations: count.describe('Operations cancelled.'),
});
export type DemoStopped = z.infer<typeof DemoStopped>;

const DEMO = {
  tag: 'System',
  role: 'admin',
  tenancy: 'shared',
  audited: true,
  fails: ['REQUEST_INVALID', 'BACKEND_UNAVAILABLE'],
} as const;

export const DEMO_ROUTES = defineRoutes(DEMO, {
  startDemo: {
    summary: 'Start a demo',
    description:
      'A sample workload: one large tenant, small tenants that come and go, a service that refuses calls, failing jobs, batches, commands, and chat turns unless an application or a model answers them. ' +
      'All of it belongs to tenants whose names begin with demo- and ends with the demo. While a demo runs, the request returns that one.',
    body: DemoRequest,
    ok: { 202: json('The demo runs', DemoBody) },
    fails: ['DEMO_REFUSED'],
  },
  stopDemo: {
    summary: 'Stop the demo',
    description: 'Ends all open work of demos, whichever instance started it. Safe to repeat.',
    ok: DemoStopped,
  },
});

const UNCHANGED = { 304: empty('Unchanged since the ETag in If-None-Match') };
const IF_NONE_MATCH = { 'If-None-Match': 'The ETag of the copy that the caller has.' };
const ETAG = { ETag: 'Changes with the content, which changes with the version of the server.' };

const SYSTEM = { tag: 'System' } as const;

export const CALLER_ROUTES = defineRoutes(SYSTEM, {
  getCaller: {
    summary: 'Get the caller',
    description: 'The name, role and tenant of the API key of this request.',
    tenancy: 'open',
    ok: CallerBody,
    fails: ['REQUEST_INVALID'],
  },
  getMetrics: {
    summary: 'Metrics for Prometheus',
    description:
      'Metrics of this process and of the stores. A store that does not answer within a second is shown with its last values.',
    tenancy: 'shared',
    ok: { 200: text('The metrics', 'text/plain') },
  },
});

/** Routes that need no key. */
const PUBLIC = { tag: 'System', role: 'none', tenancy: 'open' } as const;

export const PUBLIC_ROUTES = defineRoutes(PUBLIC, {
  getLive: {
    summary: 'Check that the process is alive',
    description: 'Responds while the process can; needs no key.',
    ok: HealthBody,
  },
  getReady: {
    summary: 'Check that the server can work',
    description:
      'Fails while the server stops, while a backend does not answer, and while Redis may evict keys; needs no key.',
    ok: {
      200: json('Ready', HealthBody),
      503: json('Not ready; the checks say why', HealthBody),
    },
  },
  getDocs: {
    summary: 'API reference as a web page',
    description: 'Made from the same routes as the OpenAPI document; needs no key.',
    headers: IF_NONE_MATCH,
    ok: { 200: text('The page', 'text/html', ETAG), ...UNCHANGED },
  },
  getDocsStyle: {
    summary: 'Style sheet of the API reference',
    description: 'A file of its own, because the page allows no inline styles; needs no key.',
    headers: IF_NONE_MATCH,
    ok: { 200: text('The style sheet', 'text/css', ETAG), ...UNCHANGED },
  },
  getOpenApi: {
    summary: 'API reference as an OpenAPI document',
    description: 'OpenAPI 3.1; needs no key.',
    headers: IF_NONE_MATCH,
    ok: { 200: json('The document', z.record(z.string(), z.unknown()), ETAG), ...UNCHANGED },
  },
});

/** The ids of the routes of the dashboard, in metrics and logs. */
export type PageRouteId = 'getView' | 'getAsset';
type PageRoute = HttpRoute<PageRouteId>;

const pageRoute = (
  id: PageRouteId,
  path: string,
  spec: Pick<RouteSpec, 'summary' | 'description' | 'ok' | 'fails'>,
): PageRoute => {
  const row = { tag: 'Page', role: 'none', tenancy: 'open', ...spec } as const;
  return { ...row, id, method: 'GET', path, responses: responsesOf(row) };
};

const viewAt = (path: string) =>
  pageRoute('getView', path, {
    summary: 'A view of the dashboard',
    description: 'The same page for every view. It gets its data from the API with the key of its user.',
    ok: { 200: text('The page', 'text/html'), ...UNCHANGED },
    fails: ['PAGE_NOT_BUILT'],
  });

/**
 * The routes that a browser requests to show the dashboard: every view, and the files of the page. They are not part of ROUTES
 * because they are no API: they change with every build.
 */
export const PAGE_ROUTES = {
  views: Object.values(VIEWS).map(viewAt) as [PageRoute, ...PageRoute[]],
  asset: pageRoute('getAsset', '/assets/{file}', {
    summary: 'A file of the dashboard',
    description: 'The name changes with the content, so the file can be cached without a limit.',
    ok: { 200: text('The file', '*/*'), ...UNCHANGED },
    fails: ['NOT_FOUND', 'PAGE_NOT_BUILT'],
  }),
};
