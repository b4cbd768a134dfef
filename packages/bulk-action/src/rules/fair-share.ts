import type { TenantShare, TenantView } from '../model.js';

/**
 * Compares what each tenant got with what its weight entitles it to.
 * @param tenants - all that want or were served something lately: shares are parts of their sum.
 * @returns in the order given; a tenant that wants nothing now is entitled to nothing.
 */
export function sharesOf(tenants: readonly TenantView[]): TenantShare[] {
  const wants = ({ pending, inFlight }: TenantView) => pending + inFlight > 0;
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const served = sum(tenants.map(({ servedPerSecond }) => servedPerSecond));
  const weights = sum(tenants.filter(wants).map(({ weight }) => weight));
  return tenants.map((tenant) => ({
    ...tenant,
    share: served > 0 ? tenant.servedPerSecond / served : 0,
    fairShare: wants(tenant) && weights > 0 ? tenant.weight / weights : 0,
  }));
}

/**
 * Those with the largest shares first; shares are of the whole, also when only some are shown.
 * @param tenants - all who want something or were served lately.
 * @param limit - how many to show.
 */
export const largestShares = (tenants: readonly TenantView[], limit: number): readonly TenantShare[] =>
  sharesOf(tenants)
    .sort((a, b) => b.share - a.share || b.pending - a.pending || (a.id < b.id ? -1 : 1))
    .slice(0, limit);
