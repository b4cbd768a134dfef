import type { ResolvedBulkActionConfig } from '../../src/options.js';
import type { Truth, TruthGroup, TruthStart, Violations } from './truth.js';

interface Contender {
  readonly name: string;
  readonly weight: number;
  readonly has: (group: TruthGroup) => boolean;
}

/**
 * I6 for a run in which everything was submitted before the first start, nothing failed and nothing was limited: for
 * any two with work waiting |W_i/w_i − W_j/w_j| ≤ c_i/w_i + c_j/w_j over any interval; between tenants, and between
 * the groups of each. The jobs of a group start in the order of their registration (I5).
 * @param truth - with all starts, in the order in which ready let them go, which is the order of the fair queue.
 */
export function checkFairness(
  truth: Truth,
  config: ResolvedBulkActionConfig,
  tenantWeights: Readonly<Record<string, number>>,
  violations: Violations,
): void {
  const groups = [...truth.groups.values()];
  const effective = ({ definition }: TruthGroup) =>
    definition.weight * config.fairQueue.priorityWeights[definition.priorityLevel];
  const tenantIds = [...new Set(groups.map(({ tenantId }) => tenantId))];
  const membersOf = (id: string) => groups.filter(({ tenantId }) => tenantId === id);
  const tenants = tenantIds.map((id): Contender => {
    const members = membersOf(id);
    const weight = tenantWeights[id] ?? effective(members[0] as TruthGroup);
    return { name: `tenant ${id}`, weight, has: (group) => group.tenantId === id };
  });
  for (const group of groups) {
    const started = truth.starts.filter(({ job }) => job.group === group).map(({ job }) => job.id);
    const inOrder = started.every((id, index) => id === [...group.jobs.keys()][index]);
    violations.check(inOrder, 'I5', () => `${group.key} started out of order: ${started}`);
  }
  checkPairs(tenants, truth.starts, violations);
  for (const id of tenantIds) {
    const contenders = membersOf(id).map(
      (member): Contender => ({
        name: `group ${member.key}`,
        weight: effective(member),
        has: (group) => group === member,
      }),
    );
    checkPairs(contenders, truth.starts, violations);
  }
}

function checkPairs(
  contenders: readonly Contender[],
  starts: readonly TruthStart[],
  violations: Violations,
): void {
  for (const [index, one] of contenders.entries())
    for (const other of contenders.slice(index + 1)) checkPair(one, other, starts, violations);
}

function checkPair(
  one: Contender,
  other: Contender,
  starts: readonly TruthStart[],
  violations: Violations,
): void {
  const lastOf = ({ has }: Contender) => starts.findLastIndex(({ job }) => has(job.group));
  // Both have work waiting until the last job of either has left.
  const both = starts.slice(0, Math.min(lastOf(one), lastOf(other)) + 1);
  const costMax = ({ has }: Contender) =>
    Math.max(0, ...starts.filter(({ job }) => has(job.group)).map(({ cost }) => cost));
  let [difference, least, most] = [0, 0, 0];
  for (const { job, cost } of both) {
    if (one.has(job.group)) difference += cost / one.weight;
    if (other.has(job.group)) difference -= cost / other.weight;
    least = Math.min(least, difference);
    most = Math.max(most, difference);
  }
  const bound = costMax(one) / one.weight + costMax(other) / other.weight;
  violations.check(
    most - least <= bound + 1e-9,
    'I6',
    () => `${one.name} and ${other.name} drift ${most - least} apart, the bound is ${bound}`,
  );
}
