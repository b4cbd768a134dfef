import { CachedRead, type Clock, systemClock } from '@millrace/foundation';
import {
  type MetricsRegistry,
  ObservedMetric,
  registerMetrics as register,
  type Sample,
  storeGauge,
} from '@millrace/foundation/metrics';
import type { QueuesView } from '../model.js';
import type { WorkerPool } from '../pool/worker-pool.js';
import { DURATION_BOUNDS_MS, type Histogram } from '../rules/histogram.js';
import type { StoreViews } from '../store-views.js';
import {
  POOL_HISTOGRAMS,
  POOL_METRICS,
  type PoolReading,
  RESOURCE_GAUGES,
  STORE_GAUGES,
} from './catalogue.js';

/** The engine to measure: a BulkActionEngine, or the parts of one. */
export interface MeasuredEngine {
  readonly config: { readonly workerPool: { readonly enabled: boolean } };
  readonly pool: Pick<WorkerPool, 'counters' | 'histograms' | 'abandoned' | 'getPoolStatus'>;
  readonly store: { readonly views: Pick<StoreViews, 'queues'> };
}

/** Options of `registerMetrics`. */
export interface MetricsOptions {
  /** Longest time a scrape waits for the store (1000). After that it shows the last values. */
  readonly storeWaitMs?: number | undefined;
  /** Times that wait (the system clock). */
  readonly clock?: Clock | undefined;
}

/** Well below the 10 s that Prometheus waits for a scrape. */
const STORE_WAIT_MS = 1000;

/** Every second bound that the pool counts by: as exact, and half the lines. */
const BUCKETS = DURATION_BOUNDS_MS.map((bound, index) => ({ bound, index })).filter(
  ({ index }) => index % 2 === 0,
);

/**
 * Registers all metrics of an engine, one engine per registry. Values are read at each scrape, with one call to the store.
 * @returns a function that removes them from the registry.
 * @throws Error of prom-client if a name is taken. Nothing is registered then.
 */
export function registerMetrics(
  registry: MetricsRegistry,
  engine: MeasuredEngine,
  { storeWaitMs = STORE_WAIT_MS, clock = systemClock }: MetricsOptions = {},
): () => void {
  const queues = new CachedRead({ read: () => engine.store.views.queues(), clock, waitMs: storeWaitMs });
  return register(registry, [...poolMetrics(engine), ...storeMetrics(queues)]);
}

function poolMetrics({ pool, config }: MeasuredEngine): readonly ObservedMetric[] {
  const now = (): PoolReading => ({
    counters: pool.counters,
    status: pool.getPoolStatus(),
    abandoned: pool.abandoned,
    histograms: pool.histograms,
    enabled: config.workerPool.enabled,
  });
  const shared = { aggregator: 'sum' as const };
  const numbers = POOL_METRICS.map(
    ({ read, ...metric }) => new ObservedMetric({ ...metric, ...shared, read: () => read(now()) }),
  );
  const histograms = POOL_HISTOGRAMS.map(({ read, ...metric }) => {
    const samples = () => histogramSamples(metric.name, read(now()));
    return new ObservedMetric({ ...metric, ...shared, type: 'histogram', read: samples });
  });
  return [...numbers, ...histograms];
}

function storeMetrics(cached: CachedRead<QueuesView>): readonly ObservedMetric[] {
  const gauges = STORE_GAUGES.map(({ read, ...metric }) =>
    storeGauge(metric, async () => {
      const queues = await cached.get();
      return queues && read(queues);
    }),
  );
  const byResource = RESOURCE_GAUGES.map(({ read, ...metric }) =>
    storeGauge(metric, async () => {
      const queues = await cached.get();
      return Object.entries(queues ? read(queues) : {}).map(([resource, value]) => ({
        value,
        labels: { resource },
      }));
    }),
  );
  return [...gauges, ...byResource];
}

/** Cumulative buckets, as Prometheus expects them: each holds all values up to its bound. */
function histogramSamples(name: string, { buckets, count, sum }: Readonly<Histogram>): readonly Sample[] {
  const line = (suffix: string, value: number, labels: Sample['labels'] = {}): Sample => ({
    metricName: `${name}_${suffix}`,
    value,
    labels,
  });
  let upTo = 0;
  let from = 0;
  const lines = BUCKETS.map(({ bound, index }) => {
    for (; from <= index; from++) upTo += buckets[from] ?? 0;
    return line('bucket', upTo, { le: bound });
  });
  return [...lines, line('bucket', count, { le: '+Inf' }), line('sum', sum), line('count', count)];
}
