import { AbortError } from './errors.js';

/** The AbortError for a signal that has aborted: same message everywhere, the signal's reason kept as the cause. */
export const abortError = (signal: AbortSignal, errors?: readonly unknown[]): AbortError =>
  new AbortError('The operation was aborted', { cause: signal.reason, errors });

/** Throws when the signal has already aborted, or is none (a controller given in its place is a common slip). */
export function refuseAborted(signal: AbortSignal | undefined): void {
  if (!signal) return;
  if (typeof signal.addEventListener !== 'function') throw new TypeError('signal must be an AbortSignal');
  if (signal.aborted) throw abortError(signal);
}

interface Hub {
  readonly callbacks: Set<() => void>;
  readonly fire: () => void;
}

// One platform listener per signal however many tasks share it: EventTarget walks its whole listener list on
// every add and remove, so 100,000 queued tasks under one signal would cost 10^10 steps.
const hubs = new WeakMap<AbortSignal, Hub>();

/**
 * Calls `fn` once when the signal aborts; costs the same however many callbacks the signal has.
 * @param signal - one that has not aborted yet.
 * @param fn - what it throws is nobody's to catch, as with any listener; the others are called all the same.
 * @returns a function that takes it back and leaves no listener behind; calling it twice does nothing.
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

// Apart from `onAbort`: a listener made in there would keep the first callback alive as long as the signal has any.
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

/** Calls `start` and gives its outcome, or an AbortError as soon as the signal aborts, whichever comes first. */
export function abortable<T>(start: () => PromiseLike<T> | T, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    refuseAborted(signal);
    // Subscribed before the work starts: when the work itself reacts to the signal, ours is the first answer.
    const off = onAbort(signal, () => reject(abortError(signal)));
    new Promise<T>((started) => started(start())).then(resolve, reject).then(off);
  });
}
