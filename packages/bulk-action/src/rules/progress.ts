import type { GroupProgress, GroupView } from '../model.js';
import { hasEnded } from '../states.js';
import { levelOf } from './throttle-backoff.js';

/**
 * How far a group is, made from what the store counts: done + pending + inFlight = registered.
 * @param group - as stored.
 * @param baseBackoffMs - `congestion.baseBackoffMs`: what a back-off is measured by.
 * @returns percent with two decimals, 100 only when every job is done; an ETA at the present speed.
 */
export function progressOf(group: GroupView, baseBackoffMs: number): GroupProgress {
  const { registered, success, failed, cancelled, pending, inFlight, nonReady } = group.counts;
  const done = success + failed + cancelled;
  return {
    total: registered,
    registered,
    done,
    success,
    failed,
    cancelled,
    pending,
    inFlight,
    nonReady,
    progressPercent: percentOf(done, registered, hasEnded(group.status)),
    status: group.status,
    round: group.round,
    etaMs: etaOf(group),
    congestion: {
      // Nobody waits: what held the group back is over.
      level: nonReady === 0 ? 'NONE' : levelOf(group.lastBackoffMs, baseBackoffMs),
      nonReadyCount: nonReady,
      lastBackoffMs: group.lastBackoffMs,
    },
  };
}

function percentOf(done: number, total: number, ended: boolean): number {
  if (total === 0) return ended ? 100 : 0;
  if (done >= total) return 100;
  // Rounding must not say "all" while one of 200,000 is missing.
  return Math.min(99.99, Math.round((done / total) * 10_000) / 100);
}

function etaOf({ status, paused, settledPerSecond, counts }: GroupView): number | null {
  if (hasEnded(status)) return 0;
  if (paused || settledPerSecond <= 0) return null;
  return Math.ceil(((counts.pending + counts.inFlight) / settledPerSecond) * 1000);
}
