/**
 * Prometheus metrics of an engine, for a registry of prom-client.
 *
 * @packageDocumentation
 */
export { type MeasuredEngine, type MetricsOptions, registerMetrics } from './register-metrics.js';
