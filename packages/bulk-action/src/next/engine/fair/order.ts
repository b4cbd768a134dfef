import { hasEnded } from '../../../states.js';
import { inEpoch, tagIn } from '../changes/tags.js';
import { noteGate } from '../results/attempts.js';
import type { Group, Resource, Seat, Tenant, VirtualTime } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { findHead } from './head.js';

/*
 * The fair orders. A group is in the order of one seat of its tenant exactly while it has a job that only rates and free slots
 * can hold back: in the seat of the resource that its head calls if that is limited, else in the free seat. A seat is in its
 * line exactly while a group is in it. `refresh` keeps both true after every change.
 */

/** Returns the start tag of a member that has work again: it earns no credit while it is away. */
export const startTag = ({ shard }: EngineState, clock: VirtualTime, tag: VirtualTime): number =>
  Math.max(inEpoch(clock, shard.epoch).live, inEpoch(tag, shard.epoch).live);

/** Returns the resource that a group's next job calls, if the configuration or a processor names one. */
export const resourceOf = (state: EngineState, type: string): Resource | undefined =>
  state.resourceOfType.get(type) ?? state.resources.get(type);

/** Puts a group and its tenant into the fair orders, or takes them out. */
export function refresh(state: EngineState, group: Group): void {
  const seat = seatFor(state, group);
  if (group.seat && group.seat !== seat) leaveSeat(group);
  if (seat && !group.seat) {
    group.start = startTag(state, seat.clock, tagIn(group, seat));
    group.seat = seat;
    seat.groups.put(group);
  }
  refreshTenant(state, group.tenant);
}

/** Takes a group out of the order that it is in. */
export function leaveSeat(group: Group): void {
  group.seat?.groups.remove(group);
  group.seat = undefined;
}

function seatFor(state: EngineState, group: Group): Seat | undefined {
  if (group.isPaused || group.parkedAt >= 0 || !group.hasRoom || hasEnded(group.status)) return undefined;
  if (group.isOrdered && group.held + group.delayed.size > 0) return undefined;
  if (group.notBeforeMs !== undefined && group.notBeforeMs > state.nowMs) return undefined;
  const head = findHead(state, group);
  if (!head?.body) return undefined;
  const resource = resourceOf(state, head.body.type);
  return resource?.isLimited ? group.tenant.seatAt(resource) : group.tenant.free;
}

/** Puts the seats of a tenant into their lines, or takes them out. */
export function refreshTenant(state: EngineState, tenant: Tenant): void {
  // Another group has the tenant's next turn: its job may have the token that the parked one lacked.
  if (tenant.parkedAt >= 0 && tenant.parkedFor?.seat?.groups.peek() !== tenant.parkedFor)
    state.parked.remove(tenant);
  const isOpen = tenant.parkedAt < 0 && tenant.hasRoom && !tenant.isPaused;
  refreshSeat(state, tenant.free, isOpen);
  for (const seat of tenant.seats.values()) refreshSeat(state, seat, isOpen);
}

function refreshSeat(state: EngineState, seat: Seat, isOpen: boolean): void {
  const { seats, clock } = seat.line;
  if (!isOpen || seat.groups.size === 0) seats.remove(seat);
  else if (seat.fairAt < 0) {
    seat.start = startTag(state, clock, seat.tag);
    seats.put(seat);
  }
}

/** Takes a group out of the order until it has a token for its next job. */
export function parkGroup(state: EngineState, group: Group, untilUs: number): void {
  noteGate(group.head, 'GROUP_RATE', untilUs - state.nowUs);
  group.parkedUntilUs = untilUs;
  state.parked.put(group);
  refresh(state, group);
}

/** Takes a tenant out of the order until it has a token for the next job of this group. */
export function parkTenant(state: EngineState, group: Group, untilUs: number): void {
  const { tenant } = group;
  noteGate(group.head, 'TENANT_RATE', untilUs - state.nowUs);
  tenant.parkedFor = group;
  tenant.parkedUntilUs = untilUs;
  state.parked.put(tenant);
  refreshTenant(state, tenant);
}

/** Brings back groups and tenants whose token has come. */
export function unparkDue(state: EngineState): void {
  for (
    let scope = state.parked.peek();
    scope && scope.parkedUntilUs <= state.nowUs;
    scope = state.parked.peek()
  )
    unpark(state, scope as Group | Tenant);
}

/** Brings a group or tenant back before its time: what it waits for has changed. */
export function unpark(state: EngineState, scope: Group | Tenant): void {
  state.parked.remove(scope);
  if ('tenant' in scope) refresh(state, scope);
  else refreshTenant(state, scope);
}
