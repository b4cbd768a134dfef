import type { BulkActionEngine } from '../engine.js';
import { CongestionControlService } from './congestion-control-service.js';
import { FairQueueService } from './fair-queue-service.js';
import { InFlightQueueService } from './in-flight-queue-service.js';
import { NonReadyQueueService } from './non-ready-queue-service.js';
import { RateLimiterService } from './rate-limiter-service.js';
import { ReadyQueueService } from './ready-queue-service.js';

/** The queues and controls of an engine by hand, each member one verb of its store. */
export interface EngineServices {
  readonly fairQueue: FairQueueService;
  readonly readyQueue: ReadyQueueService;
  readonly nonReadyQueue: NonReadyQueueService;
  readonly inFlightQueue: InFlightQueueService;
  readonly rateLimiter: RateLimiterService;
  readonly congestionControl: CongestionControlService;
}

/**
 * Makes the services of an engine; they are as alive as it is.
 * @param engine - whose store, configuration and held jobs they work on.
 */
export function engineServices(engine: BulkActionEngine): EngineServices {
  const { store, config, clock, service, backpressure, held } = engine;
  return {
    fairQueue: new FairQueueService({ service, held }),
    readyQueue: new ReadyQueueService({ store, config, backpressure, held, clock }),
    nonReadyQueue: new NonReadyQueueService({ store, held }),
    inFlightQueue: new InFlightQueueService({ held }),
    rateLimiter: new RateLimiterService({ store, backpressure }),
    congestionControl: new CongestionControlService({ store, held }),
  };
}
