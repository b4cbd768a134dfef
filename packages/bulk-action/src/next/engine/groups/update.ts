import { defaultBurst } from '@millrace/foundation';
import type { PriorityLevel } from '../../../states.js';
import { decide } from '../changes/apply-change.js';
import { groupWeight } from '../changes/tags.js';
import { refresh, refreshTenant } from '../fair/order.js';
import { rescaleStart, undoTurns } from '../fair/turn.js';
import { DONE, type Effect } from '../run/recall.js';
import { watchGroup } from '../run/watch.js';
import { type Group, Tenant, type VirtualTime } from '../state/records.js';
import type { Scope } from '../state/scope.js';
import type { EngineState } from '../state/state.js';

/** New limits. What is missing stays, null removes a limit. */
export interface ScopeUpdate {
  readonly rps?: number | null | undefined;
  readonly burst?: number | null | undefined;
  readonly concurrency?: number | null | undefined;
}

export interface GroupUpdate extends ScopeUpdate {
  readonly weight?: number | undefined;
  readonly priorityLevel?: PriorityLevel | undefined;
  readonly timeoutMs?: number | undefined;
  readonly deadlineMs?: number | null | undefined;
}

export interface TenantUpdate extends ScopeUpdate {
  readonly weight?: number | undefined;
  readonly minShare?: number | null | undefined;
}

/** The sum of minimum shares may exceed 1 by what decimals such as 0.1 are inexact. */
const ROUNDING = 1e-9;

/** Sets limits and settings of a group. They count for what is queued already. */
export function updateGroup(state: EngineState, group: Group, update: GroupUpdate): Effect {
  // Turns that are taken back at another weight than they were charged at would leave a credit.
  undoTurns(state, group.ready);
  const { priorityLevel = group.priorityLevel, timeoutMs = group.timeoutMs } = update;
  const deadlineMs = merged(update.deadlineMs, group.deadlineMs);
  const virtual = storedIn(state, group.tenant.free.clock);
  const before = groupWeight(group);
  if (
    priorityLevel !== group.priorityLevel ||
    timeoutMs !== group.timeoutMs ||
    deadlineMs !== group.deadlineMs
  )
    decide(state, { kind: 'settings', group, priorityLevel, virtual, timeoutMs, deadlineMs });
  setLimits(state, group, update, { weight: update.weight ?? group.weight, virtual });
  if (group.seat) {
    rescaleStart(state, group, group.seat.clock, before / groupWeight(group));
    group.seat.groups.put(group);
  }
  state.parked.remove(group);
  refresh(state, group);
  watchGroup(state, group);
  return DONE;
}

/** Sets limits of a tenant. Refuses a minimum share with which all tenants would have more than everything. */
export function updateTenant(state: EngineState, tenant: Tenant, update: TenantUpdate): Effect {
  const minShare = merged(update.minShare, tenant.minShare) ?? 0;
  let sum = minShare;
  for (const other of state.tenants.values()) if (other !== tenant) sum += other.minShare;
  if (minShare > tenant.minShare && sum > 1 + ROUNDING)
    return { result: { kind: 'refused', code: 'MIN_SHARE' } };
  undoTurns(
    state,
    state.ready.filter(({ group }) => group.tenant === tenant),
  );
  const virtual = storedIn(state, state.shard.free.clock);
  const before = tenant.weight;
  setLimits(state, tenant, update, { weight: update.weight ?? tenant.weight, virtual, minShare });
  for (const seat of [tenant.free, ...tenant.seats.values(), ...(tenant.typeSeats?.values() ?? [])]) {
    if (seat.fairAt < 0) continue;
    rescaleStart(state, seat, seat.line.clock, before / tenant.weight);
    seat.line.seats.put(seat);
  }
  state.parked.remove(tenant);
  refreshTenant(state, tenant);
  return DONE;
}

/** Sets the limits of a resource or of the shard. */
export const updateRates = (state: EngineState, scope: Scope, update: ScopeUpdate): void =>
  setLimits(state, scope, update, { weight: scope.weight, virtual: 0 });

function setLimits(
  state: EngineState,
  scope: Scope,
  update: ScopeUpdate,
  values: { readonly weight: number; readonly virtual: number; readonly minShare?: number },
): void {
  decide(state, {
    kind: 'limits',
    scope,
    weight: values.weight,
    rps: merged(update.rps, scope.rate?.rps),
    burst: merged(update.burst, chosenBurst(scope)),
    concurrency: merged(update.concurrency, scope.concurrency),
    minShare: values.minShare ?? (scope instanceof Tenant ? scope.minShare : 0),
    virtual: values.virtual,
    atUs: state.nowUs,
  });
}

/** Returns the burst that was set. One that follows from the rate changes with it. */
const chosenBurst = ({ rate }: Scope): number | undefined =>
  rate && rate.burst !== defaultBurst(rate.rps) ? rate.burst : undefined;

const merged = (update: number | null | undefined, before: number | undefined): number | undefined =>
  update === undefined ? before : (update ?? undefined);

/** Returns a virtual time without ready jobs, as it counts now. */
const storedIn = ({ shard }: EngineState, { stored, epoch }: VirtualTime): number =>
  epoch === shard.epoch ? stored : 0;
