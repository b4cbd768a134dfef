import { registerMetrics as registerBulkAction } from '@millrace/bulk-action/metrics';
import { BulkActionEngine } from '@millrace/bulk-action/nestjs';
import { registerMetrics as registerOrchestrator } from '@millrace/orchestrator/metrics';
import { Operations, OrchestratorService } from '@millrace/orchestrator/nestjs';
import { Outbox } from '@millrace/outbox';
import { registerMetrics as registerOutbox } from '@millrace/outbox/metrics';
import type { ChatService } from '@millrace/runtime/chat';
import { Inject, Injectable, Optional } from '@nestjs/common';
import { Gauge, type Registry } from 'prom-client';
import { ChatHost } from '../chat/chat-host.js';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { METRICS } from './catalogue.js';
import { processMetrics } from './process-metrics.js';

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
    if (chat) registerChat(registry, chat.chat);
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

function registerChat(registry: Registry, chat: Pick<ChatService, 'stats'>): void {
  const registers = [registry];
  new Gauge({
    ...METRICS.chatTasks,
    labelNames: ['state'],
    registers,
    collect() {
      const { queued, active, stored } = chat.stats;
      for (const [state, count] of Object.entries({ queued, active, stored })) this.set({ state }, count);
    },
  });
  new Gauge({
    ...METRICS.chatLanes,
    registers,
    collect() {
      this.set(chat.stats.lanes);
    },
  });
}
