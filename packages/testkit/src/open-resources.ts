import { setTimeout as delay } from 'node:timers/promises';

/** How many of each kind keep this process alive: `{ Timeout: 1, TCPSocketWrap: 2 }`. */
export type OpenResources = Readonly<Record<string, number>>;

const POLL_MS = 10;
const SETTLE_MS = 300;

/**
 * Counts what keeps this process alive: timers, sockets, servers, child processes … What has been `unref`ed does
 * not, and is not counted.
 * @returns the counts by Node's names for the kinds.
 */
export function openResources(): OpenResources {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/**
 * Counts what stays open, passing over what is there for a moment: counted in, it would hide a leak of the same kind
 * later. Vitest is why timers are waited for: it reports progress through one that lives 100 ms.
 * @returns the lowest count of each kind, taken until no timer is left or 300 ms have passed.
 */
export async function settledResources(): Promise<OpenResources> {
  const end = performance.now() + SETTLE_MS;
  let settled = openResources();
  do {
    await delay(POLL_MS);
    settled = lowestOf(settled, openResources());
  } while (settled.Timeout && performance.now() < end);
  return settled;
}

/**
 * Proves that nothing is open that was not open before, giving what is being closed a moment to go.
 * @param deadlineMs - how long the counts may take to fall; 2000 unless given.
 * @throws Error that lists what is left.
 */
export async function requireNoLeaks(baseline: OpenResources, deadlineMs = 2_000): Promise<void> {
  const end = performance.now() + deadlineMs;
  let left = leftOver(baseline);
  while (left.length > 0 && performance.now() < end) {
    await delay(POLL_MS);
    left = leftOver(baseline);
  }
  if (left.length > 0) throw new Error(`still open ${deadlineMs} ms after the end: ${left.join(', ')}`);
}

function lowestOf(a: OpenResources, b: OpenResources): OpenResources {
  return Object.fromEntries(Object.entries(a).map(([kind, count]) => [kind, Math.min(count, b[kind] ?? 0)]));
}

function leftOver(baseline: OpenResources): string[] {
  return Object.entries(openResources())
    .map(([kind, count]) => ({ kind, extra: count - (baseline[kind] ?? 0) }))
    .filter(({ extra }) => extra > 0)
    .map(({ kind, extra }) => `${extra} × ${kind}`);
}
