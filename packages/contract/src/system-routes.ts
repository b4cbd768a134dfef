import { z } from 'zod';
import { defineRoutes, empty, json, text } from './route.js';
import { CallerBody, HealthBody } from './system.js';

const UNCHANGED = { 304: empty('Unchanged since the ETag in If-None-Match') };
const IF_NONE_MATCH = { 'If-None-Match': 'The ETag of the copy that the caller has.' };
const ETAG = { ETag: 'Changes with the content, which changes with the version of the server.' };

const CALLER_ROUTES = defineRoutes(
  { tag: 'System', role: 'read' },
  {
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
  },
);

const PUBLIC_ROUTES = defineRoutes(
  { tag: 'System', role: 'none', tenancy: 'open' },
  {
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
  },
);

/** Routes of the server itself. */
export const SYSTEM_ROUTES = { ...CALLER_ROUTES, ...PUBLIC_ROUTES };
