import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { type Clock, type Logger, TIMED_OUT, withDeadline } from '@millrace/foundation';
import type { FastifyReply } from 'fastify';

/** One event of a stream. */
export interface SentEvent {
  readonly event: string;
  /** Anything JSON can carry. */
  readonly data: unknown;
  /** What a client that comes back says in `Last-Event-ID`. */
  readonly id?: string | number | undefined;
}

/** What a stream of events works with. */
export interface SendEventsEnvironment {
  readonly clock: Clock;
  readonly log: Logger;
}

/** A comment every so often: proxies close connections that say nothing, usually after 60 s. */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = ': alive\n\n';
/** Sent at once: a client knows that it is heard before there is any event. */
const OPENED = ': open\n\n';

/** A large event goes in pieces: a slow client that takes them is not one that has stopped. */
const PIECE_BYTES = 65_536;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // Or nginx keeps events until its buffer is full.
  'x-accel-buffering': 'no',
} as const;

/**
 * Answers a request with server-sent events, until their source ends or the client goes. An event is taken from the source when
 * the system has taken the one before: a slow client holds one event here and no more, and one that does not read at all is
 * seen by `Streams`, since nothing is added to what waits for it.
 * @param reply - of a route with `streams: true`; injected without `passthrough`.
 * @param open - gives the source. Its signal aborts when the client has gone; the source must end then. What it throws before
 * it has given one is answered as a problem.
 * @throws what `open` throws.
 */
export async function sendEvents(
  reply: FastifyReply,
  open: (signal: AbortSignal) => AsyncIterable<SentEvent> | Promise<AsyncIterable<SentEvent>>,
  { clock, log }: SendEventsEnvironment,
): Promise<void> {
  const { raw } = reply;
  const gone = new AbortController();
  if (raw.destroyed) gone.abort();
  else raw.once('close', () => gone.abort());
  const events = (await open(gone.signal))[Symbol.asyncIterator]();
  reply.headers(HEADERS).hijack();
  try {
    if (!raw.destroyed && !raw.headersSent) raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
    await writeAll(raw, events, clock);
    raw.end();
  } catch (error) {
    // Cut off, so that the client comes back: an end would say that there is no more.
    raw.destroy();
    if (!gone.signal.aborted)
      log.error({ err: error, path: reply.request.routeOptions.url }, 'A stream of events failed');
  } finally {
    // Not awaited: a source that is asleep answers when it wakes.
    events.return?.()?.catch(() => {});
  }
}

async function writeAll(raw: ServerResponse, events: AsyncIterator<SentEvent>, clock: Clock): Promise<void> {
  if (!(await written(raw, OPENED))) return;
  let next = events.next();
  for (;;) {
    const step = await withDeadline(clock, KEEP_ALIVE_MS, next);
    if (step !== TIMED_OUT && step.done) return;
    if (!(await written(raw, step === TIMED_OUT ? KEEP_ALIVE : eventText(step.value)))) return;
    if (step !== TIMED_OUT) next = events.next();
  }
}

/** Writes a text and waits until the system has taken it; false when there is nobody to write to. */
async function written(raw: ServerResponse, text: string): Promise<boolean> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    if (!(await taken(raw, bytes.subarray(at, at + PIECE_BYTES)))) return false;
  return true;
}

function taken(raw: ServerResponse, piece: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    // Ended by Streams: to write would be an error that nobody listens to.
    if (raw.destroyed || raw.writableEnded) {
      resolve(false);
      return;
    }
    const close = () => resolve(false);
    raw.once('close', close);
    raw.write(piece, (error) => {
      raw.off('close', close);
      resolve(!error);
    });
  });
}

const eventText = ({ event, data, id }: SentEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data ?? null)}\n\n`;
