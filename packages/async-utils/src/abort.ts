import { checkSignal } from './checks.js';
import { AbortError } from './errors.js';

/** Makes the AbortError for a signal that has aborted. Its `cause` is the signal's reason. */
export const abortError = (signal: AbortSignal, errors?: readonly unknown[]): AbortError =>
  new AbortError('The operation was aborted', { cause: signal.reason, errors });

/** Throws if the signal has aborted, or is no AbortSignal. */
export function refuseAborted(signal: AbortSignal | undefined): void {
  if (!signal) return;
  checkSignal('signal', signal);
  if (signal.aborted) throw abortError(signal);
}

interface Hub {
  readonly callbacks: Set<() => void>;
  readonly fire: () => void;
}

// All callbacks of a signal share one platform listener: EventTarget walks its whole listener list on every add and
// remove, so 100,000 queued tasks under one signal would cost 10^10 steps.
const hubs = new WeakMap<AbortSignal, Hub>();

/**
 * Calls `fn` once when the signal aborts. The cost does not grow with the number of callbacks of the signal. What `fn`
 * throws becomes an uncaught exception; the other callbacks are called all the same.
 * @param signal - one that has not aborted yet.
 * @returns a function that removes the callback and leaves no listener behind. Calling it again does nothing.
 */
export function onAbort(signal: AbortSignal, fn: () => void): () => void {
  const hub = hubs.get(signal) ?? openHub(signal);
  hub.callbacks.add(fn);
  return () => {
    if (hub.callbacks.delete(fn) && hub.callbacks.size === 0 && hubs.get(signal) === hub) {
      hubs.delete(signal);
      signal.removeEventListener('abort', hub.fire);
    }
  };
}

// Not inside `onAbort`: a listener made there would keep the first callback alive as long as the signal has any.
function openHub(signal: AbortSignal): Hub {
  const callbacks = new Set<() => void>();
  const fire = () => {
    hubs.delete(signal);
    for (const callback of callbacks)
      try {
        callback();
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
  };
  const hub = { callbacks, fire };
  hubs.set(signal, hub);
  signal.addEventListener('abort', fire, { once: true });
  return hub;
}

/** Calls `start` and returns its outcome, or an AbortError as soon as the signal aborts, whichever comes first. */
export function abortable<T>(start: () => PromiseLike<T> | T, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    refuseAborted(signal);
    // Subscribed before the work starts: if the work reacts to the signal too, ours is the error that counts.
    const off = onAbort(signal, () => reject(abortError(signal)));
    new Promise<T>((started) => started(start())).then(resolve, reject).then(off);
  });
}
