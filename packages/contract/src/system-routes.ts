import { defineRoute, json, problems } from './route.js';
import { CallerBody, HealthBody } from './system.js';

const tag = 'System';

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
} as const;
