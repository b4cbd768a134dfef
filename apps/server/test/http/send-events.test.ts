import { connect, type Socket } from 'node:net';
import { latch, ManualClock, recordingLogger, until } from '@millrace/testkit';
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type SentEvent, sendEvents } from '../../src/http/send-events.js';
import { Streams } from '../../src/http/streams.js';
import { listen } from '../chat/sse.js';

const STALL_MS = 30_000;

describe('a stream of events', () => {
  let server: FastifyInstance;
  let url: string;
  let clock: ManualClock;
  let streams: Streams;
  let reply: FastifyReply;
  let source: (signal: AbortSignal) => AsyncIterable<SentEvent>;
  const { log, lines } = recordingLogger();

  beforeEach(async () => {
    lines.length = 0;
    clock = new ManualClock();
    streams = new Streams({ streamsMax: 10, streamsPerKey: 10, streamStallMs: STALL_MS }, clock);
    server = fastify({ forceCloseConnections: true });
    server.get('/', async (_, given) => {
      reply = given;
      streams.enter(given);
      await sendEvents(given, (signal) => source(signal), { clock, log });
    });
    url = await server.listen({ port: 0, host: '127.0.0.1' });
  });
  afterEach(async () => {
    streams.stop();
    await server.close();
  });

  /** A client that takes nothing until it is told to. */
  const silentClient = async (): Promise<Socket> => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    return socket;
  };

  /** Events of one size, without end; `given` counts them. */
  const flood = (size: number) => {
    const state = { given: 0, ended: latch<void>('the source has ended') };
    source = async function* () {
      try {
        for (; ; state.given++) yield { event: 'flood', data: 'x'.repeat(size) };
      } finally {
        state.ended.open();
      }
    };
    return state;
  };
  const isHeldUp = () => reply?.raw.writableLength > 0 && reply.raw.socket?.writableLength !== 0;

  it('holds one piece of one event for a client that does not read, and drops it', async () => {
    const state = flood(500_000);
    const socket = await silentClient();
    // The system buffers some; then nothing more is taken from the source.
    await until(isHeldUp, { what: 'the client holds the stream up' });
    await clock.advance(STALL_MS / 2);
    expect(streams.dropped).toBe(0);
    let held = 0;
    const dropped = async () => {
      held = Math.max(held, reply.raw.writableLength);
      await clock.advance(STALL_MS / 4);
      return streams.dropped === 1;
    };
    await until(dropped, { what: 'the client is dropped' });
    await state.ended.wait();
    expect(held).toBeLessThan(70_000);
    expect(state.given).toBeLessThan(60);
    expect(streams.size).toBe(0);
    expect(lines).toEqual([]);
    socket.destroy();
  });

  it('keeps a client that reads slowly, also when all events are of one size', async () => {
    const state = flood(60_000);
    const socket = await silentClient();
    await until(isHeldUp, { what: 'the client holds the stream up' });
    let read = 0;
    socket.on('data', (bytes) => {
      read += bytes.length;
      // Enough for the system to take the next event.
      if (read > 8_000_000) socket.pause();
    });
    for (let round = 0; round < 6; round++) {
      const { given } = state;
      read = 0;
      socket.resume();
      await until(() => state.given > given && read > 8_000_000 && isHeldUp(), { what: 'an event is taken' });
      await clock.advance(STALL_MS / 2);
    }
    expect(streams.dropped).toBe(0);
    socket.destroy();
    await state.ended.wait();
  });

  it('is open before there is an event, and gives a sign of life now and then', async () => {
    const go = latch<void>('the event comes');
    source = async function* () {
      await go.promise;
      yield { id: 7, event: 'late', data: { text: 'a\nb' } };
    };
    const response = await fetch(url);
    expect(response.status).toBe(200);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const text = async () => new TextDecoder().decode((await reader.read()).value);
    expect(await text()).toBe(': open\n\n');
    await until(() => clock.pendingTimers > 1, { what: 'it waits for the source' });
    await clock.advance(15_000);
    expect(await text()).toBe(': alive\n\n');
    go.open();
    expect(await text()).toBe('id: 7\nevent: late\ndata: {"text":"a\\nb"}\n\n');
    expect(await reader.read()).toMatchObject({ done: true });
  });

  it('tells the source when the client has gone', async () => {
    const gone = latch<void>('the source was told');
    source = async function* (signal) {
      signal.addEventListener('abort', () => gone.open());
      yield { event: 'one', data: 1 };
      await gone.promise;
      throw new Error('ended by its signal');
    };
    const stream = await listen(url);
    expect(await stream.next()).toEqual({ event: 'one', data: 1 });
    stream.leave();
    await gone.wait();
    await until(() => streams.size === 0, { what: 'it is not counted any more' });
    expect(lines).toEqual([]);
  });

  it('ends with the server, whether or not there are events', async () => {
    const gone = latch<void>('the source was told');
    source = async function* (signal) {
      signal.addEventListener('abort', () => gone.open());
      yield { event: 'one', data: 1 };
      await gone.promise;
    };
    const stream = await listen(url);
    await stream.next();
    streams.end();
    expect(await stream.rest()).toEqual([]);
    await gone.wait();
  });

  it('cuts the client off when the source fails, and says so in the log', async () => {
    source = async function* () {
      yield { event: 'one', data: undefined };
      throw new Error('broken');
    };
    const stream = await listen(url);
    expect(await stream.next()).toEqual({ event: 'one', data: null });
    await expect(stream.rest()).rejects.toThrow();
    expect(lines).toMatchObject([{ level: 'error', message: 'A stream of events failed' }]);
  });

  it('answers as any request does when there is no source', async () => {
    source = () => {
      throw Object.assign(new Error('there is none'), { statusCode: 404 });
    };
    const response = await fetch(url);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ message: 'there is none' });
  });
});
