import type { Repairer } from '../events.js';

/** Names and help texts. */
export const METRICS = {
  submits: { name: 'orchestrator_submit_count', help: 'Commands that came in, by route.' },
  fast: {
    name: 'orchestrator_fast_path_completed',
    help: 'Commands that were answered with their outcome, inside their time budget, by route.',
  },
  converted: {
    name: 'orchestrator_async_converted',
    help: 'Commands that were answered with a status URL, by route.',
  },
  latency: {
    name: 'orchestrator_latency',
    help: 'How long a submit took, from the call to its answer, in milliseconds, by route; refused ones are not in it.',
  },
  refused: {
    name: 'orchestrator_refused_count',
    help: 'Commands that were not taken, by the code of the error.',
  },
  operations: {
    name: 'orchestrator_operations',
    help: 'Operations in the store, by state; those that have ended are counted once a minute.',
  },
  deadLetters: {
    name: 'orchestrator_dead_letters',
    help: 'Operations in the store that FAILED by their work, counted once a minute.',
  },
  oldestDue: {
    name: 'orchestrator_oldest_due_ms',
    help: 'How long the operation has been due that has waited longest for a try, in milliseconds; 0 when none is.',
  },
  repairs: {
    name: 'orchestrator_repair_count',
    help: 'Operations that had stopped and were brought on by this process, by who did it.',
  },
} as const;

/** Who repairs. */
export const REPAIRERS = Object.keys({
  finalizer: 0,
  reaper: 0,
  runner: 0,
  watcher: 0,
} satisfies Record<Repairer, 0>) as Repairer[];

/** Up to the longest budget, close together around the usual one (200) and the bars of the benchmark. */
export const LATENCY_BUCKETS_MS: readonly number[] = [
  1, 2, 5, 10, 25, 50, 100, 150, 180, 200, 220, 250, 300, 500, 750, 1_000, 2_000, 3_000, 5_000,
];

/** Callers name routes: without a limit each made-up name would cost the memory of a label for ever. */
export const ROUTE_LABELS_MAX = 1_000;
/** The label of all routes beyond. */
export const OTHER_ROUTES = 'other';
