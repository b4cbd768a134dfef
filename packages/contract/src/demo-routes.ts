import { DemoBody, DemoRequest, DemoStopped } from './demo.js';
import { defineRoutes, json } from './route.js';

/** Routes of the demo. */
export const DEMO_ROUTES = defineRoutes(
  {
    tag: 'System',
    role: 'admin',
    tenancy: 'shared',
    audited: true,
    fails: ['REQUEST_INVALID', 'BACKEND_UNAVAILABLE'],
  },
  {
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
  },
);
