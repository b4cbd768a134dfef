import { connect, type Socket } from 'node:net';
import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serve, type TestServer } from '../serve.js';
import { FIXTURE_APP } from './fixture-app.js';
import { API_KEYS, SECRETS } from './test-keys.js';

const PROBLEM = /content-type: application\/problem\+json/i;

/** A server that many share, and one of them who takes its time, or everything there is. */
describe('a caller who holds up the others', () => {
  let server: TestServer;
  beforeAll(async () => {
    const limits = { uploadStallMs: 800, streamStallMs: 800, streamsPerKey: 2, jobsPerRequest: 5 };
    server = await serve({ apiKeys: API_KEYS, application: FIXTURE_APP, limits });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  function open(text: string): { readonly socket: Socket; readonly answer: Promise<string> } {
    let received = '';
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () => socket.write(text));
    const answer = new Promise<string>((resolve) => {
      socket.on('data', (chunk) => {
        received += chunk;
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(received));
    });
    return { socket, answer };
  }
  const post = (path: string, key: string, more = '') =>
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: 99\r\n${more}\r\n{`;

  it('a body that does not come is not waited for', async () => {
    const answer = await open(post('/api/operations', SECRETS.operate)).answer;
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toMatch(PROBLEM);
    expect(answer).toContain('BODY_TIMEOUT');
  });

  it('nor that of a request that was refused, whose connection is closed', async () => {
    const { answer } = open(post('/api/operations', 'not-a-key-of-this-server'));
    expect(await answer).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('the body of a request that nobody serves is not read: anybody could send it', async () => {
    const { socket, answer } = open(
      post('/api/nothing', 'not-a-key-of-this-server', 'connection: close\r\n'),
    );
    const before = performance.now();
    socket.once('data', () => socket.end());
    expect(await answer).toMatch(/^HTTP\/1\.1 404 [\s\S]*"code":"NOT_FOUND"/);
    expect(performance.now() - before).toBeLessThan(800);
  });

  it('an answer that nobody takes is not kept', async () => {
    const request = 'GET /api/docs HTTP/1.1\r\nhost: x\r\n\r\n';
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    let isClosed = false;
    socket.on('error', () => {});
    socket.on('close', () => {
      isClosed = true;
    });
    socket.pause();
    // As many as may be asked for at once: more than the system takes for somebody who does not read.
    socket.write(request.repeat(32));
    await until(
      () => {
        // Whoever does not read learns only by writing that nobody is there; an empty line between requests says nothing.
        if (!isClosed) socket.write('\r\n');
        return isClosed;
      },
      { what: 'the connection to be closed', intervalMs: 100 },
    );
  });

  it('nor are answers made for somebody who asks and asks', async () => {
    const { answer } = open('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(33));
    expect(await answer).toBe('');
  });

  it('a client that goes away is forgotten with all that it asked for, what had to wait for its turn, too', async () => {
    const get = (path: string) =>
      `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${SECRETS.admin}\r\n\r\n`;
    const metric = async (name: string) => {
      const { body } = await server.send('/metrics', { key: SECRETS.admin });
      return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(body)?.[1]);
    };
    const { socket } = open(get('/api/events') + get('/api/events') + get('/api/caller'));
    await until(async () => (await metric('sse_clients')) === 2, { what: 'two streams' });
    socket.destroy();
    await until(async () => (await metric('sse_clients')) === 0, { what: 'no stream' });
    // The question itself.
    await until(async () => (await metric('http_requests_open')) === 1, { what: 'nothing open' });
  });

  it('a sender who goes away in the middle of a body is no failure of ours', async () => {
    const from = server.lines.length;
    const lines = () => server.lines.slice(from).join('');
    const { socket } = open(post('/api/operations', SECRETS.operate, 'expect: 100-continue\r\n'));
    // The server has said that it waits for the body.
    socket.once('data', () => socket.destroy());
    await until(() => lines().includes('"status":499'), { what: 'it to be noted' });
    expect(lines()).not.toContain('failed unexpectedly');
  });

  it('one key cannot take the streams of all', async () => {
    const gone = new AbortController();
    const watch = (key: string) =>
      fetch(`${server.url}/api/events`, {
        headers: { authorization: `Bearer ${key}` },
        signal: gone.signal,
      });
    for (let i = 0; i < 2; i++) expect((await watch(SECRETS.acme)).status).toBe(200);
    const refused = await watch(SECRETS.acme);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await refused.json()).toMatchObject({
      code: 'STREAMS_FULL',
      detail: expect.stringMatching(/streamsPerKey/),
    });
    expect((await watch(SECRETS.rival)).status).toBe(200);
    gone.abort();
  });

  it('jobs are counted before each of them is looked at', async () => {
    const body = `{"group":{"id":"x"},"jobs":[${'1,'.repeat(50_000)}1]}`;
    const answer = await server.send('/api/bulk/groups', { key: SECRETS.operate, body });
    expect(answer).toMatchObject({ status: 413, body: { code: 'JOBS_TOO_MANY' } });
  });

  it('more mistakes than can be told are the caller’s, too', async () => {
    const body = `{"name":"x","tasks":{"a":{"after":[${'1,'.repeat(200_000)}1]}}}`;
    const answer = await server.send('/api/dags', { key: SECRETS.admin, body });
    expect(answer).toMatchObject({ status: 400, body: { code: 'REQUEST_INVALID' } });
  });

  it('lines are for the routes that take them', async () => {
    const headers = { 'content-type': 'application/x-ndjson' };
    for (const path of ['/api/operations', '/api/bulk/groups/x/seal', '/api/demo']) {
      const answer = await server.send(path, { key: SECRETS.admin, body: '{}', headers });
      expect(answer).toMatchObject({ status: 415, body: { code: 'UNSUPPORTED_MEDIA_TYPE' } });
    }
  });

  it('what Node answers by itself elsewhere is a problem here', async () => {
    const noHost = await open('GET /health/live HTTP/1.1\r\nconnection: close\r\n\r\n').answer;
    expect(noHost).toMatch(/^HTTP\/1\.1 400 /);
    expect(noHost).toMatch(PROBLEM);
    const expecting = await open('GET /health/live HTTP/1.1\r\nhost: x\r\nexpect: rain\r\n\r\n').answer;
    expect(expecting).toMatch(/^HTTP\/1\.1 417 /);
    expect(expecting).toMatch(PROBLEM);
  });

  it('nonsense after a request ends the connection, without a second answer inside the first', async () => {
    const { socket, answer } = open(
      `GET /api/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${SECRETS.admin}\r\n\r\n`,
    );
    socket.once('data', () => socket.write('NONSENSE\r\n\r\n'));
    expect((await answer).match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  it('nobody on the way keeps an answer, but for the documents', async () => {
    const control = async (path: string) =>
      (await server.send(path, { key: SECRETS.acme })).headers.get('cache-control');
    for (const path of ['/api/caller', '/api/bulk/groups', '/api/batches', '/api/nothing', '/health/ready'])
      expect(await control(path)).toBe('no-store');
    expect(await control('/openapi.json')).toBe('no-cache');
    const refused = await server.send('/api/caller');
    expect(refused.status).toBe(401);
    expect(refused.headers.get('content-security-policy')).toMatch(/default-src 'none'/);
  });
});
