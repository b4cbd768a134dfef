/**
 * One clock for everything that tells how long ago something was: with one of its own each, a list of fifty rows would be laid out and
 * painted fifty times a second.
 */
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let now = Date.now();

/**
 * Tells of every second while the page is looked at.
 * @returns what ends it.
 */
export function followSeconds(listener: () => void): () => void {
  // Nobody has followed the clock until now.
  if (timer === undefined) {
    now = Date.now();
    timer = setInterval(tick, 1_000);
  }
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time at the last second, in milliseconds since 1970. */
export const lastSecond = (): number => now;

function tick(): void {
  if (document.hidden) return;
  now = Date.now();
  for (const listener of listeners) listener();
}
