import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  DeadLetterSelection,
  GroupChangeRequest,
  type HttpRoute,
  PAGE_ROUTES,
  PATHS,
  ROUTES,
  VIEWS,
} from '../src/index.js';

const ROWS: readonly HttpRoute[] = Object.values(ROUTES);

const rowOf = ({ method, path, role, tenancy, audited, streams, ndjson }: HttpRoute): string =>
  [method, path, role, tenancy, audited && 'audited', streams && 'streams', ndjson && 'lines']
    .filter(Boolean)
    .join(' ');

describe('orchestrator FR-5: the routes', () => {
  it('orchestrator FR-5: have the role, the tenancy and the audit of the specification', () => {
    expect(ROWS.map(rowOf).toSorted()).toEqual([
      'DELETE /api/bulk/groups/{groupId} operate own audited',
      'DELETE /api/chat/sessions/{sessionId}/tasks/{taskId} operate own audited',
      'DELETE /api/demo admin shared audited',
      'DELETE /api/operations/{opId} operate own audited',
      'DELETE /api/schedules/{name} admin own audited',
      'GET /api/audit admin own',
      'GET /api/batches read own',
      'GET /api/batches/{batchId} read own',
      'GET /api/batches/{batchId}/tasks read own',
      'GET /api/bulk/congestion read shared',
      'GET /api/bulk/dead-letters read own',
      'GET /api/bulk/fairness read own',
      'GET /api/bulk/groups read own',
      'GET /api/bulk/groups/{groupId} read own',
      'GET /api/bulk/groups/{groupId}/jobs read own',
      'GET /api/bulk/groups/{groupId}/jobs/{jobId} read own',
      'GET /api/bulk/groups/{groupId}/jobs/{jobId}/explain read own',
      'GET /api/bulk/groups/{groupId}/progress read own',
      'GET /api/bulk/groups/{groupId}/result read own',
      'GET /api/bulk/pool read shared',
      'GET /api/bulk/queues read shared',
      'GET /api/bulk/tenants/{tenantId} read own',
      'GET /api/caller read open',
      'GET /api/chat/sessions read own',
      'GET /api/chat/sessions/{sessionId} read own',
      'GET /api/chat/sessions/{sessionId}/tasks/{taskId}/result read own',
      'GET /api/chat/sessions/{sessionId}/tasks/{taskId}/status read own',
      'GET /api/chat/sessions/{sessionId}/tasks/{taskId}/stream read own streams',
      'GET /api/dags read open',
      'GET /api/docs none open',
      'GET /api/docs/style.css none open',
      'GET /api/events read own streams',
      'GET /api/instances read shared',
      'GET /api/operations read own',
      'GET /api/operations/{opId}/events read own streams',
      'GET /api/operations/{opId}/status read own',
      'GET /api/schedules read own',
      'GET /api/stats read shared',
      'GET /health/live none open',
      'GET /health/ready none open',
      'GET /metrics read shared',
      'GET /openapi.json none open',
      'PATCH /api/bulk/groups/{groupId} operate own audited',
      'PATCH /api/bulk/pool admin shared audited',
      'PATCH /api/bulk/tenants/{tenantId} admin shared audited',
      'POST /api/batches operate own',
      'POST /api/batches/{batchId}/abort operate own audited',
      'POST /api/batches/{batchId}/retry operate own audited',
      'POST /api/batches/{batchId}/tasks/{taskKey}/retry operate own audited',
      'POST /api/bulk/dead-letters/purge operate own audited',
      'POST /api/bulk/dead-letters/redrive operate own audited',
      'POST /api/bulk/groups operate own lines',
      'POST /api/bulk/groups/{groupId}/jobs operate own lines',
      'POST /api/bulk/groups/{groupId}/seal operate own',
      'POST /api/chat/sessions operate own',
      'POST /api/chat/sessions/{sessionId}/queue operate own',
      'POST /api/dags admin shared audited',
      'POST /api/demo admin shared audited',
      'POST /api/operations operate own',
      'POST /api/schedules admin own audited',
    ]);
  });

  it('orchestrator FR-5: refuse unknown fields in queries and bodies, and say so in their JSON Schema', () => {
    for (const { id, query, body } of ROWS)
      for (const schema of [query, body])
        if (schema)
          expect(z.toJSONSchema(schema, { io: 'input' }), id).toMatchObject({
            type: 'object',
            additionalProperties: false,
          });
  });

  it('orchestrator FR-5: document the exact budget and sticky routing', () => {
    const { submitOperation, createChatSession, queueChatMessage, getChatSession } = ROUTES;
    expect(submitOperation.description).toContain('Completion at exactly the budget is answered 202.');
    for (const { description } of [createChatSession, queueChatMessage, getChatSession])
      expect(description).toContain('sticky routing');
  });
});

describe('the responses of a route', () => {
  it('orchestrator FR-5: have the status of each code that it can fail with', () => {
    const { responses } = ROUTES.submitOperation;
    expect(Object.keys(responses).map(Number)).toEqual([
      200, 202, 400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 500, 503,
    ]);
    expect(responses[404]).toMatchObject({
      description: expect.stringMatching(/^ROUTE_NOT_FOUND: \S.*\.$/),
      contentType: 'application/problem+json',
    });
    const { description, headers } = responses[503] ?? {};
    for (const code of ['BACKEND_UNAVAILABLE', 'STORE_UNAVAILABLE', 'SERVER_STOPPING'])
      expect(description).toContain(`${code}: `);
    expect(headers).toHaveProperty('Retry-After');
  });

  it('follow from its path, role, tenancy, body, audit and stream', () => {
    expect(Object.keys(ROUTES.getLive.responses)).toEqual(['200', '500']);
    expect(ROUTES.explainJob.responses[404]?.description).toMatch(/GROUP_NOT_FOUND: .*JOB_NOT_FOUND: /);
    expect(ROUTES.changeTenant.responses[403]?.description).toMatch(/FORBIDDEN: .*admin.*TENANT_REFUSED: /);
    expect(ROUTES.changeTenant.responses[503]?.description).toContain('AUDIT_UNAVAILABLE: ');
    expect(ROUTES.getTenant.responses[403]?.description).not.toContain('TENANT_REFUSED');
    expect(ROUTES.watchChanges.responses[429]?.description).toContain('STREAMS_FULL: ');
    expect(ROUTES.getGroup.responses).not.toHaveProperty('415');
    expect(ROUTES.getReady.responses[503]).toMatchObject({ contentType: 'application/json' });
  });
});

it('gives every view of the dashboard a route without a key, under no first path segment of the API', () => {
  const page = [...PAGE_ROUTES.views, PAGE_ROUTES.asset];
  expect(page.map(({ path }) => path)).toEqual([...Object.values(VIEWS), '/assets/{file}']);
  for (const { method, role, tenancy } of page)
    expect([method, role, tenancy]).toEqual(['GET', 'none', 'open']);
  const first = (path: string) => path.split('/')[1];
  const taken = new Set(Object.values(PATHS).map(([, path]) => first(path)));
  expect(page.filter(({ path }) => taken.has(first(path) ?? ''))).toEqual([]);
});

describe('the schemas of bulk', () => {
  it('accept one way to select dead letters, with the expected count', () => {
    const accepts = (value: unknown) => DeadLetterSelection.safeParse(value).success;
    const id = { groupId: 'g', jobId: 'j' };
    for (const way of [{ ids: [id] }, { groupId: 'g' }, { signature: 's' }, { all: true }])
      expect(accepts({ ...way, expectedCount: 3 })).toBe(true);
    for (const wrong of [
      { all: true },
      { expectedCount: 3 },
      { all: false, expectedCount: 3 },
      { ids: [], expectedCount: 0 },
      { ids: Array.from({ length: 201 }, () => id), expectedCount: 201 },
      { groupId: 'g', all: true, expectedCount: 3 },
      { groupId: 'g', expectedCount: -1 },
      { groupId: 'g', tenant: 't', expectedCount: 1 },
    ])
      expect(accepts(wrong), JSON.stringify(wrong)).toBe(false);
  });

  it('require a change to change something, and read numbers from a query', () => {
    expect(GroupChangeRequest.safeParse({}).success).toBe(false);
    expect(GroupChangeRequest.safeParse({ rps: null }).success).toBe(true);
    expect(ROUTES.listDeadLetters.query.parse({ groupBy: 'signature', limit: '7' })).toEqual({
      groupBy: 'signature',
      limit: 7,
    });
    expect(ROUTES.listDeadLetters.query.safeParse({ jobId: 'j' }).success).toBe(false);
  });
});
