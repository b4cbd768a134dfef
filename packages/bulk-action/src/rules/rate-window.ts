/** Counts events of the last seconds in slots of equal length; O(1) to add, no list of events. */
export interface RateWindow {
  /** Slot number of the newest slot. */
  slot: number;
  /** Newest slot last; as many as the window has. */
  readonly counts: number[];
  /** Slot number of the first event ever. */
  first: number;
}

/** Length of a slot; a window of 2 s has 20 of them. */
export const SLOT_MS = 100;
/** Slots of the windows: 2 s. */
export const WINDOW_SLOTS = 20;

/** An empty window. */
export const newRateWindow = (): RateWindow => ({ slot: -1, counts: [], first: -1 });

/**
 * Counts events.
 * @param window - changed.
 * @param nowMs - when.
 * @param amount - how many.
 */
export function countEvents(window: RateWindow, nowMs: number, amount: number): void {
  advance(window, nowMs);
  if (window.first < 0) window.first = window.slot;
  window.counts[window.counts.length - 1] = (window.counts.at(-1) ?? 0) + amount;
}

/**
 * Events per second over the window: over the time since the first event while that is shorter, at least one slot.
 * @param window - looked at only.
 * @param nowMs - the present.
 */
export function ratePerSecond(window: RateWindow, nowMs: number): number {
  if (window.first < 0) return 0;
  const slot = Math.floor(nowMs / SLOT_MS);
  const oldest = slot - WINDOW_SLOTS + 1;
  let sum = 0;
  for (let back = 0; back < window.counts.length; back++) {
    const at = window.slot - back;
    if (at < oldest || at > slot) continue;
    sum += window.counts[window.counts.length - 1 - back] ?? 0;
  }
  const slots = Math.min(WINDOW_SLOTS, Math.max(1, slot - window.first + 1));
  return (sum * 1000) / (slots * SLOT_MS);
}

function advance(window: RateWindow, nowMs: number): void {
  const slot = Math.floor(nowMs / SLOT_MS);
  // A clock that went back: start over rather than count into the future.
  if (slot < window.slot || slot - window.slot >= WINDOW_SLOTS) {
    if (slot < window.slot) window.first = -1;
    window.counts.length = 0;
    window.counts.push(0);
  } else {
    for (let next = window.slot; next < slot; next++) window.counts.push(0);
    while (window.counts.length > WINDOW_SLOTS) window.counts.shift();
  }
  window.slot = slot;
}
