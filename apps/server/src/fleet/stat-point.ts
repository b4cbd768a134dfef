import { DURATION_BOUNDS_MS, durationStatistics } from '@millrace/bulk-action';
import type { StatPoint, StatStep } from '@millrace/contract';
import type { StatSlot } from './stat-store.js';
import type { StoreSeen } from './store-gauges.js';
import type { Counts } from './work-counts.js';

const SECTIONS = ['queues', 'backlog'] as const;

/**
 * What was seen of the stores, by flat names.
 * @param seen - with null for what nobody could look at.
 * @returns undefined when nothing was seen at all.
 */
export function flatSeen(seen: StoreSeen): Counts | undefined {
  const sections = SECTIONS.flatMap((section) =>
    Object.entries(seen[section] ?? {}).map(([name, value]) => [`${section}.${name}`, value] as const),
  );
  const { openOperations } = seen;
  const all = openOperations === null ? sections : [...sections, ['openOperations', openOperations] as const];
  return all.length === 0 ? undefined : Object.fromEntries(all);
}

/**
 * A slot as it is shown.
 * @param step - seconds of it.
 */
export function statPoint({ slot, instances, counted, seen = {} }: StatSlot, step: StatStep): StatPoint {
  const rate = (name: string) => (counted[name] ?? 0) / step;
  return {
    at: new Date(slot * step * 1_000).toISOString(),
    instances,
    jobs: {
      donePerSecond: rate('jobs.done'),
      failedPerSecond: rate('jobs.failed'),
      retriedPerSecond: rate('jobs.retried'),
      timedOutPerSecond: rate('jobs.timedOut'),
      deadLettersPerSecond: rate('jobs.deadLetters'),
    },
    waitMs: percentiles(counted, 'wait'),
    runMs: percentiles(counted, 'run'),
    tasks: {
      donePerSecond: rate('tasks.done'),
      skippedPerSecond: rate('tasks.skipped'),
      retriedPerSecond: rate('tasks.retried'),
      failedPerSecond: rate('tasks.failed'),
      lostPerSecond: rate('tasks.lost'),
      returnedPerSecond: rate('tasks.returned'),
    },
    batches: {
      donePerSecond: rate('batches.done'),
      failedPerSecond: rate('batches.failed'),
      abortedPerSecond: rate('batches.aborted'),
    },
    operations: {
      submittedPerSecond: rate('operations.submitted'),
      fastPerSecond: rate('operations.fast'),
      convertedPerSecond: rate('operations.converted'),
      endedPerSecond: rate('operations.ended'),
      failedPerSecond: rate('operations.failed'),
    },
    latencyMs: percentiles(counted, 'latency'),
    ...seenOf(seen),
  };
}

/** What was looked at: all of a section, or nothing. */
function seenOf(seen: Counts): StoreSeen {
  const of = (name: string) => seen[name] ?? 0;
  return {
    queues:
      seen['queues.lane'] === undefined
        ? null
        : {
            lane: of('queues.lane'),
            ready: of('queues.ready'),
            nonReady: of('queues.nonReady'),
            inFlight: of('queues.inFlight'),
            deadLetters: of('queues.deadLetters'),
            oldestWaitingMs: of('queues.oldestWaitingMs'),
            tenants: of('queues.tenants'),
            liveSlots: of('queues.liveSlots'),
            waitingSlots: of('queues.waitingSlots'),
            startsPerSecond: of('queues.startsPerSecond'),
          },
    backlog:
      seen['backlog.ready'] === undefined
        ? null
        : {
            ready: of('backlog.ready'),
            processing: of('backlog.processing'),
            oldestReadyAgeMs: of('backlog.oldestReadyAgeMs'),
          },
    openOperations: seen.openOperations ?? null,
  };
}

function percentiles(counted: Counts, name: string): StatPoint['waitMs'] {
  const buckets = Array.from(
    { length: DURATION_BOUNDS_MS.length + 1 },
    (_, bucket) => counted[`${name}:${bucket}`] ?? 0,
  );
  const count = buckets.reduce((sum, inside) => sum + inside, 0);
  if (count === 0) return null;
  const highest = buckets.findLastIndex((inside) => inside > 0);
  // Extremes are not kept: the bounds of the buckets stand for them.
  const max = DURATION_BOUNDS_MS[highest] ?? (DURATION_BOUNDS_MS.at(-1) as number);
  const { p50, p95, p99 } = durationStatistics({ count, sum: 0, min: 0, max, buckets });
  return { p50, p95, p99 };
}
