/* Pure: who of a tenant's groups gets which part of what the tenant gets. */

/** A group as far as its share goes. */
export interface SharingGroup {
  readonly tenantId: string;
  /** What it counts against the other groups of its tenant: weight and priority together. */
  readonly effectiveWeight: number;
  /** Jobs that wait or run. */
  readonly wanted: number;
  /** Jobs that ended in a second, measured. */
  readonly settledPerSecond: number;
}

/** A tenant's part of everything, and the part that it is entitled to. */
export interface SharingTenant {
  readonly id: string;
  readonly share: number;
  readonly fairShare: number;
}

/** A group's part of everything, and the part that it is entitled to: 0 to 1. */
export interface GroupShare {
  readonly share: number;
  readonly fairShare: number;
}

/**
 * Divides each tenant's share among its groups: what was served by the jobs that ended, what is fair by the weights of those that
 * want something. The parts of a tenant's groups never sum to more than the tenant's.
 * @param tenants - those whose shares are known; groups of others have none.
 * @returns in the order of the groups.
 */
export function groupShares(
  tenants: readonly SharingTenant[],
  groups: readonly SharingGroup[],
): readonly GroupShare[] {
  const shares = new Map(tenants.map((tenant) => [tenant.id, tenant]));
  const sums = new Map<string, { settled: number; weight: number }>();
  for (const group of groups) {
    const sum = sums.get(group.tenantId) ?? { settled: 0, weight: 0 };
    sum.settled += group.settledPerSecond;
    sum.weight += weightOf(group);
    sums.set(group.tenantId, sum);
  }
  return groups.map((group) => {
    const { share = 0, fairShare = 0 } = shares.get(group.tenantId) ?? {};
    const { settled = 0, weight = 0 } = sums.get(group.tenantId) ?? {};
    return {
      share: share * partOf(group.settledPerSecond, settled),
      fairShare: fairShare * partOf(weightOf(group), weight),
    };
  });
}

/** Who wants nothing is entitled to nothing. */
const weightOf = ({ wanted, effectiveWeight }: SharingGroup): number => (wanted > 0 ? effectiveWeight : 0);

const partOf = (one: number, all: number): number => (all > 0 ? Math.min(1, one / all) : 0);
