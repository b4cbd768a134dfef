/**
 * Shared parts of the Prometheus metrics: values read at each scrape, counters that begin at 0, and registration of all
 * metrics of a package or none.
 *
 * @packageDocumentation
 */
import { Counter, Histogram, type OpenMetricsContentType, type Registry } from 'prom-client';

/** A registry of prom-client, whatever format it writes. */
export type MetricsRegistry = Registry | Registry<OpenMetricsContentType>;

/** Name and help text of a metric. */
export interface MetricText {
  readonly name: string;
  readonly help: string;
}

/** Labels of a sample. */
export type Labels = Readonly<Record<string, string | number>>;

/** One line of a scrape. */
export interface Sample {
  readonly value: number;
  readonly labels: Labels;
  /** Name of the line if it differs from the metric's, such as `…_bucket`. */
  readonly metricName?: string;
}

/** A metric that `registerMetrics` accepts. */
export type Metric = ObservedMetric | Counter<string> | Histogram<string>;

/** The definition of a metric whose values are read at each scrape. */
export interface ObservedMetricOptions extends MetricText {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** How prom-client's cluster mode combines processes: `max` for values of a store, which are the same in all. */
  readonly aggregator: 'sum' | 'max';
  /** The values now. undefined: no line, because a 0 would look measured. Must not throw or take long. */
  read(): Promise<Reading> | Reading;
}

/** One value without labels, several with labels, or none. */
export type Reading = number | readonly Sample[] | undefined;

/**
 * A metric whose values are read at each scrape, so that nothing is counted twice. It does not extend prom-client's
 * classes, because its histogram takes only one observation at a time.
 */
export class ObservedMetric {
  /** Mutable: prom-client removes `_total` from the name of a counter when it writes OpenMetrics. */
  name: string;
  readonly help: string;
  readonly type: ObservedMetricOptions['type'];
  readonly aggregator: ObservedMetricOptions['aggregator'];
  readonly #read: ObservedMetricOptions['read'];

  constructor({ name, help, type, aggregator, read }: ObservedMetricOptions) {
    this.name = name;
    this.help = help;
    this.type = type;
    this.aggregator = aggregator;
    this.#read = read;
  }

  /** Called by prom-client at each scrape. */
  async get() {
    const { name, help, type, aggregator } = this;
    const reading = await this.#read();
    const values = typeof reading === 'number' ? [{ value: reading, labels: {} }] : (reading ?? []);
    return { name, help, type, aggregator, values };
  }

  /** Called by `registry.resetMetrics()`. Does nothing: the values belong to what is measured. */
  reset(): void {}
}

/** Makes a gauge of a store, whose values are read at each scrape. Of several processes the highest value counts. */
export const storeGauge = (text: MetricText, read: ObservedMetricOptions['read']): ObservedMetric =>
  new ObservedMetric({ ...text, type: 'gauge', aggregator: 'max', read });

/**
 * Makes a counter that begins at 0 for each of `labels`. A counter that begins with its first event hides it, because a
 * rate needs the 0 before.
 */
export function zeroCounter<L extends string = never>(
  text: MetricText,
  labelNames: readonly L[] = [],
  labels: readonly Readonly<Record<L, string>>[] = [],
): Counter<L> {
  const counter = new Counter<L>({ ...text, labelNames: [...labelNames], registers: [] });
  for (const each of labels) counter.inc(each, 0);
  return counter;
}

/** Makes a histogram with these upper bounds. */
export const histogram = <L extends string = never>(
  text: MetricText,
  buckets: readonly number[],
  labelNames: readonly L[] = [],
): Histogram<L> =>
  new Histogram<L>({ ...text, buckets: [...buckets], labelNames: [...labelNames], registers: [] });

/**
 * Registers all metrics, or none if a name is taken.
 * @param listen - subscribes to the events that the metrics count. Returns the functions that unsubscribe.
 * @returns a function that removes the metrics and unsubscribes.
 * @throws Error of prom-client if a name is taken.
 */
export function registerMetrics(
  registry: MetricsRegistry,
  metrics: readonly Metric[],
  listen: () => readonly (() => void)[] = () => [],
): () => void {
  const registered: [name: string, metric: Metric][] = [];
  const remove = () => {
    // Another metric may have the name by now.
    for (const [name, metric] of registered.splice(0))
      if ((registry.getSingleMetric(name) as unknown) === metric) registry.removeSingleMetric(name);
  };
  try {
    for (const metric of metrics) {
      const { name } = metric as ObservedMetric;
      // The type lists prom-client's own classes. The registry needs name, type, get and reset.
      registry.registerMetric(metric as Counter);
      registered.push([name, metric]);
    }
  } catch (error) {
    remove();
    throw error;
  }
  const unlisten = listen();
  return () => {
    for (const end of unlisten) end();
    remove();
  };
}
