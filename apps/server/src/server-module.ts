import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type Provider,
  type Type,
} from '@nestjs/common';
import { DeadLettersController } from './bulk/dead-letters-controller.js';
import { GroupsController } from './bulk/groups-controller.js';
import { JobsController } from './bulk/jobs-controller.js';
import { SharesController } from './bulk/shares-controller.js';
import { SubmitController } from './bulk/submit-controller.js';
import { ChatController } from './chat/chat-controller.js';
import { ChatHost } from './chat/chat-host.js';
import { engineModules } from './compose/engines.js';
import { gracePlan } from './compose/grace-plan.js';
import { PARTS, type ServerParts } from './compose/parts.js';
import { Demo, DemoController } from './demo/demo.js';
import { DocsController } from './docs/docs-controller.js';
import { ChangesController } from './events/changes-controller.js';
import { AuditController } from './fleet/audit-log.js';
import { FleetController } from './fleet/fleet-controller.js';
import { FLEET_PROVIDERS } from './fleet/providers.js';
import { StatsController } from './fleet/stats-controller.js';
import { HealthController } from './health/health-controller.js';
import { Readiness } from './health/readiness.js';
import { EngineMetrics, MetricsController } from './metrics/engine-metrics.js';
import { BatchesController } from './outbox/batches-controller.js';
import { DagsController } from './outbox/dags-controller.js';
import { SchedulesController } from './outbox/schedules-controller.js';
import { PageController } from './page/page-controller.js';
import { CallerController } from './security/caller-controller.js';

/** Waits until the last responses are sent. Nest closes the connections after that. */
@Injectable()
class ResponseDrain implements BeforeApplicationShutdown {
  readonly #parts: ServerParts;

  constructor(@Inject(PARTS) parts: ServerParts) {
    this.#parts = parts;
  }

  /** Nest calls it after the engines are drained. */
  async beforeApplicationShutdown(): Promise<void> {
    const { draining, config } = this.#parts;
    await draining.settled(gracePlan(config.gracePeriodMs).lastAnswersMs);
  }
}

/** The root of the application. */
@Module({})
export class ServerModule {
  /** Everything that a role serves. */
  static register(parts: ServerParts): DynamicModule {
    const isWorker = parts.config.role === 'worker';
    return {
      module: ServerModule,
      global: true,
      imports: engineModules(parts),
      controllers: isWorker ? [...EVERYWHERE] : [...EVERYWHERE, ...API],
      // By a function: Nest writes out what it is given as a value.
      providers: [
        { provide: PARTS, useFactory: () => parts },
        ...PROVIDERS,
        ...(isWorker ? [] : API_PROVIDERS),
      ],
      exports: [PARTS],
    };
  }
}

/** Served by every role: what those who watch over processes ask for. */
const EVERYWHERE: readonly Type[] = [HealthController, MetricsController];

/** Served by instances that answer requests. */
const API: readonly Type[] = [
  AuditController,
  ChangesController,
  FleetController,
  StatsController,
  DemoController,
  CallerController,
  DocsController,
  PageController,
  BatchesController,
  SubmitController,
  GroupsController,
  JobsController,
  SharesController,
  DeadLettersController,
  ChatController,
  DagsController,
  SchedulesController,
];

const PROVIDERS: readonly Provider[] = [...FLEET_PROVIDERS, Readiness, EngineMetrics, ResponseDrain];

/** What only those instances need. */
const API_PROVIDERS: readonly Provider[] = [ChatHost, Demo];
