import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serve, type TestServer } from '../serve.js';
import { FIXTURE_APP } from './fixture-app.js';
import { API_KEYS, SECRETS } from './test-keys.js';

describe('limits', () => {
  let server: TestServer;
  beforeAll(async () => {
    const limits = { requestsPerSecond: 20, streamsMax: 3, jobsPerRequest: 5 };
    server = await serve({ apiKeys: API_KEYS, application: FIXTURE_APP, limits });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('requests of one key beyond the limit are answered 429 with Retry-After, those of others are not held up', async () => {
    const flood = await Promise.all(
      Array.from({ length: 60 }, () => server.send('/api/caller', { key: SECRETS.read })),
    );
    const refused = flood.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(20);
    expect(refused[0]?.body).toMatchObject({ code: 'TOO_MANY_REQUESTS', retryable: true });
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect((await server.send('/api/caller', { key: SECRETS.operate })).status).toBe(200);
    expect((await server.send('/health/ready')).status).toBe(200);
    await until(async () => (await server.send('/api/caller', { key: SECRETS.read })).status === 200, {
      what: 'the key to be let in again',
      intervalMs: 200,
    });
  });

  it('streams beyond the limit are answered 429; a place is free again when a client has gone', async () => {
    const controllers = Array.from({ length: 3 }, () => new AbortController());
    const open = (signal?: AbortSignal) =>
      fetch(`${server.url}/api/events`, {
        headers: { authorization: `Bearer ${SECRETS.admin}` },
        ...(signal && { signal }),
      });
    for (const { signal } of controllers) expect((await open(signal)).status).toBe(200);
    const refused = await open();
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ code: 'STREAMS_FULL' });
    controllers[0]?.abort();
    const again = new AbortController();
    await until(async () => (await open(again.signal)).status === 200, {
      what: 'a place to be free',
      intervalMs: 200,
    });
    for (const controller of [...controllers, again]) controller.abort();
  });

  it('more jobs than one request may have are answered 413, and nothing is stored', async () => {
    const jobs = Array.from({ length: 6 }, () => ({ processorType: 'fixture.ok' }));
    const body = { group: { id: 'many' }, jobs };
    const answer = await server.send('/api/bulk/groups', { key: SECRETS.operate, body });
    expect(answer).toMatchObject({ status: 413, body: { code: 'JOBS_TOO_MANY' } });
    expect((await server.send('/api/bulk/groups/many', { key: SECRETS.operate })).status).toBe(404);
  });

  it('pages larger than allowed are refused', async () => {
    const answer = await server.send('/api/bulk/groups?limit=100000', { key: SECRETS.operate });
    expect(answer).toMatchObject({ status: 400, body: { code: 'REQUEST_INVALID' } });
  });
});
