import { z } from 'zod';
import { defineRoute, empty, json, problems, text } from './route.js';
import { CallerBody, HealthBody } from './system.js';

const tag = 'System';

/** Texts that change with the version of the server only. */
const UNCHANGED = { 304: empty('What If-None-Match names is still the same.') };
const IF_NONE_MATCH = { 'If-None-Match': 'The ETag of what the caller has already.' };
const ETAG = { ETag: 'Changes with the text.' };

/** Everything that can be asked of the server itself. */
export const SYSTEM_ROUTES = {
  getCaller: defineRoute('getCaller', {
    tag,
    summary: 'Who am I?',
    description: 'The name, role and tenant of the key that the request was sent with.',
    role: 'read',
    tenancy: 'open',
    answers: { 200: json('The caller.', CallerBody), ...problems({ 401: 'UNAUTHENTICATED.' }) },
  }),
  getLive: defineRoute('getLive', {
    tag,
    summary: 'Does the process live?',
    description: 'Answers as long as the process can; needs no key.',
    role: 'none',
    tenancy: 'open',
    answers: { 200: json('It lives.', HealthBody), ...problems({}) },
  }),
  getReady: defineRoute('getReady', {
    tag,
    summary: 'Can the server work?',
    description:
      'No while it is about to stop, while a backend does not answer, and while Redis may evict keys; needs no key.',
    role: 'none',
    tenancy: 'open',
    answers: {
      200: json('It can.', HealthBody),
      503: json('It cannot: see the checks.', HealthBody),
      ...problems({}),
    },
  }),
  getMetrics: defineRoute('getMetrics', {
    tag,
    summary: 'Metrics for Prometheus',
    description:
      'Of this process, and of the stores as it sees them. A store that does not answer costs a second; what was last seen of it is shown.',
    role: 'read',
    tenancy: 'shared',
    answers: {
      200: text('The metrics.', 'text/plain'),
      ...problems({ 401: 'UNAUTHENTICATED.', 403: 'TENANT_REFUSED: they tell of all tenants.' }),
    },
  }),
  getDocs: defineRoute('getDocs', {
    tag,
    summary: 'This API, to read',
    description: 'A page made from the same table as the OpenAPI document; needs no key.',
    role: 'none',
    tenancy: 'open',
    headers: IF_NONE_MATCH,
    answers: { 200: { ...text('The page.', 'text/html'), headers: ETAG }, ...UNCHANGED, ...problems({}) },
  }),
  getDocsStyle: defineRoute('getDocsStyle', {
    tag,
    summary: 'The looks of that page',
    description: 'A style sheet of its own, since the page allows nothing inline; needs no key.',
    role: 'none',
    tenancy: 'open',
    headers: IF_NONE_MATCH,
    answers: { 200: { ...text('The sheet.', 'text/css'), headers: ETAG }, ...UNCHANGED, ...problems({}) },
  }),
  getOpenApi: defineRoute('getOpenApi', {
    tag,
    summary: 'This API, for tools',
    description: 'The OpenAPI 3.1 document; needs no key.',
    role: 'none',
    tenancy: 'open',
    headers: IF_NONE_MATCH,
    answers: {
      200: json('The document.', z.record(z.string(), z.unknown()), ETAG),
      ...UNCHANGED,
      ...problems({}),
    },
  }),
} as const;
