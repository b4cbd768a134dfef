/**
 * Prometheus metrics of an outbox, for a registry of prom-client.
 *
 * @packageDocumentation
 */
import { CachedRead, type Clock, systemClock } from '@millrace/foundation';
import {
  histogram,
  type Metric,
  type MetricsRegistry,
  registerMetrics as register,
  storeGauge,
  zeroCounter,
} from '@millrace/foundation/metrics';
import type { Batches } from './batches.js';
import type { OutboxEvents, TaskResult } from './events.js';
import type { BacklogView, BatchStatus } from './model.js';
import type { OldestTransaction, VacuumWatch } from './vacuum-watch.js';

/** The outbox to measure: an Outbox, or the parts of one. */
export interface MeasuredOutbox {
  readonly events: Pick<OutboxEvents, 'on'>;
  readonly batches: Pick<Batches, 'backlog'>;
  readonly vacuum: Pick<VacuumWatch, 'look'>;
}

/** Options of `registerMetrics`. */
export interface MetricsOptions {
  /** Longest time a scrape waits for the database (1000). After that it shows the last values. */
  readonly storeWaitMs?: number | undefined;
  /** Times that wait (the system clock). */
  readonly clock?: Clock | undefined;
}

const METRICS = {
  backlog: {
    name: 'outbox_backlog',
    help: 'Tasks of running batches by state: waiting for other tasks, ready to run, and so on. failed: all dead letters.',
  },
  oldestReadyAge: {
    name: 'outbox_oldest_ready_age_ms',
    help: 'Time since the oldest ready task could first run, in milliseconds. 0 if none is ready.',
  },
  oldestTransactionAge: {
    name: 'outbox_oldest_transaction_age_ms',
    help: 'Age of the oldest transaction that keeps PostgreSQL from removing dead rows, in milliseconds. 0 if there is none.',
  },
  taskDuration: {
    name: 'outbox_task_duration_ms',
    help: 'Duration of attempts that this process ran and whose end was stored, in milliseconds.',
  },
  tasks: { name: 'outbox_task_total', help: 'Attempts that this process ran, by result.' },
  batches: { name: 'outbox_batch_total', help: 'Batches that this process ended, by status.' },
  leasesExpired: {
    name: 'outbox_lease_expired_total',
    help: 'Tasks whose lease expired and which this process took from their worker.',
  },
} as const;

/** True if an attempt with this result has a duration: its handler ended and the end was stored. */
const IS_TIMED: Readonly<Record<TaskResult, boolean>> = {
  done: true,
  retried: true,
  failed: true,
  skipped: false,
  lost: false,
  returned: false,
};

const BATCH_ENDS = ['DONE', 'FAILED', 'ABORTED'] as const satisfies readonly BatchStatus[];

/** From 1 ms to 70 minutes, each twice the one before. bulk-action has the same, so that the two can be compared. */
const DURATION_BUCKETS_MS = Array.from({ length: 23 }, (_, power) => 2 ** power);

/** Well below the 10 s that Prometheus waits for a scrape. */
const STORE_WAIT_MS = 1_000;

/**
 * Registers all metrics of an outbox, one outbox per registry. Events of this process count from now on, so register
 * before the start. Each scrape reads the backlog and the oldest transaction, with one query each.
 * @returns a function that removes them from the registry and stops the counting.
 * @throws Error of prom-client if a name is taken. Nothing is registered then.
 */
export function registerMetrics(
  registry: MetricsRegistry,
  { events, batches, vacuum }: MeasuredOutbox,
  { storeWaitMs = STORE_WAIT_MS, clock = systemClock }: MetricsOptions = {},
): () => void {
  const cached = <T>(read: () => Promise<T>) => new CachedRead({ read, clock, waitMs: storeWaitMs });
  const gauges = storeGauges(
    cached(() => batches.backlog()),
    cached(() => vacuum.look()),
  );
  const { counters, listen } = eventCounters(events);
  return register(registry, [...gauges, ...counters], listen);
}

function storeGauges(
  backlog: CachedRead<BacklogView>,
  oldest: CachedRead<OldestTransaction | undefined>,
): readonly Metric[] {
  return [
    storeGauge(METRICS.backlog, async () => {
      const { oldestReadyAgeMs, ...counts } = (await backlog.get()) ?? {};
      return Object.entries(counts).map(([status, value]) => ({ value, labels: { status } }));
    }),
    storeGauge(METRICS.oldestReadyAge, async () => {
      const seen = await backlog.get();
      return seen && (seen.oldestReadyAgeMs ?? 0);
    }),
    storeGauge(METRICS.oldestTransactionAge, async () => (await oldest.get())?.ageMs),
  ];
}

/** Counters and a histogram of what happens in this process. No label for the handler: a DAG may have 100,000 of them. */
function eventCounters(events: MeasuredOutbox['events']) {
  const results = Object.keys(IS_TIMED).map((result) => ({ result }));
  const tasks = zeroCounter(METRICS.tasks, ['result'], results);
  const ends = BATCH_ENDS.map((status) => ({ status: status.toLowerCase() }));
  const batches = zeroCounter(METRICS.batches, ['status'], ends);
  const leases = zeroCounter(METRICS.leasesExpired);
  const durations = histogram(METRICS.taskDuration, DURATION_BUCKETS_MS);
  return {
    counters: [tasks, batches, leases, durations],
    listen: () => [
      events.on('task', ({ result, durationMs }) => {
        tasks.inc({ result });
        if (IS_TIMED[result]) durations.observe(durationMs);
      }),
      events.on('batch', ({ status }) => batches.inc({ status: status.toLowerCase() })),
      events.on('lease-expired', ({ count }) => leases.inc(count)),
    ],
  };
}
