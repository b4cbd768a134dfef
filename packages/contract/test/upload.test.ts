import type { RequestListener } from 'node:http';
import { collectGarbage, latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { piecesLeft, streamOf } from '../src/client/http.js';
import { type ClientOptions, createServerClient, ProblemError } from '../src/client/server-client.js';
import { json, listen } from './server.js';

const clientOf = async (answer: RequestListener, options: Partial<ClientOptions> = {}) =>
  createServerClient({ baseUrl: await listen(answer), apiKey: 'k', ...options });

describe('an upload', () => {
  it('sends lines as they are, with the key that makes them known when they are sent again', async () => {
    const client = await clientOf(async (request, response) => {
      const { method, url, headers } = request;
      const { authorization } = headers;
      const key = headers['idempotency-key'];
      json(response, 201, {
        method,
        url,
        type: headers['content-type'],
        authorization,
        key,
        body: (await request.toArray()).join(''),
      });
    });
    const lines = ['{"id":"g"}\n', new TextEncoder().encode('{"id":"ä"}'), '\n'];
    const sent = client.upload('submitGroup', { query: { seal: 'false' } }, lines, {
      idempotencyKey: 'mine',
    });
    expect(await sent).toEqual({
      method: 'POST',
      url: '/api/bulk/groups?seal=false',
      type: 'application/x-ndjson',
      authorization: 'Bearer k',
      key: 'mine',
      body: '{"id":"g"}\n{"id":"ä"}\n',
    });
    const added = client.upload('addJobs', { params: { groupId: 'a/b' } }, []);
    expect(await added).toMatchObject({
      url: '/api/bulk/groups/a%2Fb/jobs',
      key: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
  });

  it('asks for the next piece only when the one before it has gone, and for none after an abort', async () => {
    const begun = latch('the server has the head of the request');
    const client = await clientOf((request) => {
      begun.open();
      // Nobody reads: what is sent stays in the buffers of the two sockets.
      request.pause();
    });
    let made = 0;
    const left = latch('nobody asks for more lines');
    async function* lines() {
      try {
        // Ends by itself: what reads on after the abort would never let this test see it.
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

  it('keeps nothing of what it has sent', async () => {
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

  it('is refused once, in the middle, with what is wrong; the lines are left', async () => {
    let requests = 0;
    const client = await clientOf((request, response) => {
      requests += 1;
      request.once('data', () => {
        request.resume();
        json(response, 422, { code: 'LINE_INVALID', status: 422, detail: 'Line 2 cannot be taken' });
      });
    });
    const left = latch('nobody asks for more lines');
    async function* lines() {
      try {
        for (let n = 0; n < 100_000; n++) yield '{"a":1}\n'.repeat(1_000);
      } finally {
        left.open();
      }
    }
    const refused = client.upload('submitGroup', {}, lines());
    await expect(refused).rejects.toBeInstanceOf(ProblemError);
    await expect(refused).rejects.toMatchObject({ code: 'LINE_INVALID' });
    await left.wait();
    expect(requests).toBe(1);
  });

  it('is not sent again by itself when the server is busy: what was read of the lines is gone', async () => {
    let requests = 0;
    const client = await clientOf((request, response) => {
      requests += 1;
      request
        .resume()
        .on('end', () => json(response, 503, { code: 'BACKEND_UNAVAILABLE', status: 503, detail: 'no' }));
    });
    await expect(client.upload('submitGroup', {}, ['{}'])).rejects.toMatchObject({ status: 503 });
    expect(requests).toBe(1);
  });

  it('waits for lines that come late, but not for a server that is silent', async () => {
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

  it('fails with what its lines fail with', async () => {
    const client = await clientOf((request) => void request.resume());
    async function* lines() {
      yield 'a\n';
      throw new Error('the disk is gone');
    }
    const failed = client.upload('submitGroup', {}, lines());
    await expect(failed).rejects.toThrow();
    expect(String(await failed.catch((error) => error.cause ?? error))).toContain('the disk is gone');
  });
});
