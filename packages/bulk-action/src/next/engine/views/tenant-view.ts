import type { TenantShare as FormerTenantShare, TenantView as FormerTenantView } from '../../../model.js';
import { ratePerSecond } from '../../../rules/rate-window.js';
import type { Tenant } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { limitsOf } from './group-view.js';

/** A tenant as it is now. */
export interface TenantView extends FormerTenantView {
  /** Part of the live slots that it may always have, 0 to 1. */
  readonly minShare: number;
  readonly paused: boolean;
}

/** What a tenant gets, and what it is entitled to. */
export type TenantShare = TenantView & Pick<FormerTenantShare, 'share' | 'fairShare'>;

/** Returns a tenant as it is now. */
export const tenantView = (state: EngineState, tenant: Tenant): TenantView => ({
  id: tenant.id,
  weight: tenant.weight,
  ...limitsOf(tenant),
  minShare: tenant.minShare,
  paused: tenant.isPaused,
  groups: tenant.openGroups,
  pending: tenant.pending,
  inFlight: tenant.inFlight,
  served: tenant.served,
  servedPerSecond: ratePerSecond(tenant.servedWindow, state.nowMs),
});

/**
 * Returns the tenants with the largest shares among all that have work or were served in the last seconds. `fairShare` is the
 * larger of a tenant's minimum and its part by weight of what the minimums of others leave. Takes O(tenants).
 */
export function fairness(state: EngineState, limit: number): readonly TenantShare[] {
  const busy: { readonly tenant: Tenant; readonly rate: number }[] = [];
  let served = 0;
  for (const tenant of state.tenants.values()) {
    const rate = ratePerSecond(tenant.servedWindow, state.nowMs);
    served += rate;
    if (rate > 0 || hasWork(tenant)) busy.push({ tenant, rate });
  }
  const fairShareOf = entitlements(state.tenants.values());
  return busy
    .sort(
      (a, b) => b.rate - a.rate || b.tenant.pending - a.tenant.pending || a.tenant.number - b.tenant.number,
    )
    .slice(0, limit)
    .map(({ tenant, rate }) => ({
      ...tenantView(state, tenant),
      share: served > 0 ? rate / served : 0,
      fairShare: fairShareOf(tenant),
    }));
}

const hasWork = ({ pending, inFlight }: Tenant): boolean => pending + inFlight > 0;

/** Divides 1 by weight. A tenant whose part is below its minimum gets the minimum, and the others divide the rest. */
function entitlements(tenants: Iterable<Tenant>): (tenant: Tenant) => number {
  let rest = 1;
  let weights = 0;
  const insured: Tenant[] = [];
  for (const tenant of tenants) {
    if (!hasWork(tenant)) continue;
    weights += tenant.weight;
    if (tenant.minShare > 0) insured.push(tenant);
  }
  // The tenant with the largest minimum for its weight is the first whose part is too small.
  insured.sort((a, b) => b.minShare / b.weight - a.minShare / a.weight);
  const raised = new Set<Tenant>();
  for (const tenant of insured) {
    const { minShare, weight } = tenant;
    if ((rest * weight) / weights >= minShare) break;
    raised.add(tenant);
    rest = Math.max(0, rest - minShare);
    weights -= weight;
  }
  return (tenant) => {
    if (!hasWork(tenant)) return 0;
    return raised.has(tenant) ? tenant.minShare : (rest * tenant.weight) / weights;
  };
}
