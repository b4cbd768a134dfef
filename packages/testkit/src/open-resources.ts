import { setTimeout as delay } from 'node:timers/promises';

/** The number of open resources of each kind: `{ Timeout: 1, TCPSocketWrap: 2 }`. */
export type OpenResources = Readonly<Record<string, number>>;

const POLL_MS = 10;
const SETTLE_MS = 300;

/**
 * Counts the timers, sockets, servers and child processes that keep this process alive, without those that close within
 * 300 ms: they would hide a later leak of the same kind. Vitest reports progress through a timer of 100 ms.
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
 * Waits until nothing is open that is not in `baseline`, at most `deadlineMs`.
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

/** Node does not list what has been `unref`ed. */
function openResources(): OpenResources {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
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
