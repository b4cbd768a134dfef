import { type Clock, StoreLook, systemClock } from '@millrace/foundation';
import { Counter, Gauge, Histogram, type OpenMetricsContentType, type Registry } from 'prom-client';
import type { OrchestratorEvents } from '../events.js';
import type { Operations } from '../operations.js';
import type { OpenCounts, OperationCounts } from '../ports.js';
import { isTerminal, OPERATION_STATES } from '../states.js';
import { LATENCY_BUCKETS_MS, METRICS, OTHER_ROUTES, REPAIRERS, ROUTE_LABELS_MAX } from './catalogue.js';
import { SeldomAsked } from './seldom-asked.js';

/** A registry of prom-client, whichever format it writes. */
export type MetricsRegistry = Registry | Registry<OpenMetricsContentType>;

/** What metrics look at: an orchestrator, or the parts of one. */
export interface MeasuredOrchestrator {
  readonly events: Pick<OrchestratorEvents, 'on'>;
  readonly operations: Pick<Operations, 'counts' | 'openCounts'>;
}

/** How metrics are read. */
export interface MetricsOptions {
  /** `DOMAIN.EVENT_TYPE` of all routes: each has its lines from the start, and what callers make up is `other`. Without, the first 1000 that come. */
  readonly routes?: readonly string[] | undefined;
  /** Longest time a scrape waits for the store (1000); then it shows what it saw last. */
  readonly storeWaitMs?: number | undefined;
  /** Times that wait (the machine's). */
  readonly clock?: Clock | undefined;
}

/** What has ended is counted one by one: with millions of them, at every scrape of every instance, that is much of what the store does. */
const ENDED_EVERY_MS = 60_000;
/** Well below the 10 s that Prometheus waits for a scrape. */
const STORE_WAIT_MS = 1_000;

/**
 * Registers all metrics of an orchestrator. What happens in this process is counted from now on, so register before the start; what is in the
 * store is read at each scrape: what has not ended with one question, what has with another, at most once a minute.
 * @returns a function that takes them out of the registry again and ends the counting.
 * @throws Error of prom-client when a name is taken; then nothing is registered.
 */
export function registerMetrics(
  registry: MetricsRegistry,
  orchestrator: MeasuredOrchestrator,
  { routes, storeWaitMs = STORE_WAIT_MS, clock = systemClock }: MetricsOptions = {},
): () => void {
  const names = Object.values(METRICS).map(({ name }) => name);
  // Looked at before, not undone after: what has a name already belongs to somebody else.
  const taken = names.find((name) => registry.getSingleMetric(name));
  if (taken !== undefined)
    throw new Error(
      `A metric with the name ${taken} has already been registered: one orchestrator per registry.`,
    );
  const registers = [registry];
  const { operations } = orchestrator;
  const ended = new SeldomAsked({ ask: () => operations.counts(), clock, everyMs: ENDED_EVERY_MS });
  registerCounts(registers, {
    open: new StoreLook({ ask: () => operations.openCounts(), clock, waitMs: storeWaitMs }),
    ended: new StoreLook({ ask: () => ended.read(), clock, waitMs: storeWaitMs }),
  });
  const unlisten = countEvents(registers, orchestrator.events, routes);
  const own = names.map((name) => [name, registry.getSingleMetric(name)] as const);
  return () => {
    for (const end of unlisten) end();
    // Another metric that has its name meanwhile stays.
    for (const [name, metric] of own)
      if (registry.getSingleMetric(name) === metric) registry.removeSingleMetric(name);
  };
}

/** Looks at the store: at each scrape, and once in a while. */
interface StoreLooks {
  readonly open: StoreLook<OpenCounts>;
  readonly ended: StoreLook<OperationCounts>;
}

/** Of several processes the greatest: all of them see the same store. */
function registerCounts(registers: MetricsRegistry[], { open, ended }: StoreLooks): void {
  const shared = { registers, aggregator: 'max' as const };
  const operations = new Gauge({
    ...METRICS.operations,
    ...shared,
    labelNames: ['state'],
    async collect() {
      const [now, lately] = await Promise.all([open.read(), ended.read()]);
      for (const state of OPERATION_STATES) {
        const count = isTerminal(state) ? lately?.byState[state] : now?.byState[state];
        if (count !== undefined) operations.set({ state }, count);
      }
    },
  });
  const single = (metric: { name: string; help: string }, read: () => Promise<number | undefined>) => {
    const gauge = new Gauge({
      ...metric,
      ...shared,
      async collect() {
        const seen = await read();
        // No line, instead of a 0 that nobody has seen.
        if (seen === undefined) gauge.remove();
        else gauge.set(seen);
      },
    });
  };
  single(METRICS.deadLetters, async () => (await ended.read())?.deadLetters);
  single(METRICS.oldestDue, async () => (await open.read())?.oldestDueMs);
}

function countEvents(
  registers: MetricsRegistry[],
  events: Pick<OrchestratorEvents, 'on'>,
  routes: readonly string[] | undefined,
): (() => void)[] {
  const byRoute = { labelNames: ['route'], registers };
  const submits = new Counter({ ...METRICS.submits, ...byRoute });
  const fast = new Counter({ ...METRICS.fast, ...byRoute });
  const converted = new Counter({ ...METRICS.converted, ...byRoute });
  const latency = new Histogram({ ...METRICS.latency, ...byRoute, buckets: [...LATENCY_BUCKETS_MS] });
  const refused = new Counter({ ...METRICS.refused, labelNames: ['code'], registers });
  const repairs = new Counter({ ...METRICS.repairs, labelNames: ['by'], registers });
  // A counter that begins with its first event hides it: rates need the 0 before.
  for (const route of routes ?? [])
    for (const counter of [submits, fast, converted]) counter.inc({ route }, 0);
  for (const by of REPAIRERS) repairs.inc({ by }, 0);
  const label = routeLabels(routes);
  return [
    events.on('submitted', ({ route }) => submits.inc(label(route))),
    events.on('fast', ({ route, elapsedMs }) => {
      fast.inc(label(route));
      latency.observe(label(route), elapsedMs);
    }),
    events.on('converted', ({ route, elapsedMs }) => {
      converted.inc(label(route));
      latency.observe(label(route), elapsedMs);
    }),
    events.on('refused', ({ code }) => refused.inc({ code })),
    events.on('repaired', ({ by }) => repairs.inc({ by })),
  ];
}

function routeLabels(routes: readonly string[] | undefined): (route: string) => { route: string } {
  const known = new Set(routes);
  return (route) => {
    if (routes === undefined && known.size < ROUTE_LABELS_MAX) known.add(route);
    return { route: known.has(route) ? route : OTHER_ROUTES };
  };
}
