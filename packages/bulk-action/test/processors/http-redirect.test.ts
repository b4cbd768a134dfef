import { describe, expect, it } from 'vitest';
import { HttpRequestProcessor, type HttpRequestProcessorOptions } from '../../src/processors/index.js';
import { redirected } from '../../src/processors/redirect.js';
import { startNameServer } from './dns-server.js';
import { type Answer, startWebServer } from './http-server.js';
import { failureOf, tryJob } from './try-job.js';

const caller = (options: HttpRequestProcessorOptions = {}) =>
  new HttpRequestProcessor({ allowedAddresses: ['127.0.0.1'], ...options }, { env: {} });
const REFUSED = { code: 'ADDRESS_REFUSED', retryable: false };

/** `/to?status=302&url=…` leads there, everything else answers its path. */
const leading: Answer = (response, { path }) => {
  const { pathname, searchParams } = new URL(path, 'http://x');
  if (pathname !== '/to') return void response.end(path);
  const location = searchParams.get('url');
  response.writeHead(Number(searchParams.get('status') ?? 302), location === null ? {} : { location }).end();
};
const to = (origin: string, url: string, status = 302) =>
  `${origin}/to?status=${status}&url=${encodeURIComponent(url)}`;

describe('bulk-action BA-17: HTTP_REQUEST and redirects', () => {
  it('bulk-action BA-17: a redirect to what may not be called is refused, wherever it stands in the chain', async () => {
    await using server = await startWebServer(leading);
    await using secret = await startWebServer(undefined, { host: '127.0.0.2', port: server.port });
    await using names = await startNameServer(() => ['127.0.0.2']);
    const options = { allowedAddresses: ['127.0.0.1'] };
    await using http = new HttpRequestProcessor(options, { env: {}, resolve: names.resolve });
    const forbidden = [
      `${secret.origin}/`,
      `http://inside.test:${server.port}/`,
      'http://[::1]/',
      'file:///etc/passwd',
    ];
    forbidden.push(
      'http://169.254.169.254/latest/meta-data',
      `//127.0.0.2:${server.port}/`,
      'ftp://127.0.0.1/',
    );
    forbidden.push(`http://user:pw@127.0.0.1:${server.port}/`);
    for (const url of forbidden) {
      const direct = to(server.origin, url);
      for (const start of [direct, to(server.origin, direct, 307)])
        expect(await failureOf(tryJob(http, { url: start }), start), start).toMatchObject(REFUSED);
    }
    expect(secret.connections).toBe(0);
  });

  it('bulk-action BA-17: the list of hosts holds after a redirect too', async () => {
    await using names = await startNameServer(() => ['127.0.0.1']);
    await using server = await startWebServer(leading);
    const options = { allowedAddresses: ['127.0.0.1'], allowedHosts: ['a.test', 'b.test'] };
    await using http = new HttpRequestProcessor(options, { env: {}, resolve: names.resolve });
    const [a, b, c] = ['a', 'b', 'c'].map((name) => `http://${name}.test:${server.port}`) as [
      string,
      string,
      string,
    ];
    expect(await tryJob(http, { url: to(a, `${b}/there`) })).toMatchObject({ body: '/there' });
    expect(await failureOf(tryJob(http, { url: to(a, `${c}/there`) }))).toMatchObject(REFUSED);
  });

  it('bulk-action BA-17: method and body follow the rules of each status', async () => {
    await using server = await startWebServer(leading);
    await using http = caller();
    const cases: [status: number, method: string, arrives: string][] = [
      [301, 'POST', 'GET'],
      [302, 'POST', 'GET'],
      [303, 'POST', 'GET'],
      [303, 'PUT', 'GET'],
      [301, 'PUT', 'PUT'],
      [302, 'DELETE', 'DELETE'],
      [307, 'POST', 'POST'],
      [308, 'PATCH', 'PATCH'],
    ];
    for (const [status, method, arrives] of cases) {
      await tryJob(http, { url: to(server.origin, '/end', status), method, body: { a: 1 } }, { key: 'k' });
      const last = server.requests.at(-1);
      expect(last).toMatchObject({ path: '/end', method: arrives });
      const keeps = arrives === method;
      expect(String(last?.body), `${status} ${method}`).toBe(keeps ? '{"a":1}' : '');
      expect(last?.headers['content-type']).toBe(keeps ? 'application/json' : undefined);
      expect(last?.headers['idempotency-key']).toBe('k');
    }
  });

  it('bulk-action BA-17: secrets do not go to another origin', async () => {
    await using server = await startWebServer(leading);
    await using other = await startWebServer();
    await using http = caller();
    const headers = {
      Authorization: 'secret',
      Cookie: 'secret',
      'X-Api-Key': 'secret',
      Accept: 'text/plain',
    };
    await tryJob(http, { url: to(server.origin, '/end', 307), headers });
    expect(server.requests.at(-1)?.headers).toMatchObject({ authorization: 'secret', 'x-api-key': 'secret' });
    await tryJob(http, { url: to(server.origin, `${other.origin}/end`, 307), headers });
    expect(other.requests[0]?.headers).toMatchObject({ accept: 'text/plain' });
    expect(JSON.stringify(other.requests[0]?.headers)).not.toContain('secret');
  });

  it('bulk-action BA-17: redirects are counted, and one that leads nowhere is final', async () => {
    let left = Number.POSITIVE_INFINITY;
    await using server = await startWebServer((response) => {
      if (left-- > 0) response.writeHead(302, { location: '/again' }).end();
      else response.end('there');
    });
    await using http = caller({ redirectsMax: 3 });
    const loop = await failureOf(tryJob(http, { url: server.origin }));
    expect(loop).toMatchObject({ code: 'CALL_REFUSED', retryable: false });
    expect(loop.message).toContain('more than 3 redirects');
    expect(server.requests).toHaveLength(4);
    left = 3;
    expect(await tryJob(http, { url: server.origin })).toMatchObject({ body: 'there' });
    left = 1;
    await using none = caller({ redirectsMax: 0 });
    expect(await failureOf(tryJob(none, { url: server.origin }))).toMatchObject({ code: 'CALL_REFUSED' });
    await using lost = await startWebServer((response, { path }) =>
      response.writeHead(302, path === '/bad' ? { location: 'http://[' } : {}).end(),
    );
    for (const path of ['/none', '/bad'])
      expect(await failureOf(tryJob(http, { url: lost.origin + path }))).toMatchObject({
        code: 'CALL_REFUSED',
      });
  });

  it('bulk-action BA-17: another port is another origin, and nothing leads from https to http', () => {
    const call = { method: 'GET', url: new URL('https://a.test/x'), headers: { authorization: 'secret' } };
    const answer = { status: 302, body: '', truncated: false };
    const next = (location: string) => redirected(call, { ...answer, headers: { location } });
    expect(next('http://a.test/x')).toBeUndefined();
    expect(next('file:///etc/passwd')).toBeUndefined();
    expect(next('https://a.test:444/x')?.headers).toEqual({});
    expect(next('https://b.test/x')?.headers).toEqual({});
    expect(next('y')).toMatchObject({
      url: new URL('https://a.test/y'),
      headers: { authorization: 'secret' },
    });
  });
});
