/**
 * Counts events of about the last two seconds in two buckets: the running one and the one before, of which the part
 * that is still inside the window is counted. Four numbers, O(1): every group and tenant has one, and a store reads and
 * writes them with every settlement.
 */
export interface RateWindow {
  /** Beginning of the running bucket, ms; -1 while there was no event. */
  at: number;
  current: number;
  previous: number;
  /** The first event since the window was empty for ever, ms. */
  first: number;
}

/** Length of the window, and of each bucket. */
export const WINDOW_MS = 2000;
/** A rate is never taken over less than this: one event is not thousands per second. */
const SPAN_MIN_MS = 100;

/** An empty window. */
export const newRateWindow = (): RateWindow => ({ at: -1, current: 0, previous: 0, first: 0 });

/**
 * Counts events.
 * @param window - changed.
 * @param nowMs - when.
 * @param amount - how many.
 */
export function countEvents(window: RateWindow, nowMs: number, amount: number): void {
  const at = Math.floor(nowMs / WINDOW_MS) * WINDOW_MS;
  // Also after a clock that went back: start over rather than count into the future.
  if (window.at < 0 || at < window.at) {
    window.first = nowMs;
    window.current = 0;
    window.previous = 0;
  } else if (at > window.at) {
    window.previous = at === window.at + WINDOW_MS ? window.current : 0;
    window.current = 0;
  }
  window.at = at;
  window.current += amount;
}

/**
 * Events per second over the window: over the time since the first event while that is shorter.
 * @param window - looked at only.
 * @param nowMs - the present.
 */
export function ratePerSecond(window: RateWindow, nowMs: number): number {
  const at = Math.floor(nowMs / WINDOW_MS) * WINDOW_MS;
  if (window.at < 0 || at < window.at || at > window.at + WINDOW_MS) return 0;
  const left = 1 - (nowMs - at) / WINDOW_MS;
  const events = at === window.at ? window.previous * left + window.current : window.current * left;
  const spanMs = Math.min(WINDOW_MS, Math.max(SPAN_MIN_MS, nowMs - window.first));
  return (events * 1000) / spanMs;
}
