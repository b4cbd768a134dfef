import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterEach, describe, expect, it } from 'vitest';
import { createServerClient, ProblemError } from '../../src/server-client/index.js';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly key: string | undefined;
  readonly idempotencyKey: string | string[] | undefined;
  readonly body: string;
}

let server: Server | undefined;
afterEach(() => void server?.close());

/** A server that answers each request with the next status, and keeps what it saw. */
async function answering(...statuses: number[]) {
  const seen: Seen[] = [];
  server = createServer(async (request, response) => {
    const { method, url, headers } = request;
    const body = await textOf(request);
    seen.push({ method, url, key: headers.authorization, idempotencyKey: headers['idempotency-key'], body });
    const status = statuses.shift() ?? 200;
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' });
    response.end(JSON.stringify({ n: seen.length, status, code: 'SOME_CODE', detail: 'no' }));
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { seen, client: createServerClient({ baseUrl: `http://127.0.0.1:${port}/`, apiKey: 'k' }) };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

describe('the client of a server', () => {
  it('fills ids into paths so that no id can leave its place', async () => {
    const { client, seen } = await answering();
    await client.call('cancelOperation', { params: { opId: 'a/../b?c' } });
    expect(seen).toMatchObject([
      { method: 'DELETE', url: '/api/operations/a%2F..%2Fb%3Fc', key: 'Bearer k' },
    ]);
  });

  it('writes queries without what is not given', async () => {
    const { client, seen } = await answering();
    await client.call('listOperations', { query: { state: 'FAILED', limit: 3, cursor: undefined } });
    expect(seen[0]?.url).toBe('/api/operations?state=FAILED&limit=3');
  });

  it('sends again after a refusal for now, and throws what is refused for good', async () => {
    const { client, seen } = await answering(503, 200);
    expect(await client.call('getCaller', {})).toMatchObject({ n: 2 });
    expect(seen).toHaveLength(2);
    const refusing = await answering(403);
    const refused = refusing.client.call('getCaller', {});
    await expect(refused).rejects.toBeInstanceOf(ProblemError);
    await expect(refused).rejects.toMatchObject({ code: 'SOME_CODE' });
    expect(refusing.seen).toHaveLength(1);
  });

  it.each([
    ['startBatch', { body: { dag: 'd', bizKey: 'k', ifEnded: 'rerun' } }, 1],
    ['startBatch', { body: { dag: 'd', bizKey: 'k' } }, 2],
    ['retryBatchTask', { params: { batchId: '1', taskKey: 't' } }, 1],
    ['retryBatch', { params: { batchId: '1' } }, 2],
    ['createChatSession', { body: {} }, 1],
    ['createChatSession', { body: { session_id: 's' } }, 2],
    ['queueChatMessage', { params: { sessionId: 's' }, body: { content: 'hello' } }, 1],
    ['redriveDeadLetters', { body: { all: true } }, 1],
    ['purgeDeadLetters', { body: { all: true } }, 1],
    ['removeSchedule', { params: { name: 'nightly' } }, 1],
  ] as const)(
    'sends again what does nothing twice: %s with %j is sent %i times',
    async (id, request, times) => {
      const { client, seen } = await answering(503, 200);
      await client.call(id, request as never).catch((error) => {
        if (error.status !== 503) throw error;
      });
      expect(seen).toHaveLength(times);
    },
  );

  it('holds no zod and nothing of Node', async () => {
    const entry = fileURLToPath(new URL('../../src/server-client/index.ts', import.meta.url));
    const { metafile, outputFiles } = await build({
      entryPoints: [entry],
      bundle: true,
      minify: true,
      write: false,
      metafile: true,
      format: 'esm',
      platform: 'browser',
    });
    expect(Object.keys(metafile.inputs).filter((path) => /zod|routes\.ts|operations\.ts/.test(path))).toEqual(
      [],
    );
    expect(outputFiles[0]?.contents.length).toBeLessThan(10_000);
  });
});
