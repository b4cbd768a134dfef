import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Draining } from '../http/draining.js';
import type { Streams } from '../http/streams.js';
import { METRICS, REQUEST_BUCKETS_MS } from './catalogue.js';

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

/** What this server counts of itself. The engines add theirs to the same registry. */
export class ServerMetrics {
  readonly registry = new Registry();
  readonly #requests: Counter<'method' | 'route' | 'status'>;
  readonly #durations: Histogram<'route'>;

  constructor({ draining, streams, version, role }: MeasuredServer) {
    const registers = [this.registry];
    this.#requests = new Counter({
      ...METRICS.requests,
      labelNames: ['method', 'route', 'status'],
      registers,
    });
    this.#durations = new Histogram({
      ...METRICS.requestDuration,
      labelNames: ['route'],
      buckets: [...REQUEST_BUCKETS_MS],
      registers,
    });
    const gauge = (metric: { name: string; help: string }, read: () => number) =>
      new Gauge({
        ...metric,
        registers,
        collect() {
          this.set(read());
        },
      });
    gauge(METRICS.requestsOpen, () => draining.open);
    gauge(METRICS.streams, () => streams.size);
    new Counter({
      ...METRICS.streamsDropped,
      registers,
      collect() {
        this.reset();
        this.inc(streams.dropped);
      },
    });
    new Gauge({ ...METRICS.info, labelNames: ['version', 'role'], registers }).set({ version, role }, 1);
  }

  /** Counts a request. */
  noteRequest({ method, route, status, ms, isStream }: MeasuredRequest): void {
    this.#requests.inc(
      route === undefined ? { method: OTHER_METHOD, route: NO_ROUTE, status } : { method, route, status },
    );
    if (!isStream) this.#durations.observe({ route: route ?? NO_ROUTE }, ms);
  }
}
