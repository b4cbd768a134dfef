import { groupWeight } from '../../../src/next/engine/changes/tags.js';
import type { JobStarted } from '../../../src/next/engine/state/change.js';
import type { Group } from '../../../src/next/engine/state/records.js';
import type { EngineState } from '../../../src/next/engine/state/state.js';
import type { Standing, Step, Violations } from './trace.js';
import type { Truth } from './truth.js';

interface Drift {
  now: number;
  least: number;
  most: number;
  /** Between their start tags when the interval began: what one was owed then. */
  readonly gap: number;
}

/**
 * I6: for any two that have work waiting |W_i/w_i − W_j/w_j| ≤ c_i/w_i + c_j/w_j over any interval; between tenants, and between
 * the groups of each. An interval lasts while both stay in the fair order over every pass.
 */
export class FairnessJudge {
  readonly #drifts = new Map<string, Drift>();
  #weights: ReadonlyMap<string, Standing> = new Map();

  constructor(
    private readonly truth: Truth,
    private readonly violations: Violations,
  ) {}

  /** A new owner goes on from what was started. */
  reopened(): void {
    this.#drifts.clear();
  }

  judge({ input, changes }: Step): void {
    if (changes.some(({ kind }) => kind === 'limits' || kind === 'settings' || kind === 'epoch'))
      this.#drifts.clear();
    for (const change of changes) if ('correction' in change && change.correction) this.#forget(change.group);
    if (input.kind !== 'commit') return;
    const { before, after } = input.backlog;
    // Jobs that became ready while no slot was there had their turns then.
    if (input.readyBefore > 0) this.#drifts.clear();
    if (input.readyBefore > 0) return;
    this.#weights = after;
    const backlogged = [...after.keys()].filter((name) => before.has(name)).sort();
    const starts = changes.filter((change): change is JobStarted => change.kind === 'started');
    const stay = new Set<string>();
    // The line of a resource has an order of its own.
    for (const { isLimited, group } of starts) if (isLimited) this.#forget(group);
    for (const [index, one] of backlogged.entries())
      for (const other of backlogged.slice(index + 1)) {
        if (orderOf(one) !== orderOf(other)) continue;
        stay.add(`${one} and ${other}`);
        this.#pair(one, other, starts, gap(before.get(one), before.get(other)));
      }
    for (const pair of this.#drifts.keys()) if (!stay.has(pair)) this.#drifts.delete(pair);
  }

  /** A turn of a group was charged otherwise afterwards. */
  #forget(group: Group): void {
    const names = [nameOfGroup(group), nameOfTenant(group.tenant)];
    for (const pair of this.#drifts.keys())
      if (pair.split(' and ').some((name) => names.includes(name))) this.#drifts.delete(pair);
  }

  #pair(one: string, other: string, starts: readonly JobStarted[], gapNow: number): void {
    const pair = `${one} and ${other}`;
    const drift = this.#drifts.get(pair) ?? { now: 0, least: 0, most: 0, gap: gapNow };
    this.#drifts.set(pair, drift);
    for (const { group, charge } of starts) {
      const names = [nameOfGroup(group), nameOfTenant(group.tenant)];
      if (names.includes(one)) drift.now += charge / this.#weightOf(one);
      else if (names.includes(other)) drift.now -= charge / this.#weightOf(other);
      else continue;
      drift.least = Math.min(drift.least, drift.now);
      drift.most = Math.max(drift.most, drift.now);
    }
    const apart = drift.most - drift.least;
    // Costs are at least 1.
    if (apart <= 1 / this.#weightOf(one) + 1 / this.#weightOf(other)) return;
    const [shareOne, shareOther] = [
      this.#costMax(one) / this.#weightOf(one),
      this.#costMax(other) / this.#weightOf(other),
    ];
    // One that waited for its chunk kept its place, and catches up.
    const bound = shareOne + shareOther + (drift.gap > Math.min(shareOne, shareOther) ? drift.gap : 0);
    this.violations.check(
      apart <= bound + 1e-6,
      'I6',
      () => `${one} and ${other} are ${apart} apart, the bound is ${bound}`,
    );
  }

  #weightOf = (name: string): number => this.#weights.get(name)?.weight ?? 1;

  #costMax(name: string): number {
    let most = 1;
    for (const { group, body } of this.truth.jobs())
      if (
        nameOfGroup({ id: group.id, tenant: { id: tenantOf(group.id) } }) === name ||
        nameOfTenant({ id: tenantOf(group.id) }) === name
      )
        most = Math.max(most, body.cost);
    return most;
  }
}

const gap = (a?: Standing, b?: Standing): number => Math.abs((a?.start ?? 0) - (b?.start ?? 0));

const tenantOf = (groupId: string): string => groupId.slice(0, groupId.indexOf('/'));
const nameOfTenant = ({ id }: { id: string }): string => `tenants:${id}`;
const nameOfGroup = ({ id, tenant }: { id: string; tenant: { id: string } }): string =>
  `groups of ${tenant.id}:${id}`;
const orderOf = (name: string): string => name.slice(0, name.indexOf(':'));

/** Returns the tenants and groups in the fair orders that nothing but their share limits, with their weights. */
export function backloggedIn(state: EngineState): Map<string, Standing> {
  const names = new Map<string, Standing>();
  for (const tenant of state.tenants.values()) {
    if (tenant.rate || tenant.concurrency !== undefined || tenant.minShare > 0) continue;
    if (tenant.free.fairAt >= 0)
      names.set(nameOfTenant(tenant), { weight: tenant.weight, start: tenant.free.start });
  }
  for (const group of state.groups.values()) {
    if (group.fairAt < 0) continue;
    const isPlain = !group.rate && group.concurrency === undefined && !group.isOrdered;
    // A job that is not loaded has no turn yet.
    if (!group.head) names.delete(nameOfTenant(group.tenant));
    else if (isPlain && !group.seat?.line.resource)
      names.set(nameOfGroup(group), { weight: groupWeight(group), start: group.start });
  }
  return names;
}
