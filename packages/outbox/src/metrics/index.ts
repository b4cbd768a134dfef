/**
 * Prometheus metrics of an outbox, for a registry of prom-client.
 *
 * @packageDocumentation
 */
export {
  type MeasuredOutbox,
  type MetricsOptions,
  type MetricsRegistry,
  registerMetrics,
} from './register-metrics.js';
