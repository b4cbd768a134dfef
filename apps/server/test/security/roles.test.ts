import { type HttpRoute, PATHS, type RouteId } from '@millrace/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serve, type TestServer } from '../serve.js';
import { FIXTURE_APP } from './fixture-app.js';
import { ALL_ROUTES, addressOf, NOBODYS, SAMPLES } from './samples.js';
import { API_KEYS, SECRETS } from './test-keys.js';

/** Whoever may do these may do anything. */
const ADMIN: readonly RouteId[] = [
  ...(['changeTenant', 'scalePool', 'applyDag', 'setSchedule', 'removeSchedule'] as const),
  ...(['listAudit', 'startDemo', 'stopDemo'] as const),
];
/** What needs no key. */
const PUBLIC: readonly RouteId[] = ['getLive', 'getReady', 'getDocs', 'getOpenApi'];

/** As the specification says it, not as the table does. */
function neededOf({ id, method }: HttpRoute): 'none' | 'read' | 'operate' | 'admin' {
  if (PUBLIC.some((open) => id.startsWith(open))) return 'none';
  if (ADMIN.includes(id)) return 'admin';
  return method === 'GET' ? 'read' : 'operate';
}

describe('keys and roles', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await serve({ apiKeys: API_KEYS, application: FIXTURE_APP });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** What the gate says; streams are not read to their end. */
  async function statusOf({ id, method }: HttpRoute, key?: string): Promise<number> {
    const controller = new AbortController();
    const { body } = SAMPLES[id](NOBODYS);
    const response = await fetch(server.url + addressOf(id, NOBODYS), {
      method,
      signal: controller.signal,
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    controller.abort();
    return response.status;
  }

  it('every route of the table is served, and every path has a row', () => {
    expect(ALL_ROUTES.map(({ id }) => id).toSorted()).toEqual(Object.keys(PATHS).toSorted());
  });

  it.each(ALL_ROUTES.map((route) => [route.id, route] as const))('%s asks for its role', async (_, route) => {
    const needed = neededOf(route);
    expect(route.role).toBe(needed);
    const order = ['none', 'read', 'operate', 'admin'];
    const callers = [
      ['none', undefined],
      ['read', SECRETS.read],
      ['operate', SECRETS.operate],
    ] as const;
    // Whoever may is let in by other tests: what would happen then is not undone here.
    for (const [role, key] of callers) {
      if (order.indexOf(role) >= order.indexOf(needed)) continue;
      expect(await statusOf(route, key)).toBe(role === 'none' ? 401 : 403);
    }
    if (route.method === 'GET' && needed !== 'none')
      expect(await statusOf(route, SECRETS.admin)).not.toSatisfy(
        (status) => status === 401 || status === 403,
      );
    expect(await statusOf(route, 'not-the-secret-of-any-key-at-all')).toBe(401);
  });

  it('a refusal is a problem, says what is missing, and nothing of the body is read for it', async () => {
    const missing = await server.send('/api/bulk/groups');
    expect(missing.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(missing.body).toMatchObject({ code: 'UNAUTHENTICATED', status: 401 });
    expect(missing.body.detail).toMatch(/^An API key is needed/);
    // Whatever is wrong with a key, the answer is the same: nobody learns from it.
    const wrong = [`reader:read:${SECRETS.read}`, 'not-the-secret-of-any-key-at-all', `${SECRETS.read}x`];
    const answers = await Promise.all(wrong.map((key) => server.send('/api/bulk/groups', { key })));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(answers[0]?.body).toMatchObject({
      ...{ code: 'UNAUTHENTICATED', status: 401 },
      detail: expect.stringMatching(/^This API key is not known: send its secret alone/),
    });
    const broken = await server.send('/api/bulk/groups', { key: SECRETS.read, body: '{"not json' });
    expect(broken.body).toMatchObject({ code: 'FORBIDDEN', status: 403 });
    expect(broken.body.detail).toMatch(/operate.*reader.*read/);
  });
});
