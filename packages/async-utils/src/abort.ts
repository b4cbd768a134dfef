import { AbortError } from './errors.js';

/** The AbortError for a signal that has aborted: same message everywhere, the signal's reason kept as the cause. */
export const abortError = (signal: AbortSignal): AbortError =>
  new AbortError('The operation was aborted', { cause: signal.reason });

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

/** Calls `fn` once when the signal aborts; the returned function takes that back and leaves no listener behind. */
export function onAbort(signal: AbortSignal, fn: () => void): () => void {
  let hub = hubs.get(signal);
  if (!hub) {
    const callbacks = new Set<() => void>();
    const fire = () => {
      hubs.delete(signal);
      for (const callback of callbacks) callback();
    };
    hub = { callbacks, fire };
    hubs.set(signal, hub);
    signal.addEventListener('abort', fire, { once: true });
  }
  const { callbacks, fire } = hub;
  callbacks.add(fn);
  return () => {
    if (callbacks.delete(fn) && callbacks.size === 0 && hubs.get(signal)?.fire === fire) {
      hubs.delete(signal);
      signal.removeEventListener('abort', fire);
    }
  };
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
