import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Received, serve, type TestServer } from '../serve.js';
import { FIXTURE_APP } from './fixture-app.js';
import { ALL_ROUTES, addressOf, NOBODYS, SAMPLES } from './samples.js';

const isPlainObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

describe('what a hostile caller sends', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await serve({ application: FIXTURE_APP, limits: { bodyBytesMax: 10_000 } });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** An error as every caller may see it: a problem, without anything of what is inside. */
  function expectProblem({ status, headers, body }: Received, expected: number): void {
    expect(status).toBe(expected);
    expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(body).toMatchObject({ status: expected, code: expect.any(String), detail: expect.any(String) });
    expect(JSON.stringify(body)).not.toMatch(/node_modules|\.[jt]s:\d+|at \w+ \(|apps\/server/);
  }

  it.each(ALL_ROUTES.filter(({ body }) => body).map(({ id }) => [id]))(
    '%s refuses a field that it does not know',
    async (id) => {
      const { body } = SAMPLES[id](NOBODYS);
      const route = ALL_ROUTES.find((one) => one.id === id);
      const surprising = { ...(isPlainObject(body) ? body : {}), surprise: 1 };
      const answer = await server.send(addressOf(id, NOBODYS), { method: route?.method, body: surprising });
      expectProblem(answer, 400);
      expect(JSON.stringify(answer.body.errors ?? answer.body.detail)).toContain('surprise');
    },
  );

  it.each(ALL_ROUTES.filter(({ query }) => query).map(({ id }) => [id]))(
    '%s refuses a parameter that it does not know',
    async (id) => {
      const route = ALL_ROUTES.find((one) => one.id === id);
      const { body } = SAMPLES[id](NOBODYS);
      const answer = await server.send(`${addressOf(id, NOBODYS)}?surprise=1`, {
        method: route?.method,
        body,
      });
      expectProblem(answer, 400);
    },
  );

  it.each([
    ['no JSON', '{"group":'],
    ['nothing', ''],
    ['a prototype', '{"group":{"id":"x"},"__proto__":{"admin":true}}'],
    ['a constructor', '{"group":{"id":"x"},"constructor":{"prototype":{"admin":true}}}'],
    ['another shape', '[1,2,3]'],
    ['null', 'null'],
    ['half of a pair of surrogates in an id', '{"group":{"id":"\\ud800"},"jobs":[]}'],
    ['an id of another kind', '{"group":{"id":{"toString":1}},"jobs":[]}'],
    ['a number that is none', '{"group":{"id":"x","weight":1e999},"jobs":[]}'],
    ['ten thousand levels', `{"group":{"id":"x"},"jobs":${'['.repeat(4_000)}${']'.repeat(4_000)}}`],
  ])('%s as a body is refused as the caller’s mistake', async (_, body) => {
    expectProblem(await server.send('/api/bulk/groups', { method: 'POST', body }), 400);
  });

  it('a body over the limit is refused, by its length or while it comes', async () => {
    const body = JSON.stringify({ group: { id: 'x' }, jobs: [], padding: 'x'.repeat(10_000) });
    expectProblem(await server.send('/api/bulk/groups', { body }), 413);
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'image/png',
  ])('a body of type %s is none that we read: a web page could send it without asking', async (type) => {
    const answer = await server.send('/api/bulk/groups', { body: '{}', headers: { 'content-type': type } });
    expectProblem(answer, 415);
  });

  it('ids that cannot be are refused or unknown, never an error of ours', async () => {
    for (const id of [
      '%00',
      '..%2F..%2Fetc',
      'a%2Fb%2Fc',
      '%F0%9F%92%A9',
      'x'.repeat(1_500),
      '%2F',
      '__proto__',
      '-1',
    ])
      for (const path of ['/api/bulk/groups/', '/api/batches/', '/api/operations/', '/api/chat/sessions/']) {
        const suffix = path === '/api/operations/' ? '/status' : '';
        const { status } = await server.send(path + id + suffix);
        expect([400, 404]).toContain(status);
      }
  });

  it('what is no HTTP, or has too long a head, is answered with a problem and the connection is closed', async () => {
    expect(await raw('NONSENSE\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [\s\S]*application\/problem\+json/);
    const long = `GET /health/live HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`;
    expect(await raw(long)).toMatch(/^HTTP\/1\.1 431 [\s\S]*application\/problem\+json/);
  });

  function raw(text: string): Promise<string> {
    const { port } = new URL(server.url);
    return new Promise((resolve, reject) => {
      let answer = '';
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(text));
      socket.on('data', (chunk) => {
        answer += chunk;
      });
      socket.on('error', reject);
      socket.on('close', () => resolve(answer));
    });
  }

  it('every answer forbids scripts and frames from anywhere else', async () => {
    for (const path of ['/health/live', '/nothing', '/api/docs', '/api/bulk/groups']) {
      const { headers } = await server.send(path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toMatch(/default-src 'none'/);
      expect(policy).toMatch(/frame-ancestors 'none'/);
      expect(policy).not.toMatch(/unsafe|\*/);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('access-control-allow-origin')).toBeNull();
      expect(headers.get('x-powered-by')).toBeNull();
    }
  });
});
