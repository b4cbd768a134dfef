import type { BackpressureService } from '../backpressure-service.js';
import type { BulkStore } from '../ports.js';
import { changeOrEnd, type GroupChange } from '../refusals.js';
import { parseGroupRef } from '../rules/ids.js';

/** What a RateLimiterService takes from outside. */
export interface RateLimiterServiceDependencies {
  readonly store: Pick<BulkStore, 'groups'>;
  readonly backpressure: Pick<BackpressureService, 'checkRate'>;
}

/** The rate limits of groups. Tokens are spent by starts alone. */
export class RateLimiterService {
  readonly #store: RateLimiterServiceDependencies['store'];
  readonly #backpressure: RateLimiterServiceDependencies['backpressure'];

  /** @param dependencies - see RateLimiterServiceDependencies. */
  constructor({ store, backpressure }: RateLimiterServiceDependencies) {
    this.#store = store;
    this.#backpressure = backpressure;
  }

  /**
   * Whether a job of the group would find its tokens now: the group's, its tenant's and the engine's. Spends none.
   * @param groupId - plain, or `tenant/id`.
   * @param cost - of the job (1).
   * @returns and in how many milliseconds it will, 0 when it does now.
   * @throws MillraceError `GROUP_NOT_FOUND`, `ID_INVALID`, `OPTION_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  checkRate(groupId: string, cost = 1): Promise<{ readonly allowed: boolean; readonly nextInMs: number }> {
    return this.#backpressure.checkRate(groupId, cost);
  }

  /**
   * Takes a group out of the limiter: it has no rate of its own any more, only those of tenant and engine. The limiter of a group
   * that ends goes with it by itself, so for such a group nothing changes.
   * @param groupId - plain, or `tenant/id`.
   * @throws MillraceError `GROUP_NOT_FOUND`, `ID_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  async deactivateGroup(groupId: string): Promise<GroupChange> {
    const { key } = parseGroupRef(groupId);
    return changeOrEnd(key, await this.#store.groups.update(key, { rps: null, burst: null }));
  }
}
