import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { defineRoutes, inline } from '@millrace/orchestrator';
import { latch, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { defineApp } from '../../src/define-app.js';
import { listen } from '../chat/sse.js';
import { serve, type TestServer } from '../serve.js';

const MIB = 2 ** 20;
/** Sent twice, as start and as end: more than the system itself keeps of a connection. */
const LARGE = 8 * MIB;

const mayEnd = latch('the slow operation may end');
const application = defineApp({
  routes: defineRoutes({
    'TEST.LARGE': inline(() => 'x'.repeat(LARGE)),
    'TEST.SLOW': inline(() => mayEnd.promise),
  }),
});

const start = async (server: TestServer, eventType: string): Promise<string> => {
  const body = { domain: 'TEST', eventType, bizKey: 'k', idemKey: eventType, payload: {}, timeBudgetMs: 50 };
  const { body: answer } = await server.send('/api/operations', { body });
  return `/api/operations/${answer.opId}`;
};

const metric = async (server: TestServer, name: string): Promise<number> => {
  const { body } = await server.send('/metrics');
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(String(body))?.[1]);
};

async function silentClient(server: TestServer, path: string): Promise<Socket> {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`);
  return socket;
}

describe('streams of operations', () => {
  it('are counted with all others, dropped when they stall, and ended with the server', async () => {
    await using server = await serve({
      application,
      limits: { streamsMax: 1, streamStallMs: 1_000 },
      orchestrator: { outcomeBytesMax: 2 * LARGE },
    });
    const large = await start(server, 'LARGE');
    const { body } = await server.send(`${large}/status?wait=5`);
    expect(body.state).toBe('COMPLETED');
    const socket = await silentClient(server, `${large}/events`);
    await until(async () => (await metric(server, 'sse_clients_dropped_total')) === 1, {
      what: 'the client that does not read to be dropped',
      deadlineMs: 15_000,
      intervalMs: 100,
    });
    socket.destroy();
    expect(await metric(server, 'sse_clients')).toBe(0);

    const slow = await start(server, 'SLOW');
    const stream = await listen(`${server.url}${slow}/events`);
    expect(await stream.next()).toMatchObject({ event: 'start' });
    expect(await metric(server, 'sse_clients')).toBe(1);
    expect(await server.send(`${slow}/events`)).toMatchObject({
      status: 429,
      body: { code: 'STREAMS_FULL' },
    });
    const closed = server.close();
    // An end and no cut, although its operation goes on.
    expect((await stream.rest()).map(({ event }) => event)).not.toContain('end');
    mayEnd.open();
    await closed;
    expect(server.lines.filter((line) => /"level":"?(50|60|error|fatal)/.test(line))).toEqual([]);
  });
});
