import {
  type BulkActionService,
  effectiveWeight,
  type GroupFilter,
  type GroupView,
  hasEnded,
  type ResolvedBulkActionConfig,
} from '@millrace/bulk-action';
import type { FairnessBody } from '@millrace/contract';
import { shownId } from '../http/tenant-scope.js';
import type { Caller } from '../security/caller.js';
import { tenantBody } from './bodies.js';
import { groupShares } from './rules/group-shares.js';

/** The most tenants whose shares the engine tells. */
const TENANTS_MAX = 1_000;
/** How many groups are looked at for those that have not ended: so many pages of so many. */
const PAGES_MAX = 5;
const PAGE_GROUPS = 200;

/** What the shares are read from. */
export interface FairnessSource {
  readonly service: Pick<BulkActionService, 'getFairness' | 'listGroups'>;
  readonly config: Pick<ResolvedBulkActionConfig, 'fairQueue'>;
}

/** Whose shares, for whom. */
export interface FairnessQuestion {
  readonly caller: Pick<Caller, 'tenant'>;
  /** Only this fairness unit. */
  readonly tenantId: string | undefined;
  readonly limit: number;
}

/** Who gets which share, per tenant and group. */
export async function readFairness(
  { service, config }: FairnessSource,
  { caller, tenantId, limit }: FairnessQuestion,
): Promise<FairnessBody> {
  // Of the groups in a namespace there is an index; those of a unit are looked for among all.
  const filter: GroupFilter = caller.tenant === undefined ? { tenantId } : { tenant: caller.tenant };
  const [shares, { groups, isComplete }] = await Promise.all([
    service.getFairness({ limit: TENANTS_MAX }),
    openGroups(service, filter, limit),
  ]);
  const parts = groupShares(
    shares,
    groups.map((group) => ({
      tenantId: group.tenantId,
      effectiveWeight: weightOf(group, config),
      wanted: group.counts.pending + group.counts.inFlight,
      settledPerSecond: group.settledPerSecond,
    })),
  );
  return {
    tenants: shares
      .filter(({ id }) => tenantId === undefined || id === tenantId)
      .slice(0, limit)
      .map((tenant) => ({ ...tenantBody(tenant), share: tenant.share, fairShare: tenant.fairShare })),
    groups: groups.map((group, at) => ({
      groupId: shownId(caller, group.id),
      tenantId: group.tenantId,
      weight: group.weight,
      priorityLevel: group.priorityLevel,
      pending: group.counts.pending,
      inFlight: group.counts.inFlight,
      settledPerSecond: group.settledPerSecond,
      share: parts[at]?.share ?? 0,
      fairShare: parts[at]?.fairShare ?? 0,
    })),
    groupsComplete: isComplete,
  };
}

function weightOf(
  { weight, priorityLevel, counts }: GroupView,
  { fairQueue }: FairnessSource['config'],
): number {
  const done = counts.registered - counts.pending - counts.inFlight;
  const { priorityWeights, alpha } = fairQueue;
  return effectiveWeight(weight, priorityWeights[priorityLevel], alpha, done, counts.registered);
}

/** Groups that have not ended, newest first. */
async function openGroups(
  service: FairnessSource['service'],
  filter: GroupFilter,
  limit: number,
): Promise<{ readonly groups: readonly GroupView[]; readonly isComplete: boolean }> {
  const groups: GroupView[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const found = await service.listGroups(filter, { limit: PAGE_GROUPS, cursor });
    groups.push(...found.items.filter(({ status }) => !hasEnded(status)));
    cursor = found.cursor;
    if (groups.length > limit) return { groups: groups.slice(0, limit), isComplete: false };
    if (cursor === undefined) return { groups, isComplete: true };
  }
  return { groups, isComplete: false };
}
