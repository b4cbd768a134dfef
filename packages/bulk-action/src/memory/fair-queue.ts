import { type Bucket, defaultBurst, nextSlotUs } from '../rules/gcra.js';
import * as sfq from '../rules/sfq.js';
import { hasEnded } from '../states.js';
import { GroupRecord, type JobRecord, type TenantRecord } from './records.js';
import type { MemoryState } from './state.js';

/*
 * Who is next. A group is in its tenant's order exactly while it has a job that nothing but its rate may hold back; a
 * tenant is in the engine's order exactly while one of its groups is. `refresh` keeps both true after every change.
 */

const hasFreeSlot = ({ held, concurrency }: GroupRecord | TenantRecord): boolean =>
  concurrency === undefined || held < concurrency;

/** Puts a group and its tenant into the fair orders, or takes them out, as their state asks for. */
export function refresh(state: MemoryState, group: GroupRecord): void {
  const tenant = group.owner;
  const eligible =
    group.lane.size > 0 &&
    !group.paused &&
    !hasEnded(group.status) &&
    group.parkedAt < 0 &&
    hasFreeSlot(group);
  if (!eligible) tenant.groups.remove(group);
  else if (group.fairAt < 0) {
    group.start = sfq.startTag(tenant.clock, group.tag);
    tenant.groups.put(group);
    state.announceTurn();
  }
  refreshTenant(state, tenant);
}

/** The same for a tenant alone. */
export function refreshTenant(state: MemoryState, tenant: TenantRecord): void {
  // Somebody else's turn has come in the tenant: the refusal was not about it.
  if (tenant.parkedAt >= 0 && tenant.groups.peek() !== tenant.parkedFor) state.parked.remove(tenant);
  const eligible = tenant.groups.size > 0 && tenant.parkedAt < 0 && hasFreeSlot(tenant);
  if (!eligible) state.fairTenants.remove(tenant);
  else if (tenant.fairAt < 0) {
    tenant.start = sfq.startTag(state.fairClock, tenant.tag);
    state.fairTenants.put(tenant);
    state.announceTurn();
  }
}

/** Takes a group out of its tenant's order until it has the token for its first job. */
export function parkGroup(state: MemoryState, group: GroupRecord, untilUs: number): void {
  group.parkedUntilUs = untilUs;
  state.parked.put(group);
  refresh(state, group);
  state.ring('fetch');
}

/** Takes a tenant out of the engine's order until it has the token for the first job of this group. */
export function parkTenant(state: MemoryState, group: GroupRecord, untilUs: number): void {
  const tenant = group.owner;
  tenant.parkedFor = group;
  tenant.parkedUntilUs = untilUs;
  state.parked.put(tenant);
  refreshTenant(state, tenant);
  state.ring('fetch');
}

/**
 * A parking is a refusal that is remembered: it goes when what it was about has changed, be it another first job, or
 * tokens that a job in ready will not need after all.
 */
export function forgetParking(state: MemoryState, group: GroupRecord): void {
  if (group.parkedAt >= 0) unpark(state, group);
  if (group.owner.parkedAt >= 0) unpark(state, group.owner);
}

/** Brings back those whose slot has come, at most `max`. */
export function unparkDue(state: MemoryState, max: number): void {
  for (let count = 0; count < max; count++) {
    const scope = state.parked.peek();
    if (!scope || scope.parkedUntilUs > state.nowUs) return;
    unpark(state, scope);
  }
}

/** Brings a group or tenant back: its limit was changed, or its slot has come. */
export function unpark(state: MemoryState, scope: GroupRecord | TenantRecord): void {
  state.parked.remove(scope);
  refreshScope(state, scope);
}

function refreshScope(state: MemoryState, scope: GroupRecord | TenantRecord): void {
  if (scope instanceof GroupRecord) refresh(state, scope);
  else refreshTenant(state, scope);
}

/** What a group counts against the other groups of its tenant. */
function groupWeight(state: MemoryState, group: GroupRecord): number {
  const { priorityWeights, alpha } = state.config.fairQueue;
  const done = group.success + group.failed + group.cancelled;
  return sfq.effectiveWeight(
    group.weight,
    priorityWeights[group.priorityLevel],
    alpha,
    done,
    group.registered,
  );
}

/** What a tenant counts against the others; one that stands for a single group weighs what the group does. */
export const tenantWeight = (state: MemoryState, { own, weight }: TenantRecord): number =>
  own ? groupWeight(state, own) * weight : weight;

/** What the next try of a job counts in the fair order. */
function chargeOf(state: MemoryState, job: JobRecord): number {
  const { charge } = state.config.fairQueue;
  if (charge === 'time') return job.group.estimateMs ?? state.estimateMs;
  return charge === 'job' ? job.cost : (job.charge ?? job.cost);
}

/** Charges the turn of a job to its group and tenant, and gives it its cap slot. The group is in the fair orders. */
export function takeTurn(state: MemoryState, job: JobRecord): void {
  const { group } = job;
  const tenant = group.owner;
  const charged = chargeOf(state, job);
  sfq.serve(tenant.clock, group.tag, group.start, charged, groupWeight(state, group));
  group.start = group.tag.finish;
  tenant.groups.put(group);
  sfq.serve(state.fairClock, tenant.tag, tenant.start, charged, tenantWeight(state, tenant));
  tenant.start = tenant.tag.finish;
  state.fairTenants.put(tenant);
  job.hold = { charged, groupEpoch: tenant.clock.epoch, tenantEpoch: state.fairClock.epoch };
  group.held += 1;
  tenant.held += 1;
  state.held += 1;
}

/**
 * Gives the cap slot of a job back, and corrects what its turn was charged.
 * @param real - what it should have been charged: 0 when it never ran; undefined leaves the charge as it is.
 */
export function endTurn(state: MemoryState, job: JobRecord, real?: number): void {
  const { group, hold } = job;
  if (!hold) return;
  const tenant = group.owner;
  job.hold = undefined;
  group.held -= 1;
  tenant.held -= 1;
  state.held -= 1;
  if (real !== undefined) {
    const { charged, groupEpoch, tenantEpoch } = hold;
    const byGroup = sfq.correction(tenant.clock, groupEpoch, charged, real, groupWeight(state, group));
    const byTenant = sfq.correction(state.fairClock, tenantEpoch, charged, real, tenantWeight(state, tenant));
    shift(group, byGroup);
    if (group.fairAt >= 0) tenant.groups.put(group);
    shift(tenant, byTenant);
    if (tenant.fairAt >= 0) state.fairTenants.put(tenant);
    if (real === 0) forgetParking(state, group);
  }
  refresh(state, group);
  endIdleEpochs(state, tenant);
}

function shift(scope: GroupRecord | TenantRecord, by: number): void {
  scope.tag.finish += by;
  if (scope.fairAt >= 0) scope.start += by;
}

/** Where nobody waits and nobody runs, nobody owes anything: old tags stop counting. */
export function endIdleEpochs(state: MemoryState, tenant: TenantRecord): void {
  if (tenant.laneJobs === 0 && tenant.held === 0) sfq.endEpoch(tenant.clock);
  if (state.laneJobs === 0 && state.held === 0) sfq.endEpoch(state.fairClock);
}

/** Changes weights so that what is owed in work stays the same and the next turn knows the new weight. */
export function reweigh(
  state: MemoryState,
  group: GroupRecord | undefined,
  tenant: TenantRecord,
  change: () => void,
): void {
  const before = { group: group && groupWeight(state, group), tenant: tenantWeight(state, tenant) };
  change();
  if (group && before.group !== undefined) {
    rescaleTags(group, tenant.clock, before.group / groupWeight(state, group));
    if (group.fairAt >= 0) tenant.groups.put(group);
  }
  rescaleTags(tenant, state.fairClock, before.tenant / tenantWeight(state, tenant));
  if (tenant.fairAt >= 0) state.fairTenants.put(tenant);
}

function rescaleTags(scope: GroupRecord | TenantRecord, clock: sfq.FairClock, factor: number): void {
  if (factor === 1 || scope.tag.epoch !== clock.epoch) return;
  if (scope.tag.finish > clock.virtual) scope.tag.finish = sfq.reweigh(clock, scope.tag.finish, factor, 1);
  if (scope.fairAt >= 0 && scope.start > clock.virtual)
    scope.start = sfq.reweigh(clock, scope.start, factor, 1);
}

/** The rate of a group, a tenant or the engine; undefined when it has none. */
export function bucketOf(
  state: MemoryState,
  scope: {
    readonly rps?: number | undefined;
    readonly burst?: number | undefined;
    readonly tatUs: number;
  },
): Bucket | undefined {
  const { rps } = scope;
  if (!rps) return undefined;
  const burst = scope.burst ?? defaultBurst(rps);
  return { rps, burst, tatUs: scope.tatUs, costMax: state.config.limits.costMax };
}

/** The rate of the whole engine. */
export function globalBucket(state: MemoryState): Bucket | undefined {
  const { globalRps: rps, burst } = state.config.backpressure;
  if (rps === 0) return undefined;
  return { rps, burst: burst ?? defaultBurst(rps), tatUs: state.tatUs, costMax: state.config.limits.costMax };
}

/** When a start of this cost has its token; at most now when there is no limit. */
export const slotOf = (
  state: MemoryState,
  bucket: Bucket | undefined,
  cost: number,
  heldCost: number,
): number => (bucket ? nextSlotUs(bucket, state.nowUs, cost, heldCost) : 0);
