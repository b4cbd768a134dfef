import type { GroupSlowness, ResourceState } from './congestion-stats.js';
import type {
  GroupKey,
  GroupResult,
  GroupView,
  JobView,
  Page,
  QueuesView,
  TenantShare,
  TenantView,
} from './model.js';
import type { ExplainFacts } from './rules/explain.js';
import type { GroupStatus, JobStatus } from './states.js';

/** Which groups to list. */
export interface GroupFilter {
  readonly tenant?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly status?: GroupStatus | undefined;
}

/** Looks without changing anything; called by BulkActionService. */
export interface StoreViews {
  group(key: GroupKey): Promise<GroupView | undefined>;
  /** The result of a round (the last one that ended). */
  result(key: GroupKey, round?: number): Promise<GroupResult | undefined>;
  job(key: GroupKey, jobId: string): Promise<JobView | undefined>;
  /** Newest first. */
  groups(filter: GroupFilter, limit: number, cursor?: string): Promise<Page<GroupView>>;
  /**
   * Groups that may make progress: neither ended nor paused, unless they have a deadline. Of more than `limit` those that the watcher
   * looks at last, about the newest; costs no more where there are many others.
   */
  activeGroups(limit: number): Promise<readonly GroupView[]>;
  jobs(
    key: GroupKey,
    filter: { readonly state?: JobStatus | undefined },
    limit: number,
    cursor?: string,
  ): Promise<Page<JobView>>;
  tenant(tenantId: string): Promise<TenantView | undefined>;
  /** Those who want or were served something lately, the busiest first. */
  fairness(limit: number): Promise<readonly TenantShare[]>;
  queues(): Promise<QueuesView>;
  /** Every resource that is configured or was called, by name. */
  resources(): Promise<readonly ResourceState[]>;
  /** How a group is held back; nothing of one that has ended. */
  slowness(key: GroupKey): Promise<GroupSlowness | undefined>;
  explain(key: GroupKey, jobId: string): Promise<ExplainFacts | undefined>;
}
