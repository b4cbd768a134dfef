import { DemoBody, DemoRequest, DemoStopped } from './demo.js';
import { defineRoute, INVALID, json, problems, UNAVAILABLE } from './route.js';

const tag = 'System';

/** Everything that can be asked of the demo. */
export const DEMO_ROUTES = {
  startDemo: defineRoute('startDemo', {
    tag,
    summary: 'Start a demo',
    description:
      'A workload to look at: one large tenant, small ones that come and go, a service that refuses calls, jobs that die, batches, commands, and chat turns unless an application or a model answers them. ' +
      'Everything of it is under tenants that begin with demo-, and ends with it. While one runs, that one is answered.',
    role: 'admin',
    tenancy: 'shared',
    audited: true,
    body: DemoRequest,
    answers: {
      202: json('It runs.', DemoBody),
      ...problems({
        400: INVALID,
        403: 'FORBIDDEN, TENANT_REFUSED.',
        503: `DEMO_REFUSED: the queues are too full for one. ${UNAVAILABLE}`,
      }),
    },
  }),
  stopDemo: defineRoute('stopDemo', {
    tag,
    summary: 'Stop the demo',
    description:
      'Brings no more work, and ends everything of demos that has not ended, of any instance, dead or alive. May be repeated.',
    role: 'admin',
    tenancy: 'shared',
    audited: true,
    answers: {
      200: json('What was ended.', DemoStopped),
      ...problems({ 403: 'FORBIDDEN, TENANT_REFUSED.', 503: UNAVAILABLE }),
    },
  }),
} as const;
