import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '@millrace/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { type CapturedOptions, runCaptured } from './captured.js';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

/** A server at a free port that answers as it is told. */
async function answering(listener: RequestListener): Promise<string> {
  const started = createServer(listener).listen(0, '127.0.0.1');
  server = started;
  await new Promise((resolve) => started.once('listening', resolve));
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}`;
}

const problem =
  (status: number, code: string, more: object = {}): RequestListener =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/problem+json' });
    response.end(JSON.stringify({ status, code, detail: `It is ${code}.`, title: '', type: '', ...more }));
  };

const run = async (args: readonly string[], options?: CapturedOptions) => {
  const { exitCode, out, err } = runCaptured(['groups', 'list', ...args], options);
  return { exitCode: await exitCode, out: out(), err: err() };
};

describe('a command that asks a server', () => {
  it('says what to do when there is none', async () => {
    const { exitCode, out, err } = await run(['--url', 'http://127.0.0.1:1']);
    expect({ exitCode, out }).toEqual({ exitCode: 1, out: '' });
    expect(err).toMatch(
      /^No server answers at http:\/\/127\.0\.0\.1:1: .+\. Start one with `millrace start`, or name another with --url or MILLRACE_URL\n$/,
    );
  });

  it('finds the server and the key in its flags, else in the environment', async () => {
    const seen: unknown[] = [];
    const url = await answering(({ headers }, response) => {
      seen.push(headers.authorization);
      response.end('{ "items": [], "cursor": null }');
    });
    const env = { MILLRACE_URL: `${url}/`, MILLRACE_API_KEY: 'of-env' };
    expect(await run([], { env })).toMatchObject({
      exitCode: 0,
      out: '',
      err: 'There are no such groups.\n',
    });
    await run(['--api-key', 'of-flag'], { env });
    await run(['--url', url], { env: { MILLRACE_URL: 'http://127.0.0.1:1' } });
    expect(seen).toEqual(['Bearer of-env', 'Bearer of-flag', undefined]);
  });

  it('refuses an address that is none, or that holds a password, without showing it', async () => {
    expect(await run(['--url', 'localhost:3000'])).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining('must be an http or https address'),
    });
    const { exitCode, err } = await run(['--url', 'http://me:planted-secret@127.0.0.1:1']);
    expect(exitCode).toBe(2);
    expect(err).toContain('MILLRACE_API_KEY');
    expect(err).not.toContain('planted-secret');
  });

  it('tells why the server refuses: 1 when it could not, 2 when it was asked for something wrong', async () => {
    const errors = [
      { field: 'limit', message: 'is too large' },
      { field: 'status', message: 'is not known' },
    ];
    const url = await answering(problem(400, 'REQUEST_INVALID', { errors }));
    expect(await run(['--url', url])).toEqual({
      exitCode: 2,
      out: '',
      err: 'It is REQUEST_INVALID. (REQUEST_INVALID)\n  limit: is too large\n  status: is not known\n',
    });
  });

  it('says where a key goes', async () => {
    const url = await answering(problem(401, 'UNAUTHENTICATED'));
    expect(await run(['--url', url])).toMatchObject({
      exitCode: 1,
      err: 'It is UNAUTHENTICATED. (UNAUTHENTICATED)\nThe key is what MILLRACE_API_KEY holds, or --api-key.\n',
    });
  });

  it('refuses to list nothing, before it asks', async () => {
    expect(await run(['--url', 'http://127.0.0.1:1', '--limit', '0'])).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining('It must be a whole number from 1.'),
    });
  });

  it('keeps its key to itself and its terminal clean when a server sends both back', async () => {
    const env = { MILLRACE_API_KEY: 'planted-secret-of-the-command' };
    const detail = `\u001b[2J${env.MILLRACE_API_KEY}`;
    const url = await answering(problem(404, 'GROUP_NOT_FOUND', { detail }));
    const { err } = await run(['--url', url], { env });
    expect(err).not.toContain('planted-secret');
    expect(err).toContain('\\u001b[2J');
  });

  it('ends with 130 when it is interrupted while a server hangs', async () => {
    let asked = false;
    const url = await answering(() => {
      asked = true;
    });
    const { events, exitCode, out, err } = runCaptured(['groups', 'list', '--url', url]);
    await until(() => asked, { what: 'the request' });
    events.emit('SIGINT');
    expect(await exitCode).toBe(130);
    expect(out() + err()).toBe('');
    expect(events.listenerCount('SIGINT')).toBe(0);
  });

  it('prints the body of the API as JSON', async () => {
    const body = { items: [], cursor: 'next' };
    const url = await answering((_request, response) => response.end(JSON.stringify(body)));
    const { out, err } = await run(['--url', url, '--json']);
    expect(JSON.parse(out)).toEqual(body);
    expect(err).toBe('');
    expect((await run(['--url', url])).err).toContain("--cursor 'next'");
  });
});
