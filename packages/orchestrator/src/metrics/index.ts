/**
 * Prometheus metrics of an orchestrator, for a registry of prom-client.
 *
 * @packageDocumentation
 */
export {
  type MeasuredOrchestrator,
  type MetricsOptions,
  type MetricsRegistry,
  registerMetrics,
} from './register-metrics.js';
