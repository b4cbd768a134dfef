import { type Clock, StoreLook, systemClock } from '@millrace/foundation';
import { Counter, Gauge, Histogram, type OpenMetricsContentType, type Registry } from 'prom-client';
import type { Batches } from '../batches.js';
import type { OutboxEvents } from '../events.js';
import type { BacklogView } from '../postgres/view-store.js';
import type { OldestTransaction, VacuumWatch } from '../vacuum-watch.js';
import {
  BACKLOG_STATES,
  BATCH_ENDS,
  DURATION_BUCKETS_MS,
  METRICS,
  statusLabel,
  TASK_RESULTS,
} from './catalogue.js';

/** A registry of prom-client, whichever format it writes. */
export type MetricsRegistry = Registry | Registry<OpenMetricsContentType>;

/** What metrics look at: an Outbox, or the parts of one. */
export interface MeasuredOutbox {
  readonly events: Pick<OutboxEvents, 'on'>;
  readonly batches: Pick<Batches, 'backlog'>;
  readonly vacuum: Pick<VacuumWatch, 'look'>;
}

/** How metrics are read. */
export interface MetricsOptions {
  /** Longest time a scrape waits for the database (1000); then it shows what it saw last. */
  readonly storeWaitMs?: number | undefined;
  /** Times that wait (the machine's). */
  readonly clock?: Clock | undefined;
}

/** Well below the 10 s that Prometheus waits for a scrape. */
const STORE_WAIT_MS = 1_000;

/**
 * Registers all metrics of an outbox. What happens in this process is counted from now on, so register before the start; the backlog and
 * the oldest transaction are read at each scrape, with one query each.
 * @returns a function that takes them out of the registry again and ends the counting.
 * @throws Error of prom-client when a name is taken; then nothing is registered.
 */
export function registerMetrics(
  registry: MetricsRegistry,
  outbox: MeasuredOutbox,
  { storeWaitMs = STORE_WAIT_MS, clock = systemClock }: MetricsOptions = {},
): () => void {
  const names = Object.values(METRICS).map(({ name }) => name);
  // Looked at before, not undone after: what has a name already belongs to somebody else.
  const taken = names.find((name) => registry.getSingleMetric(name));
  if (taken !== undefined)
    throw new Error(`A metric with the name ${taken} has already been registered: one outbox per registry.`);
  const registers = [registry];
  const look = <T>(ask: () => Promise<T>) => new StoreLook({ ask, clock, waitMs: storeWaitMs });
  registerBacklog(
    registers,
    look(() => outbox.batches.backlog()),
  );
  registerVacuum(
    registers,
    look(() => outbox.vacuum.look()),
  );
  const unlisten = countEvents(registers, outbox.events);
  const own = names.map((name) => [name, registry.getSingleMetric(name)] as const);
  return () => {
    for (const end of unlisten) end();
    // Another metric that has its name meanwhile stays.
    for (const [name, metric] of own)
      if (registry.getSingleMetric(name) === metric) registry.removeSingleMetric(name);
  };
}

/** Of several processes the greatest: all of them see the same database. */
function registerBacklog(registers: MetricsRegistry[], look: StoreLook<BacklogView>): void {
  const backlog = new Gauge({
    ...METRICS.backlog,
    labelNames: ['status'],
    registers,
    aggregator: 'max',
    async collect() {
      const seen = await look.read();
      if (seen) for (const status of BACKLOG_STATES) backlog.set({ status }, seen[status]);
    },
  });
  const oldest = new Gauge({
    ...METRICS.oldestReadyAge,
    registers,
    aggregator: 'max',
    async collect() {
      const seen = await look.read();
      // No line, instead of a 0 that nobody has seen.
      if (seen) oldest.set(seen.oldestReadyAgeMs ?? 0);
      else oldest.remove();
    },
  });
}

function registerVacuum(registers: MetricsRegistry[], look: StoreLook<OldestTransaction | undefined>): void {
  const age = new Gauge({
    ...METRICS.oldestTransactionAge,
    registers,
    aggregator: 'max',
    async collect() {
      const seen = await look.read();
      // An embedded database has one session, which cannot be in its own way.
      if (seen) age.set(seen.ageMs);
      else age.remove();
    },
  });
}

function countEvents(registers: MetricsRegistry[], events: Pick<OutboxEvents, 'on'>): (() => void)[] {
  const tasks = new Counter({ ...METRICS.tasks, labelNames: ['result'], registers });
  const batches = new Counter({ ...METRICS.batches, labelNames: ['status'], registers });
  const leases = new Counter({ ...METRICS.leasesExpired, registers });
  // No label for the handler: a DAG may have a hundred thousand of them.
  const durations = new Histogram({
    ...METRICS.taskDuration,
    buckets: [...DURATION_BUCKETS_MS],
    registers,
  });
  // A counter that begins with its first event hides it: rates need the 0 before.
  for (const result of Object.keys(TASK_RESULTS)) tasks.inc({ result }, 0);
  for (const status of BATCH_ENDS) batches.inc({ status: statusLabel(status) }, 0);
  return [
    events.on('task', ({ result, durationMs }) => {
      tasks.inc({ result });
      if (TASK_RESULTS[result].timed) durations.observe(durationMs);
    }),
    events.on('batch', ({ status }) => batches.inc({ status: statusLabel(status) })),
    events.on('lease-expired', ({ count }) => leases.inc(count)),
  ];
}
