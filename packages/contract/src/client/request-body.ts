import type { Deadline } from '../system/timing.js';

/** A body that is made while it is sent: texts and bytes, in order. */
export type BodyPieces = AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;

/** The pieces that have not been sent yet. */
export type PiecesLeft = AsyncGenerator<string | Uint8Array, void, undefined>;

/**
 * Begins to read the pieces of a body. Whoever does must `return()` it at the end of the request: `fetch` of Node leaves the pieces after an
 * early answer, and after an abort reads on without an end.
 * @param pieces - in order.
 */
export async function* piecesLeft(pieces: BodyPieces): PiecesLeft {
  yield* pieces;
}

/**
 * A body as `fetch` takes it. Each piece is asked for when the one before it has gone, and none is kept.
 * @param limit - of the server's silence: it does not run while a piece is waited for, which is not the server's fault.
 */
export function streamOf(
  left: PiecesLeft,
  limit: Pick<Deadline, 'hold' | 'renew'>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      async pull(controller) {
        limit.hold();
        const { done, value } = await left.next();
        limit.renew();
        if (done) controller.close();
        else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value);
      },
    },
    { highWaterMark: 0 },
  );
}
