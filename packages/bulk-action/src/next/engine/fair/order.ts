import { hasEnded } from '../../../states.js';
import { noteGate } from '../results/attempts.js';
import type { Group, Seat, Tenant } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { findHead } from './head.js';
import { lineOf, seatIn, standingTag, startTag } from './lines.js';
import { refreshMinimum } from './minimum.js';

import { askOnEntry } from './window.js';

/*
 * The fair orders. A group is in the order of one seat of its tenant exactly while it has a job that only rates and free slots
 * can hold back: in the seat of the resource that its head calls if that is limited, else in the free seat. A job whose type not
 * every instance has waits in a line of that type instead. A group whose next job is not loaded stands in the free seat. A seat
 * is in its line exactly while a group is in it. `refresh` keeps this true after every change.
 */

/** Puts a group and its tenant into the fair orders, or takes them out. */
export function refresh(state: EngineState, group: Group): void {
  const seat = seatFor(state, group);
  const isBlind = seat !== undefined && !group.head;
  if (isBlind !== group.isBlind) {
    group.isBlind = isBlind;
    state.blind += isBlind ? 1 : -1;
  }
  if (group.seat && group.seat !== seat) leaveSeat(group);
  if (seat && !group.seat) {
    if (isBlind) askOnEntry(state, group);
    enterSeat(group, seat, startTag(state, seat.clock, standingTag(group, seat)));
  }
  refreshTenant(state, group.tenant);
}

/** Puts a group into the order of a seat. */
export function enterSeat(group: Group, seat: Seat, start: number): void {
  group.start = start;
  group.seat = seat;
  seat.groups.put(group);
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
  if (group.lacking !== undefined && !state.types.has(group.lacking)) return undefined;
  const head = findHead(state, group);
  if (head?.body) return seatIn(group.tenant, lineOf(state, head.body.type));
  return group.missing === undefined ? undefined : group.tenant.free;
}

/** Puts the seats of a tenant into their lines, or takes them out. */
export function refreshTenant(state: EngineState, tenant: Tenant): void {
  // Another group has the tenant's next turn: its job may have the token that the parked one lacked.
  if (tenant.parkedAt >= 0 && tenant.parkedFor?.seat?.groups.peek() !== tenant.parkedFor)
    state.parked.remove(tenant);
  const isOpen = tenant.parkedAt < 0 && tenant.hasRoom && !tenant.isPaused;
  refreshSeat(state, tenant.free, isOpen);
  for (const seat of tenant.seats.values()) refreshSeat(state, seat, isOpen);
  if (tenant.typeSeats) for (const seat of tenant.typeSeats.values()) refreshSeat(state, seat, isOpen);
  if (tenant.minShare > 0 || tenant.minimumAt >= 0) refreshMinimum(state, tenant);
}

function refreshSeat(state: EngineState, seat: Seat, isOpen: boolean): void {
  const { seats, clock } = seat.line;
  if (!isOpen || seat.groups.size === 0) seats.remove(seat);
  else if (seat.fairAt < 0) {
    seat.start = startTag(state, clock, seat.tag);
    seats.put(seat);
    // Nothing looked into the line while its tenants were paused or at their caps.
    if (seat.line.resource) state.limited.add(seat.line.resource);
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
