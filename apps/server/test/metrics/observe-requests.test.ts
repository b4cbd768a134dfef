import { systemClock } from '@millrace/foundation';
import { latch, recordingLogger, until } from '@millrace/testkit';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { observeRequests } from '../../src/http/observe-requests.js';
import type { MeasuredRequest } from '../../src/metrics/server-metrics.js';

describe('observeRequests', () => {
  const noted: MeasuredRequest[] = [];
  const { log, lines } = recordingLogger();
  let fastify: FastifyInstance;
  let url: string;
  let isAsked = latch('asked');

  beforeAll(async () => {
    fastify = Fastify({ forceCloseConnections: true });
    const metrics = { noteRequest: (request: MeasuredRequest) => void noted.push(request) };
    observeRequests(fastify, { metrics, log, clock: systemClock });
    fastify.addHook('onRequest', async ({ headers }) => {
      if (headers['x-refuse']) throw Object.assign(new Error('refused'), { statusCode: 403 });
    });
    fastify.get('/health/live', async () => 'well');
    fastify.get('/health/ready', (_, reply) => reply.status(503).send('not well'));
    fastify.get('/metrics', () => {
      isAsked.open();
      return new Promise(() => {});
    });
    fastify.get('/api/events', (_, reply) => {
      reply.hijack();
      reply.raw.writeHead(200).write('a');
    });
    url = await fastify.listen({ port: 0 });
  });
  afterAll(() => fastify.close());
  beforeEach(() => {
    noted.length = 0;
    isAsked = latch('asked');
  });

  const one = () => until(() => noted[0], { what: 'a request that is noted' });

  it('notes what was answered, and what another hook refused', async () => {
    await fetch(`${url}/health/live?secret=1`);
    expect(await one()).toMatchObject({ method: 'GET', route: 'getLive', status: 200, isStream: false });
    noted.length = 0;
    await fetch(`${url}/health/live`, { headers: { 'x-refuse': 'yes' } });
    expect(await one()).toMatchObject({ route: 'getLive', status: 403 });
  });

  it('notes what is no route without its path', async () => {
    await fetch(`${url}/secret`);
    expect(await one()).toMatchObject({ route: undefined, status: 404 });
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  it('warns of what failed', async () => {
    await fetch(`${url}/health/ready`);
    await one();
    expect(lines.at(-1)).toMatchObject({
      level: 'warn',
      fields: { method: 'GET', route: 'getReady', status: 503 },
    });
  });

  it('notes a caller that went before the answer', async () => {
    const leave = new AbortController();
    const asked = fetch(`${url}/metrics`, { signal: leave.signal }).catch(() => 'left');
    await isAsked.wait();
    leave.abort();
    expect(await asked).toBe('left');
    expect(await one()).toMatchObject({ route: 'getMetrics', status: 499, isStream: false });
  });

  it('notes a stream that its client ends as answered', async () => {
    const leave = new AbortController();
    const { status } = await fetch(`${url}/api/events`, { signal: leave.signal });
    expect(status).toBe(200);
    leave.abort();
    expect(await one()).toMatchObject({ route: 'watchChanges', status: 200, isStream: true });
  });
});
