import type { Registry } from 'prom-client';

/** What this package needs of prom-client's Registry; every kind of registry has it. */
export type MetricsRegistry = Pick<Registry, 'registerMetric' | 'removeSingleMetric' | 'getSingleMetric'>;

/** One line of a scrape. */
export interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  /** Of the line, where it is not the metric's own name. */
  readonly metricName?: string;
}

/** What a metric is. */
export interface MetricDescription {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** How prom-client's cluster mode puts the processes of a machine together. */
  readonly aggregator: 'sum' | 'max';
}

/**
 * A metric whose values are read when somebody scrapes: the engine counts by itself, and nothing is counted twice. It is a
 * metric of its own kind because prom-client's histogram can only be filled one observation at a time.
 */
export class ReadMetric {
  /** Not readonly: prom-client takes `_total` off the name of a counter when it writes OpenMetrics. */
  name: string;
  readonly help: string;
  readonly type: MetricDescription['type'];
  readonly aggregator: MetricDescription['aggregator'];
  readonly #registeredAs: string;
  readonly #read: () => Promise<readonly Sample[]> | readonly Sample[];

  /**
   * @param description - see MetricDescription.
   * @param read - the values now; must neither throw nor take long.
   */
  constructor(
    { name, help, type, aggregator }: MetricDescription,
    read: () => Promise<readonly Sample[]> | readonly Sample[],
  ) {
    this.name = name;
    this.help = help;
    this.type = type;
    this.aggregator = aggregator;
    this.#registeredAs = name;
    this.#read = read;
  }

  /** What prom-client asks a metric at every scrape. */
  async get() {
    const values = await this.#read();
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values };
  }

  /** For `registry.resetMetrics()`: what the engine has counted is the engine's. */
  reset(): void {}

  /**
   * Puts it into a registry.
   * @param registry - where scrapes find it.
   * @throws Error of prom-client when the name is taken.
   */
  register(registry: MetricsRegistry): void {
    // The type lists prom-client's own classes; the registry itself needs name, type, get and reset.
    registry.registerMetric(this as unknown as Parameters<Registry['registerMetric']>[0]);
  }

  /**
   * Takes it out again; another metric that has its name meanwhile stays.
   * @param registry - where it was put.
   */
  remove(registry: MetricsRegistry): void {
    const found: unknown = registry.getSingleMetric(this.#registeredAs);
    if (found === this) registry.removeSingleMetric(this.#registeredAs);
  }
}
