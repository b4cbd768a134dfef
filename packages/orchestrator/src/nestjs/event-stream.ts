import { Readable } from 'node:stream';
import { type Clock, TIMED_OUT, withDeadline } from '@millrace/foundation';
import type { Operation } from '../model.js';
import type { OpId } from '../op-id.js';
import type { Operations, TenantScope } from '../operations.js';
import { isTerminal } from '../states.js';
import { operationBody } from './bodies.js';

/** Interval of comments on a silent stream. Proxies close silent connections, usually after 60 s. */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = ': alive\n\n';

/** Large events are sent in pieces, so that the server can distinguish a slow client from one that has stopped reading. */
const PIECE_BYTES = 65_536;

/** Dependencies of an event stream. */
export interface EventStreamEnvironment {
  readonly operations: Pick<Operations, 'changes'>;
  readonly clock: Clock;
}

/**
 * Opens the events of an operation as text: `start`, each `change`, `end`. A slow client delays only its own stream.
 * @param options - `signal` aborts when the client has disconnected.
 * @throws MillraceError `OPERATION_NOT_FOUND`, before the stream begins.
 */
export async function openEventStream(
  { operations, clock }: EventStreamEnvironment,
  opId: OpId,
  options: TenantScope & { readonly signal: AbortSignal },
): Promise<Readable> {
  const { signal } = options;
  const changes = operations.changes(opId, options);
  const first = await changes.next();
  const stream = Readable.from(first.done ? [] : piecesOf(eventTexts(first.value, changes, clock)), {
    objectMode: false,
  });
  // The signal also ends the wait for the next change. A destroyed stream would not close before that.
  const destroy = () => void stream.destroy();
  if (signal.aborted) destroy();
  else signal.addEventListener('abort', destroy, { once: true });
  return stream;
}

async function* eventTexts(
  first: Operation,
  changes: AsyncGenerator<Operation, void, undefined>,
  clock: Clock,
): AsyncGenerator<string, void, undefined> {
  yield eventText('start', first);
  if (isTerminal(first.state)) yield eventText('end', first);
  let next = changes.next();
  for (;;) {
    const change = await withDeadline(clock, KEEP_ALIVE_MS, next);
    if (change === TIMED_OUT) {
      yield KEEP_ALIVE;
      continue;
    }
    if (change.done) return;
    yield eventText(isTerminal(change.value.state) ? 'end' : 'change', change.value);
    next = changes.next();
  }
}

async function* piecesOf(texts: AsyncIterable<string>): AsyncGenerator<Buffer, void, undefined> {
  for await (const text of texts) {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
  }
}

const eventText = (event: 'start' | 'change' | 'end', operation: Operation): string =>
  `event: ${event}\ndata: ${JSON.stringify(operationBody(operation))}\n\n`;
