import type { GroupCongestion, ResourceCongestion } from './congestion-stats.js';
import type { ResolvedBulkActionConfig } from './options.js';
import type { BulkStore } from './ports.js';
import { groupNotFound } from './refusals.js';
import { parseGroupRef } from './rules/ids.js';
import { levelOf } from './rules/throttle-backoff.js';

/** What a CongestionStatsService takes from outside. */
export interface CongestionStatsServiceDependencies {
  readonly store: Pick<BulkStore, 'views'>;
  readonly config: Pick<ResolvedBulkActionConfig, 'congestion'>;
}

/** How called services hold work back, now and in the past hour (`congestion.statsRetentionMs`). */
export class CongestionStatsService {
  readonly #store: CongestionStatsServiceDependencies['store'];
  readonly #config: CongestionStatsServiceDependencies['config'];

  /** @param dependencies - store and configuration. */
  constructor({ store, config }: CongestionStatsServiceDependencies) {
    this.#store = store;
    this.#config = config;
  }

  /**
   * How a group is held back. The statistics of a group go with its end.
   * @param groupId - plain, or `tenant/id`.
   * @throws MillraceError `GROUP_NOT_FOUND` also for a group that has ended, `ID_INVALID`.
   */
  async getStats(groupId: string): Promise<GroupCongestion> {
    const { key } = parseGroupRef(groupId);
    const slowness = await this.#store.views.slowness(key);
    if (!slowness) throw groupNotFound(key);
    const { done, ...stats } = slowness;
    const { throttles, lastBackoffMs } = stats;
    const level = levelOf(lastBackoffMs, this.#config.congestion.baseBackoffMs);
    return { ...stats, level, throttlesPerJob: throttles / Math.max(1, done) };
  }

  /** Every service that is configured or was called, by name. */
  async getResources(): Promise<readonly ResourceCongestion[]> {
    const resources = await this.#store.views.resources();
    return resources.map((resource) => {
      const { starts, throttles } = resource;
      return { ...resource, throttlesPerJob: throttles / Math.max(1, starts - throttles) };
    });
  }
}
