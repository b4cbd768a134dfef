/**
 * Prometheus metrics of an orchestrator, for a registry of prom-client. This process counts its own submits, refusals
 * and repairs. Operations are counted in the store at each scrape.
 *
 * @packageDocumentation
 */
import { CachedRead, type Clock, systemClock } from '@millrace/foundation';
import {
  histogram,
  type MetricsRegistry,
  registerMetrics as registerAll,
  storeGauge,
  zeroCounter,
} from '@millrace/foundation/metrics';
import type { OrchestratorEvents, Repairer } from './events.js';
import type { Operations } from './operations.js';
import { isTerminal, OPERATION_STATES } from './states.js';

/** Names and help texts. */
const METRICS = {
  submits: { name: 'orchestrator_submit_count', help: 'Commands submitted, by route.' },
  fast: {
    name: 'orchestrator_fast_path_completed',
    help: 'Commands answered with their outcome within their time budget, by route.',
  },
  converted: { name: 'orchestrator_async_converted', help: 'Commands answered with a status URL, by route.' },
  latency: {
    name: 'orchestrator_latency',
    help: 'Time from a submit to its answer, in milliseconds, by route. Rejected commands are not counted.',
  },
  refused: { name: 'orchestrator_refused_count', help: 'Commands rejected, by error code.' },
  operations: {
    name: 'orchestrator_operations',
    help: 'Operations in the store, by state. Ended ones are counted once a minute.',
  },
  deadLetters: {
    name: 'orchestrator_dead_letters',
    help: 'Operations in the store whose work failed, counted once a minute.',
  },
  oldestDue: {
    name: 'orchestrator_oldest_due_ms',
    help: 'Age of the oldest operation that waits for an attempt, in milliseconds; 0 if none waits.',
  },
  repairs: {
    name: 'orchestrator_repair_count',
    help: 'Stalled operations that this process continued or ended, by the loop that did it.',
  },
} as const;

const REPAIRERS: readonly Repairer[] = ['finalizer', 'reaper', 'runner', 'watcher'];

/** Up to the longest budget, close together around the usual one (200) and the bars of the benchmark. */
const LATENCY_BUCKETS_MS = [
  1, 2, 5, 10, 25, 50, 100, 150, 180, 200, 220, 250, 300, 500, 750, 1_000, 2_000, 3_000, 5_000,
];

/** Callers name routes. Without a limit each invented name would cost the memory of a label until the process ends. */
const ROUTE_LABELS_MAX = 1_000;
const OTHER_ROUTES = 'other';

/** Counting millions of ended operations at each scrape of each instance would be much of the store's load. */
const ENDED_MAX_AGE_MS = 60_000;
/** Well below the 10 s that Prometheus waits for a scrape. */
const STORE_WAIT_MS = 1_000;

/** An orchestrator, or its measured parts. */
export interface MeasuredOrchestrator {
  readonly events: Pick<OrchestratorEvents, 'on'>;
  readonly operations: Pick<Operations, 'counts' | 'openCounts'>;
}

/** Options of the metrics. */
export interface MetricsOptions {
  /**
   * `DOMAIN.EVENT_TYPE` of all routes (the first 1000 submitted). Each has its lines from the start. Every other name is
   * counted as `other`.
   */
  readonly routes?: readonly string[] | undefined;
  /** Longest time a scrape waits for the store, in milliseconds (1000). After that it shows the last values. */
  readonly storeWaitMs?: number | undefined;
  /** Clock of the waits (the machine's). */
  readonly clock?: Clock | undefined;
}

/**
 * Registers all metrics of an orchestrator. Events are counted from this call on, so register before the start.
 * @returns a function that removes the metrics and ends the counting.
 * @throws Error of prom-client if a name is taken. Nothing is registered then.
 */
export function registerMetrics(
  registry: MetricsRegistry,
  orchestrator: MeasuredOrchestrator,
  { routes, storeWaitMs: waitMs = STORE_WAIT_MS, clock = systemClock }: MetricsOptions = {},
): () => void {
  const { events, operations } = orchestrator;
  const open = new CachedRead({ read: () => operations.openCounts(), clock, waitMs });
  const all = new CachedRead({
    read: () => operations.counts(),
    clock,
    waitMs,
    maxAgeMs: ENDED_MAX_AGE_MS,
  });
  const routeLabels = (routes ?? []).map((route) => ({ route }));
  const submits = zeroCounter(METRICS.submits, ['route'], routeLabels);
  const fast = zeroCounter(METRICS.fast, ['route'], routeLabels);
  const converted = zeroCounter(METRICS.converted, ['route'], routeLabels);
  const latency = histogram(METRICS.latency, LATENCY_BUCKETS_MS, ['route']);
  const refused = zeroCounter(METRICS.refused, ['code']);
  const repairs = zeroCounter(
    METRICS.repairs,
    ['by'],
    REPAIRERS.map((by) => ({ by })),
  );

  const gauges = [
    storeGauge(METRICS.operations, async () => {
      const [now, lately] = await Promise.all([open.get(), all.get()]);
      return OPERATION_STATES.flatMap((state) => {
        const value = isTerminal(state) ? lately?.byState[state] : now?.byState[state];
        return value === undefined ? [] : [{ value, labels: { state } }];
      });
    }),
    storeGauge(METRICS.deadLetters, async () => (await all.get())?.deadLetters),
    storeGauge(METRICS.oldestDue, async () => (await open.get())?.oldestDueMs),
  ];
  const label = boundedLabels(routes);
  return registerAll(registry, [...gauges, submits, fast, converted, latency, refused, repairs], () => [
    events.on('submitted', ({ route }) => submits.inc(label(route))),
    events.on('fast', ({ route, elapsedMs }) => {
      fast.inc(label(route));
      latency.observe(label(route), elapsedMs);
    }),
    events.on('converted', ({ route, elapsedMs }) => {
      converted.inc(label(route));
      latency.observe(label(route), elapsedMs);
    }),
    events.on('refused', ({ code }) => refused.inc({ code })),
    events.on('repaired', ({ by }) => repairs.inc({ by })),
  ]);
}

function boundedLabels(routes: readonly string[] | undefined): (route: string) => { route: string } {
  const known = new Set(routes);
  return (route) => {
    if (routes === undefined && known.size < ROUTE_LABELS_MAX) known.add(route);
    return { route: known.has(route) ? route : OTHER_ROUTES };
  };
}
