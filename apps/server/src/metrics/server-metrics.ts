import {
  histogram,
  type MetricText,
  ObservedMetric,
  type Reading,
  registerMetrics,
  zeroCounter,
} from '@millrace/foundation/metrics';
import { Registry } from 'prom-client';
import type { Draining } from '../http/draining.js';
import type { Streams } from '../http/streams.js';

/** Names and help texts of what the server counts of itself. */
export const METRICS = {
  requests: {
    name: 'http_requests_total',
    help: 'Requests, by method, id of the route and status; 499: the caller went before the answer.',
  },
  requestDuration: {
    name: 'http_request_duration_ms',
    help: 'How long answers took, in milliseconds, by id of the route; streams are not in it.',
  },
  requestsOpen: {
    name: 'http_requests_open',
    help: 'Requests that are being answered, streams too; those that need no key are not counted.',
  },
  streams: { name: 'sse_clients', help: 'Streams of events that are open.' },
  streamsDropped: {
    name: 'sse_clients_dropped_total',
    help: 'Clients of streams that were dropped because they did not read.',
  },
  info: { name: 'millrace_info', help: 'Always 1; the labels tell what runs here.' },
  chatTasks: { name: 'chat_tasks', help: 'Turns of chats in this process, by state.' },
  chatLanes: { name: 'chat_lanes', help: 'Sessions of chats with a turn in this process.' },
} as const;

/** From one millisecond to longer than any budget; the longest budgets are 5 and 30 seconds. */
const REQUEST_BUCKETS_MS: readonly number[] = [
  1, 2, 5, 10, 25, 50, 100, 200, 300, 500, 1_000, 2_500, 5_000, 10_000, 30_000,
];

/** What the metrics of a server look at. */
export interface MeasuredServer {
  readonly draining: Pick<Draining, 'open'>;
  readonly streams: Pick<Streams, 'size' | 'dropped'>;
  readonly version: string;
  readonly role: string;
}

/** A request that has been answered, or given up by its caller. */
export interface MeasuredRequest {
  readonly method: string;
  /** The id of its route; undefined for what is none. */
  readonly route: string | undefined;
  readonly status: number;
  readonly ms: number;
  /** A stream lasts as long as somebody listens, which says nothing. */
  readonly isStream: boolean;
}

/** The label of whatever is no route: what callers make up must not become labels. */
const NO_ROUTE = 'none';
const OTHER_METHOD = 'OTHER';

/** Metrics of the server itself. The engines register theirs in the same registry. */
export class ServerMetrics {
  readonly registry = new Registry();
  readonly #requests = zeroCounter(METRICS.requests, ['method', 'route', 'status']);
  readonly #durations = histogram(METRICS.requestDuration, REQUEST_BUCKETS_MS, ['route']);

  constructor({ draining, streams, version, role }: MeasuredServer) {
    registerMetrics(this.registry, [
      this.#requests,
      this.#durations,
      processGauge(METRICS.requestsOpen, () => draining.open),
      processGauge(METRICS.streams, () => streams.size),
      new ObservedMetric({
        ...METRICS.streamsDropped,
        type: 'counter',
        aggregator: 'sum',
        read: () => streams.dropped,
      }),
      processGauge(METRICS.info, () => [{ value: 1, labels: { version, role } }]),
    ]);
  }

  /** Counts a request. */
  noteRequest({ method, route, status, ms, isStream }: MeasuredRequest): void {
    this.#requests.inc(
      route === undefined ? { method: OTHER_METHOD, route: NO_ROUTE, status } : { method, route, status },
    );
    if (!isStream) this.#durations.observe({ route: route ?? NO_ROUTE }, ms);
  }
}

/** A gauge of this process: those of several processes add up. */
export const processGauge = (text: MetricText, read: () => Reading): ObservedMetric =>
  new ObservedMetric({ ...text, type: 'gauge', aggregator: 'sum', read });
