import type { Deadline } from '../system/timing.js';

/** A body that is made while it is sent: texts and bytes, in order. */
export type BodyPieces = AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;

/**
 * A body as `fetch` takes it. Each piece is asked for when the one before it has gone, and none is kept.
 * @param pieces - left when nobody wants the rest.
 * @param limit - of the server's silence: it does not run while a piece is waited for, which is not the server's fault.
 */
export function streamOf(
  pieces: BodyPieces,
  limit: Pick<Deadline, 'hold' | 'renew'>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const left = (async function* () {
    yield* pieces;
  })();
  return new ReadableStream(
    {
      async pull(controller) {
        limit.hold();
        const { done, value } = await left.next();
        limit.renew();
        if (done) controller.close();
        else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value);
      },
      // Not awaited: a source that hangs must not hold up who reads the answer.
      cancel: () => void left.return().catch(() => {}),
    },
    { highWaterMark: 0 },
  );
}
