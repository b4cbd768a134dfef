import type { Clock, Logger, Rng } from '@millrace/foundation';
import type { ResolvedBulkActionConfig } from '../options.js';
import type { BulkStore } from '../ports.js';

/** What every role of the pool works with. */
export interface PoolEnvironment {
  readonly store: BulkStore;
  readonly config: ResolvedBulkActionConfig;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Logger;
}

/** How long to wait after a store call that failed, before the next one. */
export const PAUSE_AFTER_ERROR_MS = 1000;
