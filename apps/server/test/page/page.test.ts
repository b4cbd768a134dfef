import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VIEWS } from '@millrace/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serve, type TestServer } from '../serve.js';

const SECRET = 'a-secret-of-more-than-24-characters';
const HTML = `<!doctype html><title>Millrace</title>${'<p>a page</p>'.repeat(20)}`;
const SCRIPT = 'export const answer = 42;\n'.repeat(100);
const FONT = randomBytes(4_000);
const FOR_EVER = 'public, max-age=31536000, immutable';
const PROBLEM = expect.stringMatching(/^application\/problem\+json/);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'page-test-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** A folder as the build leaves it. */
async function builtPage(name: string): Promise<string> {
  const page = join(folder, name);
  await mkdir(join(page, 'assets'), { recursive: true });
  await writeFile(join(page, 'index.html'), HTML);
  await writeFile(join(page, 'secret.js'), 'no asset');
  await writeFile(join(page, 'assets/main-1a2b.js'), SCRIPT);
  await writeFile(join(page, 'assets/wheel-3c4d.svg'), '<svg/>');
  await writeFile(join(page, 'assets/inter-5e6f.woff2'), FONT);
  await writeFile(join(page, 'assets/main-1a2b.js.map'), '{}');
  return page;
}

/** As it is on the wire: `fetch` tidies paths up and unpacks bodies. */
const raw = (url: string, path: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const asked = httpRequest({ hostname, port, path, method, headers }, async (response) => {
      const body = Buffer.concat(await response.toArray());
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
    });
    asked.on('error', reject).end();
  });

describe('a server with a built page', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await serve({
      apiKeys: `somebody:read:${SECRET}`,
      pageFolder: await builtPage('whole'),
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('answers every view with the page, to anybody, and lets nobody into the API for it', async () => {
    for (const view of Object.values(VIEWS)) {
      const path = view.replaceAll(/\{\w+\}/g, 'acme%2Fone%3Ctwo%3E');
      const { status, headers, body } = await server.send(`${path}?state=FAILED&q=%22`);
      expect(status, path).toBe(200);
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('cache-control')).toBe('no-cache');
      expect(body).toBe(HTML);
    }
    expect(await server.send('/api/bulk/groups')).toMatchObject({ status: 401 });
    expect(await server.send('/api/bulk/groups', { key: SECRET })).toMatchObject({ status: 200 });
  });

  it('allows the page nothing inline and nothing from elsewhere, but its own fonts and requests', async () => {
    const { headers } = await server.send('/');
    const policy = (headers.get('content-security-policy') ?? '').split(';');
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
      ]),
    );
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it.each([
    ['main-1a2b.js', 'text/javascript; charset=utf-8'],
    ['wheel-3c4d.svg', 'image/svg+xml'],
    ['inter-5e6f.woff2', 'font/woff2'],
  ])('sends %s to be kept for ever', async (name, type) => {
    const { status, headers } = await raw(server.url, `/assets/${name}`);
    expect(status).toBe(200);
    expect(headers).toMatchObject({ 'content-type': type, 'cache-control': FOR_EVER });
    expect(headers).not.toHaveProperty('content-encoding');
  });

  it('packs what gets smaller by it, for those who can unpack it', async () => {
    const path = '/assets/main-1a2b.js';
    const gzip = { 'accept-encoding': 'br, gzip;q=0.8' };
    const packed = await raw(server.url, path, gzip);
    expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
    expect(packed.body.length).toBeLessThan(SCRIPT.length / 10);
    expect((await server.send(path)).body).toBe(SCRIPT);
    for (const refusing of ['gzip;q=0', 'gzip; q=0.000', 'br', 'x-gzip', '']) {
      const plain = await raw(server.url, path, { 'accept-encoding': refusing });
      expect(plain.headers).not.toHaveProperty('content-encoding');
      expect(plain.headers).toMatchObject({ vary: 'accept-encoding' });
      expect(plain.body.toString()).toBe(SCRIPT);
      expect(plain.headers.etag).not.toBe(packed.headers.etag);
    }
    const font = await raw(server.url, '/assets/inter-5e6f.woff2', gzip);
    expect(font.headers).not.toHaveProperty('content-encoding');
    expect(font.body.equals(FONT)).toBe(true);
  });

  it.each(['/', '/assets/main-1a2b.js', '/assets/inter-5e6f.woff2'])(
    'sends %s not again to whoever has it',
    async (path) => {
      for (const encoding of ['gzip', 'identity']) {
        const headers = { 'accept-encoding': encoding };
        const { etag } = (await raw(server.url, path, headers)).headers;
        const again = await raw(server.url, path, { ...headers, 'if-none-match': `"other", W/${etag}` });
        expect(again).toMatchObject({ status: 304, headers: { etag } });
        expect(again.body).toHaveLength(0);
        const other = await raw(server.url, path, { ...headers, 'if-none-match': '"other"' });
        expect(other.status).toBe(200);
      }
    },
  );

  it.each([
    ...['/assets/none.js', '/assets/', '/assets', '/assets/main-1a2b.js/', '/assets/main-1a2b.js.map'],
    ...['/assets/..%2f..%2fpackage.json', '/assets/..%2Fsecret.js', '/assets/%2e%2e/secret.js'],
    ...['/assets/../secret.js', '/assets/%2e%2e%2findex.html', '/assets/..%5csecret.js', '/assets/__proto__'],
    ...['/assets/main-1a2b.js%00', '/secret.js', '/index.html', '/page', '/groups/a/b', '/groups/'],
    ...['/apis', '/nothing', '//'],
  ])('has nothing at %s', async (path) => {
    const { status, headers, body } = await raw(server.url, path);
    expect(status).toBe(404);
    expect(headers).toMatchObject({ 'content-type': PROBLEM, 'cache-control': 'no-store' });
    expect(JSON.parse(`${body}`)).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });

  it.each(['/', '/assets/main-1a2b.js'])('serves %s to GET only', async (path) => {
    for (const method of ['HEAD', 'POST', 'DELETE'])
      expect((await raw(server.url, path, {}, method)).status).toBe(404);
  });

  it('counts views as one and files as one, whatever their addresses', async () => {
    const { body } = await server.send('/metrics', { key: SECRET });
    expect(body).toMatch(/^http_requests_total\{.*route="getView".*\} \d+$/m);
    expect(body).toMatch(/^http_requests_total\{.*route="getAsset".*\} \d+$/m);
    expect(body).not.toMatch(/main-1a2b|acme/);
  });
});

describe('a server without a page', () => {
  it('says how to build it, works without it, and finds it when it is there', async () => {
    const pageFolder = join(folder, 'late');
    await using server = await serve({ pageFolder });
    for (const path of ['/', '/groups/a', '/assets/main-1a2b.js']) {
      const { status, headers, body } = await server.send(path);
      expect({ status, type: headers.get('content-type') }).toEqual({ status: 404, type: PROBLEM });
      expect(body).toMatchObject({
        code: 'PAGE_NOT_BUILT',
        detail: expect.stringContaining('npm run build'),
      });
    }
    expect((await server.send('/api/bulk/groups')).status).toBe(200);
    await builtPage('late');
    expect(await server.send('/groups/a')).toMatchObject({ status: 200, body: HTML });
    // What belongs together was read together: a build beside the running server takes nothing away from it.
    await rm(pageFolder, { recursive: true });
    expect(await server.send('/assets/main-1a2b.js')).toMatchObject({ status: 200, body: SCRIPT });
  });
});
