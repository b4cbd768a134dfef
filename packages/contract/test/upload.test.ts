import type { RequestListener } from 'node:http';
import { collectGarbage, latch } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { piecesLeft, streamOf } from '../src/client/http.js';
import { type ClientOptions, createServerClient } from '../src/client/server-client.js';
import { json, listen, problem, startServer } from './server.js';

const clientOf = async (answer: RequestListener, options: Partial<ClientOptions> = {}) =>
  createServerClient({ baseUrl: await listen(answer), ...options });

it('uploads lines unchanged, with an idempotency key', async () => {
  const { url, seen } = await startServer((response) => json(response, 201, {}));
  const client = createServerClient({ baseUrl: url, apiKey: 'k' });
  const lines = ['{"id":"g"}\n', new TextEncoder().encode('{"id":"ä"}'), '\n'];
  await client.upload('submitGroup', { query: { seal: 'false' } }, lines, { idempotencyKey: 'mine' });
  await client.upload('addJobs', { params: { groupId: 'a/b' } }, []);
  expect(seen).toMatchObject([
    {
      method: 'POST',
      url: '/api/bulk/groups?seal=false',
      headers: {
        'content-type': 'application/x-ndjson',
        authorization: 'Bearer k',
        'idempotency-key': 'mine',
      },
      body: '{"id":"g"}\n{"id":"ä"}\n',
    },
    {
      url: '/api/bulk/groups/a%2Fb/jobs',
      headers: { 'idempotency-key': expect.stringMatching(/^[0-9a-f]{32}$/) },
    },
  ]);
});

it('reads a piece of an upload only when the one before it has been sent, and none after an abort', async () => {
  const begun = latch('the server has the head of the request');
  const client = await clientOf((request) => {
    begun.open();
    // The body stays in the buffers of the two sockets.
    request.pause();
  });
  let made = 0;
  const left = latch('no more lines are read');
  async function* lines() {
    try {
      // Finite, so that the test fails and does not hang if the client reads on after the abort.
      for (; made < 1_000; made++) yield new Uint8Array(1_048_576);
    } finally {
      left.open();
    }
  }
  const stopped = new AbortController();
  const sent = client.upload('submitGroup', {}, lines(), { signal: stopped.signal });
  await begun.wait();
  stopped.abort(new Error('enough'));
  await expect(sent).rejects.toThrow('enough');
  await left.wait();
  expect(made).toBeLessThan(50);
});

it('keeps nothing of an upload that it has sent', async () => {
  const client = await clientOf((request, response) => {
    request.resume().on('end', () => json(response, 201, {}));
  });
  const referredTo = () => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  const before = referredTo();
  const kept: number[] = [];
  async function* lines() {
    for (let n = 1; n <= 1_024; n++) {
      yield new Uint8Array(65_536);
      if (n % 256 === 0) kept.push(referredTo() - before);
    }
  }
  await client.upload('submitGroup', {}, lines());
  // Of 64 MiB; a few are on their way.
  expect(Math.max(...kept)).toBeLessThan(8 * 1_048_576);
});

it('sends an upload once, even if a busy server refuses it in the middle; the other lines are not read', async () => {
  let requests = 0;
  const client = await clientOf((request, response) => {
    requests += 1;
    request.once('data', () => {
      request.resume();
      problem(response, 503, 'BACKEND_UNAVAILABLE', { 'retry-after': '0' });
    });
  });
  const left = latch('no more lines are read');
  async function* lines() {
    try {
      for (let n = 0; n < 100_000; n++) yield '{"a":1}\n'.repeat(1_000);
    } finally {
      left.open();
    }
  }
  const refused = client.upload('submitGroup', {}, lines());
  await expect(refused).rejects.toMatchObject({ name: 'ProblemError', code: 'BACKEND_UNAVAILABLE' });
  await left.wait();
  expect(requests).toBe(1);
});

it('waits for slow lines, but not for a silent server', async () => {
  const steps: string[] = [];
  const limit = { hold: () => void steps.push('hold'), renew: () => void steps.push('renew') };
  async function* lines() {
    steps.push('first');
    yield 'a';
    steps.push('second');
    yield 'b';
  }
  expect(await new Response(streamOf(piecesLeft(lines()), limit)).text()).toBe('ab');
  expect(steps).toEqual(['hold', 'first', 'renew', 'hold', 'second', 'renew', 'hold', 'renew']);
  const client = await clientOf((request) => void request.resume(), { timeoutMs: 20 });
  const sent = client.upload('submitGroup', {}, ['a\n']);
  await expect(sent).rejects.toMatchObject({ name: 'TimeoutError' });
});

it('fails with the error of the lines of an upload', async () => {
  const client = await clientOf((request) => void request.resume());
  async function* lines() {
    yield 'a\n';
    throw new Error('the disk is gone');
  }
  const failed = client.upload('submitGroup', {}, lines());
  await expect(failed).rejects.toThrow();
  expect(String(await failed.catch((error) => error.cause ?? error))).toContain('the disk is gone');
});
