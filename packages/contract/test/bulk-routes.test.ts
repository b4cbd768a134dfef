import { describe, expect, it } from 'vitest';
import {
  BULK_ROUTES,
  DeadLetterQuery,
  DeadLetterSelection,
  GroupChangeRequest,
  type HttpRoute,
} from '../src/index.js';

describe('the routes of bulk', () => {
  it('each has the role, the tenancy and the audit of the specification', () => {
    const rows = (Object.values(BULK_ROUTES) as HttpRoute[]).map(
      ({ method, path, role, tenancy, audited, ndjson }) =>
        [method, path.replace('/api/bulk/', ''), role, tenancy, audited && 'audited', ndjson && 'lines']
          .filter(Boolean)
          .join(' '),
    );
    expect(rows.toSorted()).toEqual([
      'DELETE groups/{groupId} operate own audited',
      'GET congestion read shared',
      'GET dead-letters read own',
      'GET fairness read own',
      'GET groups read own',
      'GET groups/{groupId} read own',
      'GET groups/{groupId}/jobs read own',
      'GET groups/{groupId}/jobs/{jobId} read own',
      'GET groups/{groupId}/jobs/{jobId}/explain read own',
      'GET groups/{groupId}/progress read own',
      'GET groups/{groupId}/result read own',
      'GET queues read shared',
      'GET tenants/{tenantId} read own',
      'PATCH groups/{groupId} operate own audited',
      'PATCH tenants/{tenantId} admin shared audited',
      'POST dead-letters/purge operate own audited',
      'POST dead-letters/redrive operate own audited',
      'POST groups operate own lines',
      'POST groups/{groupId}/jobs operate own lines',
      'POST groups/{groupId}/seal operate own',
    ]);
  });

  it('a selection of dead letters is one thing, with the count that was seen', () => {
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

  it('a change changes something; a query is read as a URL writes it', () => {
    expect(GroupChangeRequest.safeParse({}).success).toBe(false);
    expect(GroupChangeRequest.safeParse({ rps: null }).success).toBe(true);
    expect(DeadLetterQuery.parse({ groupBy: 'signature', limit: '7' })).toEqual({
      groupBy: 'signature',
      limit: 7,
    });
    expect(DeadLetterQuery.safeParse({ jobId: 'j' }).success).toBe(false);
  });
});
