/** Milliseconds on a clock that never goes back. */
export const monotonicMs = (): number => performance.now();

/** Waits `ms` milliseconds. Rejects with the reason of `signal` if that aborts first. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Aborts a call that takes too long, or whose caller aborted it. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Starts the time again. */
  renew(): void;
  /** Stops the time until `renew`. The caller can still abort. */
  hold(): void;
  /** Releases the timer. Required when the call has ended. */
  clear(): void;
}

/** Starts a deadline of `ms` milliseconds. `caller` is the signal of the caller. */
export function deadline(ms: number, caller?: AbortSignal): Deadline {
  const controller = new AbortController();
  const onAbort = () => controller.abort(caller?.reason);
  if (caller?.aborted) onAbort();
  else caller?.addEventListener('abort', onAbort, { once: true });
  const expire = () => controller.abort(new DOMException(`No response within ${ms} ms`, 'TimeoutError'));
  let timer = setTimeout(expire, ms);
  return {
    signal: controller.signal,
    renew() {
      clearTimeout(timer);
      timer = setTimeout(expire, ms);
    },
    hold: () => clearTimeout(timer),
    clear() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', onAbort);
    },
  };
}

/** Makes a random key of 32 hex digits. `crypto.randomUUID` is missing on pages without https. */
export const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );
