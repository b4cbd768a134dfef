import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { latch, until } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { defineApp } from '../../src/define-app.js';
import { serve, type TestServer } from '../serve.js';

const READING = 180;
const STALLED = 20;
const WORDS = 50;
/** Together far more than what the system itself keeps of a connection: without a limit it would all be here. */
const CHUNK = 'x'.repeat(65_536);
const CHUNKS = 200;
const MIB = 2 ** 20;

/** Opens when all clients are there. */
const everybody = latch('everybody is there');

const APP = defineApp({
  chat: {
    async *processEnqueuedTurn({ message, signal }) {
      await everybody.promise;
      const token = message === 'much' ? CHUNK : 'word ';
      for (let n = 0; n < (message === 'much' ? CHUNKS : WORDS) && !signal.aborted; n++) yield token;
    },
  },
});

it('200 clients of streams, 20 of which do not read: those are dropped, the others get everything, memory stays bounded', async () => {
  await using server = await serve({
    application: APP,
    limits: { streamStallMs: 1_000, requestsPerSecond: 0 },
    chat: { streamMaxChunks: 64, streamStallMs: 500, textCharactersMax: CHUNKS * CHUNK.length },
  });
  const much = await turn(server, 'much');
  const little = await turn(server, 'little');
  let peak = 0;
  const before = process.memoryUsage.rss();
  const sampling = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 20);
  const stalled = await Promise.all(Array.from({ length: STALLED }, () => stalledClient(server, much)));
  try {
    const reading = Array.from({ length: READING }, () => readAll(server, little));
    await until(async () => (await metric(server, 'sse_clients')) === READING + STALLED, {
      what: 'all clients to be there',
      deadlineMs: 15_000,
      intervalMs: 50,
    });
    everybody.open();
    const texts = await Promise.all(reading);
    expect(texts.map((text) => text.match(/^event: token$/gm)?.length)).toEqual(Array(READING).fill(WORDS));
    expect(texts.every((text) => /\nevent: done\n/.test(text))).toBe(true);
    await until(async () => (await metric(server, 'sse_clients_dropped_total')) === STALLED, {
      what: 'those that do not read to be dropped',
      deadlineMs: 15_000,
      intervalMs: 100,
    });
    expect(await metric(server, 'sse_clients')).toBe(0);
  } finally {
    clearInterval(sampling);
    for (const socket of stalled) socket.destroy();
  }
  // What would be here if all that they did not read were kept: 250 MiB.
  expect((peak - before) / MIB).toBeLessThan(120);
});

async function turn(server: TestServer, message: string): Promise<string> {
  await server.send('/api/chat/sessions', { body: { session_id: message } });
  const { body } = await server.send(`/api/chat/sessions/${message}/queue`, { body: { message } });
  return `/api/chat/sessions/${message}/tasks/${body.task_id}/stream`;
}

async function stalledClient(server: TestServer, path: string): Promise<Socket> {
  const { port } = new URL(server.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`);
  return socket;
}

const readAll = async (server: TestServer, path: string): Promise<string> =>
  (await fetch(server.url + path)).text();

async function metric(server: TestServer, name: string): Promise<number> {
  const { body } = await server.send('/metrics');
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(String(body))?.[1]);
}
