import type { Readable } from 'node:stream';
import type { Clock } from '@millrace/foundation';

/** How long the rest of a body that is not wanted is read, so that its sender comes to read the answer. */
const DISCARD_MS = 5_000;

/** A body that ended before it was complete: its sender has gone, or has fallen silent. */
export class BodyCutOff extends Error {
  override readonly name = 'BodyCutOff';
}

/**
 * The pieces of a body. The stream outlives the reading: with it the connection would go, and nobody could be answered.
 * @param options - `stallMs`: a sender that is silent for so long is cut off; the clock that times it.
 * @throws BodyCutOff.
 */
export async function* bodyChunks(
  body: Readable,
  { stallMs, clock }: { readonly stallMs: number; readonly clock: Clock },
): AsyncGenerator<Buffer> {
  const stalled = () => body.destroy(new BodyCutOff(`its sender was silent for ${stallMs} ms`));
  let cancel = clock.setTimer(stallMs, stalled, { unref: true });
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      cancel();
      yield chunk as Buffer;
      cancel = clock.setTimer(stallMs, stalled, { unref: true });
    }
  } catch (error) {
    throw error instanceof BodyCutOff ? error : new BodyCutOff('its sender has gone', { cause: error });
  } finally {
    cancel();
  }
}

/**
 * Reads what is left of a body and forgets it, for a while; then the connection is closed.
 * @param body - of a request that is answered before all of it was read.
 */
export function discardRest(body: Readable, clock: Clock): void {
  if (body.destroyed || body.readableEnded) return;
  const cancel = clock.setTimer(DISCARD_MS, () => body.destroy(), { unref: true });
  body.once('close', cancel);
  // Whoever sent it may go away now; that is no news.
  body.on('error', () => {});
  body.resume();
}
