import { AppliedDagBody, ApplyDagRequest, DagListQuery, DagPage } from './dags.js';
import { defineRoutes, json } from './route.js';

/** Routes of DAGs. */
export const DAG_ROUTES = defineRoutes(
  { tag: 'Batches', fails: ['REQUEST_INVALID', 'BACKEND_UNAVAILABLE'] },
  {
    applyDag: {
      summary: 'Apply a DAG',
      description:
        'Stores a DAG whose tasks run with handlers of the application. All instances start new batches from it; running batches keep theirs. ' +
        'The same definition is the same version. Safe to repeat.',
      role: 'admin',
      tenancy: 'shared',
      audited: true,
      body: ApplyDagRequest,
      ok: {
        200: json('This definition was stored already and is in use', AppliedDagBody),
        201: json('Stored as a new version, which is in use', AppliedDagBody),
      },
      fails: ['BATCH_TOO_LARGE', 'DAG_INVALID'],
    },
    listDags: {
      summary: 'List DAGs',
      description:
        'By name, each in the version that new batches use. A page of DAGs with many tasks is shorter than its limit.',
      role: 'read',
      tenancy: 'open',
      query: DagListQuery,
      ok: DagPage,
    },
  },
);
