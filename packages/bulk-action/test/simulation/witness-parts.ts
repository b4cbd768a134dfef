import type { ResolvedBulkActionConfig } from '../../src/options.js';
import type { BulkStore } from '../../src/ports.js';
import type { Tally } from './chaos.js';
import type { Scheduler, SimClock } from './scheduler.js';
import type { Truth, Violations } from './truth.js';

/** What a witness needs. */
export interface WitnessParts {
  readonly store: BulkStore;
  readonly config: ResolvedBulkActionConfig;
  readonly truth: Truth;
  readonly violations: Violations;
  readonly scheduler: Scheduler;
  /** The store's. */
  readonly clock: SimClock;
  readonly tally: Tally;
}
