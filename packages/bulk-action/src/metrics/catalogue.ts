import type { QueuesView } from '../model.js';
import type { PoolCounters, PoolHistograms } from '../pool/counters.js';
import type { PoolStatus } from '../pool/status.js';
import type { Histogram } from '../rules/histogram.js';

/** The pool of this process as metrics see it. */
export interface PoolReading {
  readonly counters: Readonly<PoolCounters>;
  readonly status: PoolStatus;
  readonly abandoned: number;
  readonly histograms: PoolHistograms;
  /** Whether this process runs jobs at all. */
  readonly enabled: boolean;
}

/** A number of this process. */
export interface PoolMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  read(pool: PoolReading): number;
}

/** A distribution of this process. */
export interface PoolHistogram {
  readonly name: string;
  readonly help: string;
  read(pool: PoolReading): Readonly<Histogram>;
}

/** A number of the store: the same in every process. */
export interface StoreGauge {
  readonly name: string;
  readonly help: string;
  read(queues: QueuesView): number;
}

/** A number of the store for each resource. */
export interface ResourceGauge {
  readonly name: string;
  readonly help: string;
  read(queues: QueuesView): Readonly<Record<string, number>>;
}

const gauge = (name: string, help: string, read: PoolMetric['read']): PoolMetric => ({
  name,
  help,
  type: 'gauge',
  read,
});
const counter = (name: string, help: string, read: PoolMetric['read']): PoolMetric => ({
  name,
  help,
  type: 'counter',
  read,
});

/** What the pool of this process counts. */
export const POOL_METRICS: readonly PoolMetric[] = [
  gauge('bulk_action_worker_pool_size', 'Workers wanted in this process.', ({ enabled, status }) =>
    enabled ? status.workerCount : 0,
  ),
  gauge(
    'bulk_action_worker_pool_active',
    'Workers that take jobs (state RUNNING), busy or idle.',
    ({ status }) => status.activeWorkers,
  ),
  gauge('bulk_action_worker_pool_idle', 'Workers without a job.', ({ status }) => status.idleWorkers),
  counter(
    'bulk_action_fetcher_total_fetched',
    'Jobs the Fetcher took out of the fair queue.',
    ({ status }) => status.fetcherStats.totalFetched,
  ),
  counter(
    'bulk_action_fetcher_empty_polls',
    'Looks of the Fetcher that found nothing runnable though ready had room.',
    ({ status }) => status.fetcherStats.totalEmptyPolls,
  ),
  counter(
    'bulk_action_fetcher_admitted_ready',
    'Jobs the Fetcher moved to ready.',
    ({ status }) => status.fetcherStats.totalAdmittedReady,
  ),
  counter(
    'bulk_action_fetcher_admitted_non_ready',
    'Jobs the Fetcher moved to non-ready.',
    ({ status }) => status.fetcherStats.totalAdmittedNonReady,
  ),
  counter(
    'bulk_action_dispatcher_total_moved',
    'Due jobs the Dispatcher took out of non-ready.',
    ({ status }) => status.dispatcherStats.totalMoved,
  ),
  counter(
    'bulk_action_dispatcher_total_skipped',
    'Cycles in which the Dispatcher found ready full.',
    ({ status }) => status.dispatcherStats.totalSkipped,
  ),
  counter('bulk_action_worker_job_success_total', 'Jobs that succeeded.', ({ counters }) => counters.success),
  counter(
    'bulk_action_worker_job_failed_total',
    'Jobs that failed for good when they were run.',
    ({ counters }) => counters.failed,
  ),
  counter(
    'bulk_action_worker_job_timeout_total',
    'Tries that timed out.',
    ({ counters }) => counters.timeouts,
  ),
  counter(
    'bulk_action_worker_job_retry_total',
    'Tries that failed and spent a retry.',
    ({ counters }) => counters.retries,
  ),
  counter(
    'bulk_action_worker_dead_letter_total',
    'Jobs that became dead letters: retries spent, or leases lost too often.',
    ({ counters }) => counters.deadLetters,
  ),
  counter(
    'bulk_action_rate_limit_denied_total',
    'Starts put off for want of a rate token.',
    ({ counters }) => counters.rateDenied,
  ),
  counter(
    'bulk_action_orphans_recovered_total',
    'Expired leases taken back.',
    ({ counters }) => counters.orphansRecovered,
  ),
  counter(
    'bulk_action_late_ack_total',
    'Results that came after their lease was lost and counted nothing.',
    ({ counters }) => counters.lateAcks,
  ),
  gauge(
    'bulk_action_abandoned',
    'Handlers that run on though nobody waits for them any more.',
    ({ abandoned }) => abandoned,
  ),
  counter(
    'bulk_action_repaired_total',
    'Groups whose counters did not match their entries and were repaired; anything but 0 is a defect.',
    ({ counters }) => counters.repaired,
  ),
];

/** How long things took in this process. */
export const POOL_HISTOGRAMS: readonly PoolHistogram[] = [
  {
    name: 'bulk_action_worker_job_duration_ms',
    help: 'How long tries took that the store has counted, in milliseconds.',
    read: ({ histograms }) => histograms.durations,
  },
  {
    name: 'bulk_action_job_wait_ms',
    help: 'From when a job could have started to when it did, every try, in milliseconds.',
    read: ({ histograms }) => histograms.waits,
  },
];

/** What the store holds. */
export const STORE_GAUGES: readonly StoreGauge[] = [
  { name: 'bulk_action_ready_queue_size', help: 'Jobs in ready.', read: ({ ready }) => ready },
  {
    name: 'bulk_action_non_ready_queue_size',
    help: 'Jobs that wait for their due time.',
    read: ({ nonReady }) => nonReady,
  },
  { name: 'bulk_action_in_flight', help: 'Jobs under a lease.', read: ({ inFlight }) => inFlight },
  {
    name: 'bulk_action_fair_queue_groups',
    help: 'Groups with jobs in the fair queue.',
    read: ({ groups }) => groups,
  },
  {
    name: 'bulk_action_oldest_waiting_ms',
    help: 'How long the job has waited that has waited longest of those that are first in line.',
    read: ({ oldestWaitingMs }) => oldestWaitingMs,
  },
];

/** What congestion control allows. */
export const RESOURCE_GAUGES: readonly ResourceGauge[] = [
  {
    name: 'bulk_action_congestion_rate',
    help: 'Starts per second that congestion control allows; a resource without a limit has no line.',
    read: ({ congestionRates }) => congestionRates,
  },
];
