import { type Bucket, defaultBurst, nextSlotUs } from '../rules/gcra.js';
import * as sfq from '../rules/sfq.js';
import { hasEnded } from '../states.js';
import { GroupRecord, type Hold, type JobRecord, type Seat, type TenantRecord } from './records.js';
import type { MemoryState } from './state.js';

/*
 * Who is next. A group is in the order of one of its tenant's seats exactly while it has a job that nothing but a rate may
 * hold back: in the seat of the resource that its first job calls when that is limited, else in the free one. A seat is
 * in its line exactly while a group is in it. `refresh` keeps both true after every change.
 */

const hasFreeSlot = ({ held, concurrency }: GroupRecord | TenantRecord): boolean =>
  concurrency === undefined || held < concurrency;

/** The seat where a group with waiting jobs has to stand now. */
export function seatWanted(state: MemoryState, group: GroupRecord): Seat {
  const first = state.limited.size > 0 ? group.lane.peek() : undefined;
  const resource = first && state.resourceOf(first);
  return resource?.limited ? group.owner.seatIn(resource) : group.owner.free;
}

/** Puts a group and its tenant into the fair orders, or takes them out, as their state asks for. */
export function refresh(state: MemoryState, group: GroupRecord): void {
  const eligible =
    group.lane.size > 0 &&
    !group.paused &&
    !hasEnded(group.status) &&
    group.parkedAt < 0 &&
    hasFreeSlot(group);
  const seat = eligible ? seatWanted(state, group) : undefined;
  if (group.seat && group.seat !== seat) leaveSeat(group);
  if (seat && !group.seat) {
    group.start = sfq.startTag(seat.clock, tagIn(group, seat));
    enterSeat(group, seat);
    state.announceTurn();
  }
  refreshTenant(state, group.owner);
}

/** Into the order of a seat, with the start tag it has. */
export function enterSeat(group: GroupRecord, seat: Seat): void {
  group.seat = seat;
  seat.groups.put(group);
}

/** Out of the order it stands in. */
export function leaveSeat(group: GroupRecord): void {
  group.seat?.groups.remove(group);
  group.seat = undefined;
}

function tagIn(group: GroupRecord, seat: Seat): sfq.FairTag {
  if (seat === group.owner.free) return group.tag;
  if (group.away?.seat !== seat) group.away = { seat, tag: { finish: 0, epoch: 0 } };
  return group.away.tag;
}

/** The same for a tenant alone. */
export function refreshTenant(state: MemoryState, tenant: TenantRecord): void {
  // Somebody else's turn has come in the tenant: the refusal was not about it.
  const { parkedFor } = tenant;
  if (tenant.parkedAt >= 0 && parkedFor?.seat?.groups.peek() !== parkedFor) state.parked.remove(tenant);
  const open = tenant.parkedAt < 0 && hasFreeSlot(tenant);
  refreshSeat(state, tenant.free, open);
  for (const seat of tenant.seats.values()) refreshSeat(state, seat, open);
}

function refreshSeat(state: MemoryState, seat: Seat, open: boolean): void {
  const { seats, clock } = seat.line;
  if (!open || seat.groups.size === 0) seats.remove(seat);
  else if (seat.fairAt < 0) {
    seat.start = sfq.startTag(clock, seat.tag);
    seats.put(seat);
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
  const seat = group.seat ?? tenant.free;
  const charged = chargeOf(state, job);
  const tag = tagIn(group, seat);
  sfq.serve(seat.clock, tag, group.start, charged, groupWeight(state, group));
  group.start = tag.finish;
  seat.groups.put(group);
  const weight = tenantWeight(state, tenant);
  serveSeat(seat, seat.start, charged, weight);
  if (seat !== tenant.free) serveSeat(tenant.free, freeStart(state, tenant), charged, weight);
  job.hold = {
    charged,
    seat,
    groupEpoch: seat.clock.epoch,
    seatEpoch: seat.line.clock.epoch,
    freeEpoch: state.free.clock.epoch,
  };
  group.held += 1;
  tenant.held += 1;
  state.held += 1;
  if (seat.line.resource) seat.line.resource.held += 1;
}

function serveSeat(seat: Seat, start: number, charged: number, weight: number): void {
  sfq.serve(seat.line.clock, seat.tag, start, charged, weight);
  if (seat.fairAt < 0) return;
  seat.start = seat.tag.finish;
  seat.line.seats.put(seat);
}

/** Where a tenant stands among all: who was held back by a resource is not ahead of those who were not. */
export const freeStart = (state: MemoryState, { free }: TenantRecord): number =>
  free.fairAt >= 0 ? free.start : sfq.startTag(state.free.clock, free.tag);

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
  const { resource } = hold.seat.line;
  if (resource) {
    resource.held -= 1;
    // The end of a job makes room under a cap, and a turn without a start leaves its token; a rate alone is freed by time only.
    if ((resource.concurrency !== undefined || real === 0) && resource.seats.size > 0) state.announceTurn();
  }
  if (real !== undefined) {
    correct(state, group, hold, real);
    if (real === 0) forgetParking(state, group);
  }
  refresh(state, group);
  endIdleEpochs(state, tenant);
}

function correct(state: MemoryState, group: GroupRecord, hold: Hold, real: number): void {
  const { charged, seat, groupEpoch, seatEpoch, freeEpoch } = hold;
  const { free } = group.owner;
  const byGroup = sfq.correction(seat.clock, groupEpoch, charged, real, groupWeight(state, group));
  if (seat === free) group.tag.finish += byGroup;
  else if (group.away?.seat === seat) group.away.tag.finish += byGroup;
  if (group.seat === seat) {
    group.start += byGroup;
    seat.groups.put(group);
  }
  const weight = tenantWeight(state, group.owner);
  shift(seat, sfq.correction(seat.line.clock, seatEpoch, charged, real, weight));
  if (seat !== free) shift(free, sfq.correction(state.free.clock, freeEpoch, charged, real, weight));
}

function shift(seat: Seat, by: number): void {
  seat.tag.finish += by;
  if (seat.fairAt < 0) return;
  seat.start += by;
  seat.line.seats.put(seat);
}

/** Where nobody waits and nobody runs, nobody owes anything: old tags stop counting. */
export function endIdleEpochs(state: MemoryState, tenant: TenantRecord): void {
  if (tenant.laneJobs === 0 && tenant.held === 0) {
    sfq.endEpoch(tenant.free.clock);
    for (const seat of tenant.seats.values()) sfq.endEpoch(seat.clock);
  }
  if (state.laneJobs === 0 && state.held === 0) {
    sfq.endEpoch(state.free.clock);
    for (const { clock } of state.resources.values()) sfq.endEpoch(clock);
  }
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
  if (group && before.group !== undefined) rescaleGroup(group, before.group / groupWeight(state, group));
  const factor = before.tenant / tenantWeight(state, tenant);
  for (const seat of [tenant.free, ...tenant.seats.values()]) {
    const { clock, seats } = seat.line;
    const start = rescaled(seat.tag, clock, seat.start, factor);
    if (seat.fairAt < 0) continue;
    seat.start = start;
    seats.put(seat);
  }
}

function rescaleGroup(group: GroupRecord, factor: number): void {
  const { free } = group.owner;
  const { seat, away } = group;
  const freeStart = rescaled(group.tag, free.clock, group.start, factor);
  const awayStart = away ? rescaled(away.tag, away.seat.clock, group.start, factor) : group.start;
  if (!seat) return;
  group.start = seat === free ? freeStart : awayStart;
  seat.groups.put(group);
}

/** Rescales a finish tag in place and answers the start tag rescaled. */
function rescaled(tag: sfq.FairTag, clock: sfq.FairClock, start: number, factor: number): number {
  if (factor === 1 || tag.epoch !== clock.epoch) return start;
  if (tag.finish > clock.virtual) tag.finish = sfq.reweigh(clock, tag.finish, factor, 1);
  return start > clock.virtual ? sfq.reweigh(clock, start, factor, 1) : start;
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
