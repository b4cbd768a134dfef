import { type Clock, StoreLook, systemClock } from '@millrace/foundation';
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
import { type MetricsRegistry, ReadMetric, type Sample } from './read-metric.js';

/** What metrics look at: a BulkActionEngine, or the parts of one. */
export interface MeasuredEngine {
  readonly config: { readonly workerPool: { readonly enabled: boolean } };
  readonly pool: Pick<WorkerPool, 'counters' | 'histograms' | 'abandoned' | 'getPoolStatus'>;
  readonly store: { readonly views: Pick<StoreViews, 'queues'> };
}

/** How metrics are read. */
export interface MetricsOptions {
  /** Longest time a scrape waits for the store (1000); then it shows what it saw last. */
  readonly storeWaitMs?: number | undefined;
  /** Times that wait (the machine's). */
  readonly clock?: Clock | undefined;
}

/** Well below the 10 s that Prometheus waits for a scrape. */
const STORE_WAIT_MS = 1000;

/** Every second bound of what the pool counts: as exact, and half the lines. */
const BUCKETS = DURATION_BOUNDS_MS.map((bound, index) => ({ bound, index })).filter(
  ({ index }) => index % 2 === 0,
);

/**
 * Registers all metrics of an engine. Values are read at each scrape; the store is asked once for all of them.
 * @param registry - of prom-client; one engine in each.
 * @param engine - whose.
 * @param options - see MetricsOptions.
 * @returns a function that takes them out of the registry again.
 * @throws Error of prom-client when a name is taken; then nothing is registered.
 */
export function registerMetrics(
  registry: MetricsRegistry,
  engine: MeasuredEngine,
  { storeWaitMs = STORE_WAIT_MS, clock = systemClock }: MetricsOptions = {},
): () => void {
  const look = new StoreLook({ ask: () => engine.store.views.queues(), clock, waitMs: storeWaitMs });
  const metrics = [...poolMetrics(engine), ...storeMetrics(look)];
  const unregister = () => {
    for (const metric of metrics) metric.remove(registry);
  };
  try {
    for (const metric of metrics) metric.register(registry);
  } catch (error) {
    unregister();
    throw error;
  }
  return unregister;
}

function poolMetrics({ pool, config }: MeasuredEngine): readonly ReadMetric[] {
  const now = (): PoolReading => ({
    counters: pool.counters,
    status: pool.getPoolStatus(),
    abandoned: pool.abandoned,
    histograms: pool.histograms,
    enabled: config.workerPool.enabled,
  });
  const numbers = POOL_METRICS.map(
    ({ name, help, type, read }) =>
      new ReadMetric({ name, help, type, aggregator: 'sum' }, () => [sample(read(now()))]),
  );
  const histograms = POOL_HISTOGRAMS.map(
    ({ name, help, read }) =>
      new ReadMetric({ name, help, type: 'histogram', aggregator: 'sum' }, () =>
        histogramSamples(name, read(now())),
      ),
  );
  return [...numbers, ...histograms];
}

/** Of several processes the greatest: all of them see the same store. */
function storeMetrics(look: StoreLook<QueuesView>): readonly ReadMetric[] {
  const gauges = STORE_GAUGES.map(
    ({ name, help, read }) =>
      new ReadMetric({ name, help, type: 'gauge', aggregator: 'max' }, async () => {
        const queues = await look.read();
        return queues ? [sample(read(queues))] : [];
      }),
  );
  const byResource = RESOURCE_GAUGES.map(
    ({ name, help, read }) =>
      new ReadMetric({ name, help, type: 'gauge', aggregator: 'max' }, async () => {
        const queues = await look.read();
        return Object.entries(queues ? read(queues) : {}).map(([resource, value]) =>
          sample(value, { resource }),
        );
      }),
  );
  return [...gauges, ...byResource];
}

const sample = (value: number, labels: Sample['labels'] = {}): Sample => ({ value, labels });

/** As Prometheus wants it: each bucket holds all that is not longer than its bound. */
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
