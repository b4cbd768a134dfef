import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';

/** How many of each kind keep this process alive: `{ Timeout: 1, TCPSocketWrap: 2 }`. */
export type OpenResources = Readonly<Record<string, number>>;

const POLL_MS = 10;
const SETTLING_TURNS = 3;

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
 * Counts what stays open, passing over requests that are under way for a moment: counted in, they would hide a
 * leak of the same kind later.
 * @returns the lowest count of each kind over a few turns of the event loop.
 */
export async function settledResources(): Promise<OpenResources> {
  let settled = openResources();
  for (let turn = 0; turn < SETTLING_TURNS; turn++) {
    await nextTurn();
    const seen = openResources();
    settled = Object.fromEntries(
      Object.entries(settled).map(([kind, count]) => [kind, Math.min(count, seen[kind] ?? 0)]),
    );
  }
  return settled;
}

/**
 * Proves that nothing is open that was not open before, giving what is being closed a moment to go.
 * @param baseline - what was open before.
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

function leftOver(baseline: OpenResources): string[] {
  return Object.entries(openResources())
    .map(([kind, count]) => ({ kind, extra: count - (baseline[kind] ?? 0) }))
    .filter(({ extra }) => extra > 0)
    .map(({ kind, extra }) => `${extra} × ${kind}`);
}
