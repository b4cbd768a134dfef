import { AppliedDagBody, ApplyDagRequest, DagListQuery, DagPage } from './dags.js';
import { defineRoute, INVALID, json, problems, UNAVAILABLE } from './route.js';

const tag = 'Batches';

/** Everything that can be asked about DAGs. */
export const DAG_ROUTES = {
  applyDag: defineRoute('applyDag', {
    tag,
    summary: 'Apply a DAG',
    description:
      'Stores a DAG whose tasks are run by handlers of the application. New batches of its name take it from then on, whichever instance starts them; running ones keep theirs. The same definition is the same version. May be repeated.',
    role: 'admin',
    tenancy: 'shared',
    audited: true,
    body: ApplyDagRequest,
    answers: {
      200: json('This very definition was stored already; it is in force.', AppliedDagBody),
      201: json('It was stored as a new version, and is in force.', AppliedDagBody),
      ...problems({
        400: INVALID,
        413: 'BATCH_TOO_LARGE: it has more tasks than a batch may have.',
        422: 'DAG_INVALID with the first thing that is wrong: a cycle, a handler that the application does not have.',
        503: UNAVAILABLE,
      }),
    },
  }),
  listDags: defineRoute('listDags', {
    tag,
    summary: 'List DAGs',
    description:
      'By name, each in the version that new batches take. A page of DAGs with many tasks is shorter than its limit.',
    role: 'read',
    tenancy: 'open',
    query: DagListQuery,
    answers: { 200: json('A page.', DagPage), ...problems({ 400: INVALID, 503: UNAVAILABLE }) },
  }),
} as const;
