import { registerMetrics as registerBulkAction } from '@millrace/bulk-action/metrics';
import { BulkActionEngine } from '@millrace/bulk-action/nestjs';
import { ROUTES } from '@millrace/contract';
import { type Metric, registerMetrics } from '@millrace/foundation/metrics';
import { registerMetrics as registerOrchestrator } from '@millrace/orchestrator/metrics';
import { Operations, OrchestratorService } from '@millrace/orchestrator/nestjs';
import { Outbox } from '@millrace/outbox';
import { registerMetrics as registerOutbox } from '@millrace/outbox/metrics';
import type { ChatService } from '@millrace/runtime/chat';
import { Controller, Inject, Injectable, Optional, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { ChatHost } from '../chat/chat-host.js';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { HandleRoute } from '../http/routes.js';
import { METRICS, processGauge } from './server-metrics.js';

/** How long a scrape waits for a store; then it shows what it saw last. */
const STORE_WAIT_MS = 1_000;

/** Everything that a scrape shows. */
@Injectable()
export class EngineMetrics {
  readonly #registry: Registry;

  /** Runs before anything runs: what happens from the first job on is counted. */
  constructor(
    @Inject(PARTS) { metrics: { registry }, app, clock }: ServerParts,
    @Inject(BulkActionEngine) engine: BulkActionEngine,
    @Inject(Outbox) outbox: Outbox,
    @Inject(OrchestratorService) orchestrator: OrchestratorService,
    @Inject(Operations) operations: Operations,
    @Optional() @Inject(ChatHost) chat?: ChatHost,
  ) {
    const options = { storeWaitMs: STORE_WAIT_MS, clock };
    registerBulkAction(registry, engine, options);
    registerOutbox(registry, outbox, options);
    const routes = Object.keys(app.routes);
    registerOrchestrator(registry, { events: orchestrator.events, operations }, { ...options, routes });
    if (chat) registerMetrics(registry, chatMetrics(chat.chat));
    this.#registry = registry;
  }

  /** The type of what `text` gives. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics now, as Prometheus reads them. Stores that do not answer cost a second together. */
  async text(): Promise<string> {
    const texts = await Promise.all([this.#registry.metrics(), processMetrics().metrics()]);
    return texts.join('\n');
  }
}

const chatMetrics = (chat: Pick<ChatService, 'stats'>): readonly Metric[] => [
  processGauge(METRICS.chatTasks, () => {
    const { queued, active, stored } = chat.stats;
    return Object.entries({ queued, active, stored }).map(([state, value]) => ({ value, labels: { state } }));
  }),
  processGauge(METRICS.chatLanes, () => chat.stats.lanes),
];

let ofProcess: Registry | undefined;

/**
 * Metrics of this process: memory, processor time, event loop, garbage collection. All servers of a process share them, because
 * prom-client observes the process until it exits, and each observer costs.
 */
function processMetrics(): Registry {
  if (!ofProcess) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
  }
  return ofProcess;
}

/** Serves the scrapes of Prometheus. */
@Controller()
export class MetricsController {
  readonly #metrics: EngineMetrics;

  constructor(@Inject(EngineMetrics) metrics: EngineMetrics) {
    this.#metrics = metrics;
  }

  @HandleRoute(ROUTES.getMetrics)
  async metrics(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    reply.type(this.#metrics.contentType);
    return this.#metrics.text();
  }
}
