import type { Clock } from '@millrace/foundation';

/** The ends of a wait besides its result. */
export interface WaitLimits {
  readonly clock: Clock;
  /** Longest wait (no limit). */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Makes the error of a wait that took too long. */
  timeoutError(): unknown;
  /** Called before the wait fails by its time limit or its signal. */
  onGiveUp?(error: unknown): void;
}

/**
 * Makes a promise that rejects at its time limit, and with the reason of its signal.
 * @param begin - begins what is waited for, unless the signal has aborted already.
 */
export function limited<T>(
  { clock, timeoutMs, signal, timeoutError, onGiveUp }: WaitLimits,
  begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => void,
): Promise<T> {
  if (signal?.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const settled = () => {
      cancel?.();
      signal?.removeEventListener('abort', onAbort);
    };
    const fail = (error: unknown) => {
      settled();
      reject(error);
    };
    const giveUp = (error: unknown) => {
      onGiveUp?.(error);
      fail(error);
    };
    const onAbort = () => giveUp(signal?.reason);
    const cancel =
      timeoutMs === undefined
        ? undefined
        : clock.setTimer(Math.max(0, timeoutMs), () => giveUp(timeoutError()));
    signal?.addEventListener('abort', onAbort, { once: true });
    begin((value) => {
      settled();
      resolve(value);
    }, fail);
  });
}
