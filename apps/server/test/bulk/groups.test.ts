import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestServer } from '../serve.js';
import { jobs, KEYS, serveBulk } from './bulk-server.js';

const GROUPS = '/api/bulk/groups';

describe('bulk over HTTP', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await serveBulk({ limits: { jobsPerRequest: 50 } });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const submit = (body: unknown, headers: Record<string, string> = {}) =>
    server.send(GROUPS, { body, headers });
  const patch = (path: string, body: unknown, key?: string) =>
    server.send(path, { method: 'PATCH', body, key });
  const ended = (id: string) =>
    until(async () => (await server.send(`${GROUPS}/${id}/result`)).body.status === 'COMPLETED', {
      what: `the end of ${id}`,
    });

  it('a group runs to its end, and its result is what its aggregator made', async () => {
    const traceparent = '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01';
    const { status, body } = await submit({ group: { id: 'g1', weight: 2 }, jobs: jobs(5) }, { traceparent });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      groupId: 'g1',
      created: true,
      added: 5,
      known: 0,
      registered: 5,
      sealed: true,
    });
    await ended('g1');
    expect((await server.send(`${GROUPS}/g1`)).body).toMatchObject({
      id: 'g1',
      tenant: '',
      weight: 2,
      traceparent,
      status: 'COMPLETED',
      progress: { done: 5, success: 5, progressPercent: 100 },
    });
    const { body: result } = await server.send(`${GROUPS}/g1/result?round=1`);
    expect(result).toMatchObject({ round: 1, total: 5, success: 5, code: null, data: 10, failedByCode: {} });
    expect((await server.send(`${GROUPS}/g1/jobs/j3`)).body).toMatchObject({
      id: 'j3',
      groupId: 'g1',
      status: 'COMPLETED',
      place: 'DONE',
      resultKept: true,
      result: 3,
    });
    expect((await server.send(`${GROUPS}/g1/jobs`)).body.items[0]).not.toHaveProperty('result');
    const { body: progress } = await server.send(`${GROUPS}/g1/progress`);
    expect(progress).toMatchObject({ groupId: 'g1' });
    expect(progress.points[0]).toMatchObject({ done: 0, registered: 0 });
    expect(progress.points.at(-1)).toMatchObject({ done: 5, success: 5, inFlight: 0, registered: 5 });
    expect((await server.send(`${GROUPS}/none/progress`)).body).toMatchObject({ code: 'GROUP_NOT_FOUND' });
    // The same again, as after a lost answer.
    expect((await submit({ group: { id: 'g1', weight: 2 }, jobs: jobs(5) })).body).toMatchObject({
      created: false,
      added: 0,
      known: 5,
    });
  });

  it('a group without jobs stays open; jobs follow, and the seal', async () => {
    expect((await submit({ group: { id: 'open' } })).body).toMatchObject({ sealed: false, registered: 0 });
    const add = (count: number) => server.send(`${GROUPS}/open/jobs`, { body: { jobs: jobs(count) } });
    expect(await add(2)).toMatchObject({ status: 200, body: { groupId: 'open', added: 2, registered: 2 } });
    expect((await add(3)).body).toMatchObject({ added: 1, known: 2, registered: 3 });
    const pending = await server.send(`${GROUPS}/open/result`);
    expect(pending).toMatchObject({ status: 409, body: { code: 'RESULT_PENDING', retryable: true } });
    const seal = (body: unknown) => server.send(`${GROUPS}/open/seal`, { method: 'POST', body });
    expect(await seal({ total: 4 })).toMatchObject({ status: 409, body: { code: 'SEAL_TOTAL_MISMATCH' } });
    expect((await seal({ total: 3 })).body).toMatchObject({ changed: true, group: { sealed: true } });
    expect((await seal(undefined)).body).toMatchObject({ changed: false });
    await ended('open');
    expect(await add(4)).toMatchObject({ status: 409, body: { code: 'GROUP_SEALED' } });
  });

  it('ids that are left out come of the Idempotency-Key; a bad key is refused before anything is stored', async () => {
    const send = (key: string) =>
      submit({ group: { id: 'keyed' }, jobs: [{ processorType: 'sum' }] }, { 'idempotency-key': key });
    expect(await send('no spaces')).toMatchObject({ status: 400, body: { code: 'ID_INVALID' } });
    expect((await server.send(`${GROUPS}/keyed`)).status).toBe(404);
    expect((await send('k1')).body).toMatchObject({ added: 1 });
    expect((await send('k1')).body).toMatchObject({ added: 0, known: 1 });
  });

  it('what cannot be taken is refused field by field, and nothing is stored', async () => {
    const refused = async (body: unknown, status: number, more: object) =>
      expect(await submit(body)).toMatchObject({ status, body: more });
    const group = { id: 'refused' };
    const errors = (field: string) => ({
      code: 'REQUEST_INVALID',
      errors: [expect.objectContaining({ field })],
    });
    await refused({ group, jobs: [], sael: true }, 400, errors('sael'));
    await refused({ group: { ...group, wieght: 1 } }, 400, errors('group.wieght'));
    await refused({ group, jobs: [{ processorType: 'sum', cots: 1 }] }, 400, errors('jobs.0.cots'));
    await refused({ group, jobs: [{ processorType: 'sum', notBefore: 5 }] }, 400, errors('jobs.0.notBefore'));
    // What only the engine knows.
    await refused(
      { group, jobs: [...jobs(2), { processorType: 'sum', cost: 1_000_000 }] },
      400,
      errors('jobs.2.cost'),
    );
    await refused({ group: { ...group, weight: 1e9 }, jobs: [] }, 400, errors('weight'));
    await refused({ group: { id: 'no/two/parts' } }, 400, { code: 'ID_INVALID' });
    await refused({ group, jobs: jobs(51) }, 413, { code: 'JOBS_TOO_MANY' });
    await refused({ group, jobs: [{ processorType: 'sum', payload: 'x'.repeat(300_000) }] }, 413, {
      code: 'PAYLOAD_TOO_LARGE',
    });
    const text = await server.send(GROUPS, { body: 'hello', headers: { 'content-type': 'text/plain' } });
    expect(text.status).toBe(415);
    const asked = await server.send(`${GROUPS}?seal=false`, { body: { group } });
    expect(asked).toMatchObject({ status: 400, body: errors('seal') });
    // A body of lines where there may be none.
    const lines = { body: '{"weight":2}', headers: { 'content-type': 'application/x-ndjson' } };
    expect(await server.send(`${GROUPS}/g1`, { method: 'PATCH', ...lines })).toMatchObject({ status: 415 });
    expect((await server.send(`${GROUPS}/refused`)).body).toMatchObject({ code: 'GROUP_NOT_FOUND' });
  });

  it('times travel as ISO texts; an open group explains what holds its jobs back', async () => {
    const notBefore = '2126-01-01T00:00:00.000Z';
    const body = { group: { id: 'later', deadline: '2127-01-01T00:00:00Z' }, jobs: jobs(1, { notBefore }) };
    expect((await submit(body)).status).toBe(201);
    expect((await server.send(`${GROUPS}/later`)).body.deadline).toBe('2127-01-01T00:00:00.000Z');
    const { body: explained } = await server.send(`${GROUPS}/later/jobs/j0/explain`);
    expect(explained).toMatchObject({
      gate: 'BACK_OFF',
      job: {
        notBefore,
        reason: 'SCHEDULED',
        place: 'NON_READY',
      },
    });
    // Its clock and that of the store are read one after the other.
    expect(Math.abs(Date.parse(explained.job.dueAt) - Date.parse(notBefore))).toBeLessThan(1_000);
    expect((await server.send(`${GROUPS}/later/jobs/none`)).body).toMatchObject({ code: 'JOB_NOT_FOUND' });
    expect((await server.send(`${GROUPS}/later/jobs/none/explain`)).status).toBe(404);
  });

  it('PATCH changes weight and limits, pauses and resumes; wrong values change nothing', async () => {
    await submit({ group: { id: 'held', rps: 5 }, seal: false });
    const held = `${GROUPS}/held`;
    expect((await patch(held, { paused: true, weight: 3, rps: null })).body).toMatchObject({
      paused: true,
      weight: 3,
      rps: null,
    });
    expect(await patch(held, { weight: 1e9, paused: false })).toMatchObject({ status: 400 });
    expect(await patch(held, {})).toMatchObject({ status: 400, body: { code: 'REQUEST_INVALID' } });
    expect((await server.send(held)).body).toMatchObject({ paused: true, weight: 3 });
    await server.send(`${held}/jobs`, { body: { jobs: jobs(3) } });
    const { body: page } = await server.send(`${held}/jobs?state=PENDING&limit=2`);
    expect(page.items).toHaveLength(2);
    const { body: rest } = await server.send(`${held}/jobs?state=PENDING&cursor=${page.cursor}`);
    expect(rest.items).toHaveLength(1);
    await patch(held, { paused: false, priorityLevel: 'high', deadline: null, concurrency: 2 });
    await until(async () => (await server.send(held)).body.progress.done === 3, { what: 'three jobs' });
    const cancel = () => server.send(held, { method: 'DELETE' });
    expect((await cancel()).body).toMatchObject({ changed: true, group: { status: 'CANCELLED' } });
    expect((await cancel()).body).toMatchObject({ changed: false });
    expect(await patch(held, { paused: true })).toMatchObject({ status: 409, body: { code: 'GROUP_ENDED' } });
    expect(await submit({ group: { id: 'held', rps: 6 } })).toMatchObject({
      status: 409,
      body: { code: 'GROUP_CONFLICT' },
    });
  });

  it('lists groups with their progress, filtered, page by page', async () => {
    for (const id of ['l1', 'l2', 'l3']) await submit({ group: { id, tenant: 'list', weight: 2 }, jobs: [] });
    const { body: first } = await server.send(`${GROUPS}?tenant=list&limit=2`);
    expect(first.items.map(({ id }: { id: string }) => id)).toEqual(['list/l3', 'list/l2']);
    expect(first.items[0].progress).toMatchObject({ progressPercent: 100, status: 'COMPLETED' });
    const { body: second } = await server.send(`${GROUPS}?tenant=list&limit=2&cursor=${first.cursor}`);
    expect(second).toMatchObject({ items: [{ id: 'list/l1' }], cursor: null });
    expect((await server.send(`${GROUPS}?tenantId=list&status=RUNNING`)).body.items).toEqual([]);
    expect((await server.send(`${GROUPS}/list%2Fl1`)).body).toMatchObject({ id: 'list/l1', tenant: 'list' });
    for (const query of ['limit=201', 'limit=0', 'cursor=', 'status=BUSY', 'sort=up'])
      expect((await server.send(`${GROUPS}?${query}`)).status, query).toBe(400);
  });

  it('tenants have weights and limits; fairness, queues and congestion can be looked at', async () => {
    expect(await server.send('/api/bulk/tenants/nobody')).toMatchObject({
      status: 404,
      body: { code: 'TENANT_NOT_FOUND' },
    });
    const change = { weight: 4, rps: 100, burst: 10, concurrency: null };
    expect((await patch('/api/bulk/tenants/big', change)).body).toMatchObject({ id: 'big', ...change });
    expect(await patch('/api/bulk/tenants/big', { weight: 0 })).toMatchObject({ status: 400 });
    expect((await server.send('/api/bulk/tenants/big')).body).toMatchObject({ weight: 4, concurrency: null });
    await submit({
      group: { id: 'f1', tenant: 'big', weight: 3 },
      jobs: jobs(2, { notBefore: '2126-01-01T00:00:00Z' }),
    });
    await submit({
      group: { id: 'f2', tenant: 'big' },
      jobs: jobs(2, { notBefore: '2126-01-01T00:00:00Z' }),
    });
    const { body } = await server.send('/api/bulk/fairness?tenantId=big');
    expect(body).toMatchObject({ tenants: [{ id: 'big', weight: 4, pending: 4 }], groupsComplete: true });
    const [second, first] = body.groups;
    expect(first).toMatchObject({ groupId: 'big/f1', weight: 3, pending: 2 });
    expect(first.fairShare / second.fairShare).toBeCloseTo(3);
    expect(first.fairShare + second.fairShare).toBeCloseTo(body.tenants[0].fairShare);
    expect((await server.send('/api/bulk/fairness?limit=1')).body).toMatchObject({ groupsComplete: false });
    expect((await server.send('/api/bulk/queues')).body).toMatchObject({ deadLetters: 0, ready: 0 });
    const { body: congestion } = await server.send('/api/bulk/congestion?groupId=big%2Ff1');
    expect(congestion).toMatchObject({ group: { groupId: 'big/f1', level: 'NONE' } });
    expect(congestion.resources).toContainEqual(expect.objectContaining({ resource: 'sum', limit: 5_000 }));
    expect((await server.send('/api/bulk/congestion')).body.group).toBeNull();
    const now = (await server.send('/api/bulk/congestion?history=false')).body.resources;
    expect(now).toHaveLength(congestion.resources.length);
    for (const { history } of now) expect(history).toEqual([]);
    expect((await server.send('/api/bulk/congestion?groupId=g1')).status).toBe(404);
  });

  it('a key of a tenant reaches its own groups only, by plain ids', async () => {
    const own = (path: string, sent: object = {}) => server.send(path, { key: KEYS.acme, ...sent });
    const later = { notBefore: '2126-01-01T00:00:00Z' };
    expect((await own(GROUPS, { body: { group: { id: 'mine' }, jobs: jobs(1, later) } })).body.groupId).toBe(
      'mine',
    );
    await server.send(GROUPS, {
      key: KEYS.shop,
      body: { group: { id: 'mine', weight: 2 }, jobs: jobs(2, later) },
    });
    expect((await own(`${GROUPS}/mine`)).body).toMatchObject({
      id: 'mine',
      tenant: 'acme',
      tenantId: 'acme',
    });
    expect((await own(`${GROUPS}/acme%2Fmine/jobs/j0`)).body.groupId).toBe('mine');
    for (const path of ['shop%2Fmine', '%2Fg1', 'shop%2Fmine/jobs', 'shop%2Fmine/jobs/j0/explain'])
      expect(await own(`${GROUPS}/${path}`), path).toMatchObject({
        status: 404,
        body: { code: 'GROUP_NOT_FOUND' },
      });
    const foreign = { id: 'shop/new' };
    expect(await own(GROUPS, { body: { group: foreign } })).toMatchObject({ status: 404 });
    expect(await own(GROUPS, { body: { group: { id: 'x', tenant: 'shop' } } })).toMatchObject({
      status: 400,
    });
    // Another's share, or a share more.
    for (const tenantId of ['shop', 'acme-2'])
      expect(await own(GROUPS, { body: { group: { id: 'x', tenantId } } })).toMatchObject({ status: 400 });
    expect((await own(`${GROUPS}/x`)).status).toBe(404);
    expect((await own(GROUPS)).body.items).toMatchObject([{ id: 'mine' }]);
    expect(await own(`${GROUPS}?tenant=shop`)).toMatchObject({ status: 400 });
    expect((await own('/api/bulk/tenants/acme')).body).toMatchObject({ id: 'acme', pending: 1 });
    expect(await own('/api/bulk/tenants/shop')).toMatchObject({
      status: 404,
      body: { code: 'TENANT_NOT_FOUND' },
    });
    expect((await own('/api/bulk/fairness')).body).toMatchObject({
      tenants: [{ id: 'acme' }],
      groups: [{ groupId: 'mine', tenantId: 'acme' }],
    });
    expect((await own('/api/bulk/fairness?tenantId=shop')).status).toBe(404);
    for (const path of ['queues', 'congestion'])
      expect(await own(`/api/bulk/${path}`)).toMatchObject({ status: 403, body: { code: 'TENANT_REFUSED' } });
    expect((await patch('/api/bulk/tenants/acme', { weight: 9 }, KEYS.acme)).status).toBe(403);
    expect((await patch(`${GROUPS}/mine`, { weight: 9 }, KEYS.acme)).body).toMatchObject({ weight: 9 });
    expect((await patch(`${GROUPS}/acme%2Fmine`, { weight: 9 }, KEYS.reader)).status).toBe(403);
  });
});
