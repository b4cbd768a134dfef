import { type AddressInfo, createServer } from 'node:net';
import { latch, ManualClock, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { HttpRequestProcessor, type HttpRequestProcessorOptions } from '../../src/processors/index.js';
import { startWebServer } from './http-server.js';
import { failureOf, tryJob } from './try-job.js';

/** A port that nobody listens on: only the system's own services may. */
const NOBODY = 'http://127.0.0.1:1/';
const caller = (options: HttpRequestProcessorOptions = {}, clock = new ManualClock()) =>
  new HttpRequestProcessor({ allowedAddresses: ['127.0.0.1'], ...options }, { env: {}, clock });

describe('bulk-action BA-17: HTTP_REQUEST calls an address for a job', () => {
  it('bulk-action BA-17: sends what the payload says, with the idempotency key, and keeps the answer', async () => {
    await using server = await startWebServer((response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'set-cookie': ['a=1', 'b=2'] });
      response.end('{"id":7}');
    });
    await using http = caller();
    const payload = {
      method: 'post',
      url: `${server.origin}/orders?x=1`,
      headers: { Authorization: 'Bearer t', 'X-Trace': 'abc' },
      body: { item: 'ü', n: [1, null] },
    };
    expect(await tryJob(http, payload, { key: 'acme/orders:42' })).toStrictEqual({
      status: 201,
      body: '{"id":7}',
      truncated: false,
      contentType: 'application/json',
    });
    const [request] = server.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/orders?x=1' });
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'idempotency-key': 'acme/orders:42',
      authorization: 'Bearer t',
      'x-trace': 'abc',
    });
    expect(JSON.parse(String(request?.body))).toEqual({ item: 'ü', n: [1, null] });
  });

  it('bulk-action BA-17: a text goes as it is, a bare address is a GET, and a key of the payload wins', async () => {
    await using server = await startWebServer();
    await using http = caller();
    expect(await tryJob(http, { url: server.origin })).toMatchObject({ status: 200, body: 'ok' });
    const headers = { 'Content-Type': 'text/csv', 'Idempotency-Key': 'mine' };
    await tryJob(http, { method: 'PUT', url: `${server.origin}/t`, headers, body: 'a;b' });
    const [bare, text] = server.requests;
    expect(bare).toMatchObject({ method: 'GET', path: '/' });
    expect(bare?.headers['content-type']).toBeUndefined();
    expect(bare?.headers['user-agent']).toBe('millrace');
    expect(String(text?.body)).toBe('a;b');
    expect(text?.headers).toMatchObject({ 'content-type': 'text/csv', 'idempotency-key': 'mine' });
  });

  it('bulk-action BA-17: calls nobody once it is closed, whether or not it had called somebody', async () => {
    await using server = await startWebServer();
    for (const calls of [0, 1]) {
      const http = caller();
      for (let n = 0; n < calls; n++) await tryJob(http, { url: server.origin });
      await http.close();
      expect(await failureOf(tryJob(http, { url: server.origin }))).toMatchObject({ code: 'CALL_FAILED' });
    }
    expect(server.requests).toHaveLength(1);
  });

  it('bulk-action BA-17: refused, tried again, or congestion, by status', async () => {
    let status = 0;
    await using server = await startWebServer((response) => response.writeHead(status).end('no\n luck'));
    await using http = caller();
    const expected = {
      RATE_LIMITED: [429, 503],
      CALL_FAILED: [408, 425, 500, 501, 502, 504, 507],
      CALL_REFUSED: [300, 304, 400, 401, 403, 404, 405, 409, 410, 413, 418, 422, 451],
    };
    for (const [code, statuses] of Object.entries(expected)) {
      for (status of statuses) {
        const failure = await failureOf(tryJob(http, { method: 'POST', url: server.origin }), status);
        expect(failure).toMatchObject({ code, retryable: code !== 'CALL_REFUSED' });
        expect(failure.message).toContain(`answered ${status}`);
        expect(failure.message).toContain(`127.0.0.1:${server.port}`);
        if (status !== 304) expect(failure.message).toContain('no luck');
        expect(failure.retryAfterMs).toBeUndefined();
      }
    }
  });

  it('bulk-action BA-3: Retry-After, in seconds or as a date, is how long the service is left alone', async () => {
    const now = Date.UTC(2026, 4, 1, 12);
    const answers: [string, number | undefined][] = [
      ['7', 7000],
      ['0', 0],
      ['Fri, 01 May 2026 12:00:30 GMT', 30_000],
      ['Fri, 01 May 2026 11:59:30 GMT', 0],
      ['Fri, 01 May 2099 12:00:00 GMT', 86_400_000],
      ['9'.repeat(500), 86_400_000],
      ['-5', undefined],
      ['1.5', undefined],
      ['soon', undefined],
      ['2026', 2_026_000],
      ['2026-05-01', undefined],
      ['Fri, 99 May 2026 99:99:99 GMT', undefined],
    ];
    let retryAfter = '';
    let status = 429;
    await using server = await startWebServer((response) =>
      response.writeHead(status, { 'retry-after': retryAfter }).end(),
    );
    await using http = caller({}, new ManualClock({ now }));
    for (status of [429, 503]) {
      for (const [header, ms] of answers) {
        retryAfter = header;
        const failure = await failureOf(tryJob(http, { url: server.origin }), header);
        expect(failure.code).toBe('RATE_LIMITED');
        expect(failure.retryAfterMs, header).toBe(ms);
      }
    }
    [status, retryAfter] = [500, '9'];
    expect(await failureOf(tryJob(http, { url: server.origin }))).toMatchObject({
      code: 'CALL_FAILED',
      retryAfterMs: 9000,
    });
  });
});

describe('bulk-action BA-17: HTTP_REQUEST and services that misbehave', () => {
  it('bulk-action BA-17: no answer, a broken one and nonsense are tried again', async () => {
    await using http = caller();
    expect(await failureOf(tryJob(http, { url: NOBODY }))).toMatchObject({
      code: 'CALL_FAILED',
      retryable: true,
    });
    await using breaking = await startWebServer((response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('part');
      response.socket?.end();
    });
    expect(await failureOf(tryJob(http, { url: breaking.origin }))).toMatchObject({ code: 'CALL_FAILED' });
    const mad = createServer((socket) =>
      socket
        .on('error', () => {})
        .resume()
        .end('SSH-2.0-OpenSSH_9.0\r\n'),
    );
    await new Promise<void>((resolve) => mad.listen(0, '127.0.0.1', resolve));
    const { port } = mad.address() as AddressInfo;
    expect(await failureOf(tryJob(http, { url: `http://127.0.0.1:${port}` }))).toMatchObject({
      code: 'CALL_FAILED',
    });
    await new Promise((resolve) => mad.close(resolve));
  });

  it('bulk-action BA-17: an endless answer is cut and its connection ended', async () => {
    await using server = await startWebServer((response) => {
      const more = () => {
        while (!response.destroyed && response.write('ä'.repeat(1000)));
      };
      response.on('drain', more);
      more();
    });
    await using http = caller({ bodyBytesMax: 5001 });
    const result = await tryJob(http, { url: server.origin });
    // The last character was cut in two and is left out.
    expect(result).toMatchObject({ status: 200, body: 'ä'.repeat(2500), truncated: true });
    await until(() => server.open === 0, { what: 'the connection to end' });
  });

  it('bulk-action BA-17: an aborted try ends the request', async () => {
    const arrived = latch('the request has arrived');
    await using server = await startWebServer(() => arrived.open());
    await using http = caller();
    const controller = new AbortController();
    const attempt = failureOf(tryJob(http, { url: server.origin }, { signal: controller.signal }));
    await arrived.wait();
    controller.abort(new Error('timed out'));
    expect((await attempt).message).toBe('timed out');
    await until(() => server.open === 0, { what: 'the connection to end' });
    const late = failureOf(tryJob(http, { url: server.origin }, { signal: controller.signal }));
    expect((await late).message).toBe('timed out');
    expect(server.requests).toHaveLength(1);
  });

  it('bulk-action BA-17: a closed processor leaves no connection', async () => {
    await using server = await startWebServer();
    const http = caller();
    await tryJob(http, { url: server.origin });
    expect(server.open).toBe(1);
    await http.close();
    await until(() => server.open === 0, { what: 'the connection to end' });
  });
});

describe('bulk-action BA-17: HTTP_REQUEST with hostile fields', () => {
  it('bulk-action BA-17: refuses them by name before anything is called', async () => {
    await using server = await startWebServer();
    await using http = caller();
    const url = server.origin;
    const hostile: [field: string, payload: unknown][] = [
      ['value', null],
      ['value', 'http://example.com'],
      ['url', {}],
      ['url', { url: '/path' }],
      ['url', { url: 'not an address' }],
      ['url', { url: ['http://example.com'] }],
      ['url', { url: `${url}/${'x'.repeat(8000)}` }],
      ['method', { url, method: 'CONNECT' }],
      ['method', { url, method: 'TRACE' }],
      ['method', { url, method: 'GET / HTTP/1.1\r\nX: y\r\n\r\nGET' }],
      ['method', { url, method: 7 }],
      ['headers', { url, headers: [] }],
      ['headers', { url, headers: { 'bad name': 'x' } }],
      ['headers', { url, headers: { 'x\r\ny': 'x' } }],
      ['headers', { url, headers: { '': 'x' } }],
      ['headers', { url, headers: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`x-${n}`, ''])) }],
      ['headers.x-a', { url, headers: { 'x-a': 'b\r\nx-c: d' } }],
      ['headers.x-a', { url, headers: { 'x-a': 'b\0' } }],
      ['headers.x-a', { url, headers: { 'x-a': 'ü' } }],
      ['headers.x-a', { url, headers: { 'x-a': 7 } }],
      ['headers.x-a', { url, headers: { 'x-a': 'y'.repeat(8001) } }],
      ['headers.X-A', { url, headers: { 'x-a': '1', 'X-A': '2' } }],
      ['body', { url, body: 'x' }],
      ['body', { url, method: 'HEAD', body: {} }],
    ];
    for (const name of [
      'Host',
      'connection',
      'Content-Length',
      'Transfer-Encoding',
      'upgrade',
      'TE',
      'Proxy-Authorization',
      'Expect',
    ])
      hostile.push([`headers.${name}`, { url, method: 'POST', headers: { [name]: 'x' } }]);
    for (const [field, payload] of hostile) {
      const failure = await failureOf(tryJob(http, payload), payload);
      expect(failure, JSON.stringify(payload)).toMatchObject({ code: 'FIELD_INVALID', retryable: false });
      expect(failure.message).toContain(`The payload's ${field} must be `);
      expect(failure.message.length).toBeLessThan(600);
    }
    const secret = await failureOf(tryJob(http, { url, headers: { authorization: 'Bearer s3cret\n' } }));
    expect(secret.message).not.toContain('s3cret');
    expect(await failureOf(tryJob(http, { url, proxy: 'x' }))).toMatchObject({ code: 'FIELD_UNKNOWN' });
    expect(server.connections).toBe(0);
  });
});
