import { onAbort } from '../abort.js';

/** A signal, and how to let go of those it follows. */
export interface FollowingSignal {
  readonly signal: AbortSignal | undefined;
  release(): void;
}

/**
 * Aborts with the first of two signals. Not AbortSignal.any: on Node 20 what it makes stays as long as the signals do, and this is one for each call.
 * @param one - may be absent, as the other.
 * @param other - most calls have one of them at most, and get that one itself.
 */
export function eitherOf(one: AbortSignal | undefined, other: AbortSignal | undefined): FollowingSignal {
  if (!one || !other || one === other) return { signal: one ?? other, release: () => {} };
  const controller = new AbortController();
  const follow = (signal: AbortSignal) => {
    const end = () => controller.abort(signal.reason);
    if (!signal.aborted) return onAbort(signal, end);
    end();
    return () => {};
  };
  const ends = [follow(one), follow(other)];
  return {
    signal: controller.signal,
    release() {
      for (const end of ends) end();
    },
  };
}
