/** Milliseconds that only grow. */
export const monotonicMs = (): number => performance.now();

/**
 * Waits.
 * @param ms - how long.
 * @param signal - ends the wait; it rejects with the signal's reason.
 */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, ms);
    if (signal?.aborted) end();
    else signal?.addEventListener('abort', end, { once: true });
  });
}

/** Aborts a call that takes too long, or whose caller does not want it any more. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Begins the time anew. */
  renew(): void;
  /** Stops the time until it is begun anew; the caller's signal is still heard. */
  hold(): void;
  /** Ends it; must be called, or the timer stays. */
  clear(): void;
}

/**
 * Makes a deadline.
 * @param caller - the caller's own signal.
 */
export function deadline(ms: number, caller?: AbortSignal): Deadline {
  const controller = new AbortController();
  const onAbort = () => controller.abort(caller?.reason);
  if (caller?.aborted) onAbort();
  else caller?.addEventListener('abort', onAbort, { once: true });
  const late = () => controller.abort(new DOMException(`No answer within ${ms} ms`, 'TimeoutError'));
  let timer = setTimeout(late, ms);
  return {
    signal: controller.signal,
    renew() {
      clearTimeout(timer);
      timer = setTimeout(late, ms);
    },
    hold: () => clearTimeout(timer),
    clear() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', onAbort);
    },
  };
}

/** A key that nobody else has. By getRandomValues: pages without https have no randomUUID. */
export const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );
