import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { App } from '../src/define-app.js';
import { serve, type TestServer } from './serve.js';

describe('a server that has started', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await serve();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('lives and is ready', async () => {
    expect(await server.send('/health/live')).toMatchObject({ status: 200, body: { ok: true } });
    const { status, body } = await server.send('/health/ready');
    expect(status).toBe(200);
    expect(body.checks).toContainEqual({ name: 'database', ok: true, message: null, since: null });
  });

  it('tells a caller who it is', async () => {
    const { body } = await server.send('/api/caller');
    expect(body).toMatchObject({ name: 'local', role: 'admin', tenant: null, embedded: false });
  });

  it('answers what it does not know, and what it cannot read, with a problem', async () => {
    for (const [path, status] of [
      ['/nothing', 404],
      ['/%E0%A4%A', 400],
    ] as const) {
      const answer = await server.send(path);
      expect(answer.status).toBe(status);
      expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
      expect(answer.body).toMatchObject({ status, retryable: false });
    }
  });
});

it.each([
  ['parts alone', { processors: [] }],
  ['a function', () => ({})],
  ['null', null],
])('a server does not start with %s, which defineApp has not made', async (_, given) => {
  // Nobody is there: it is refused before anything is opened.
  const databaseUrl = 'postgres://127.0.0.1:1/none';
  const started = serve({ application: given as unknown as App, databaseUrl, startWaitMs: 1 });
  await expect(started).rejects.toMatchObject({
    code: 'APP_INVALID',
    message: 'The application given cannot be used: it must be made by defineApp(…)',
  });
});
