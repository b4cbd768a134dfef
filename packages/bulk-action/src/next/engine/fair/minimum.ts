import type { Seat, Tenant } from '../state/records.js';
import { type EngineState, isFurtherBelow } from '../state/state.js';
import { standingStart } from './lines.js';

/** Weight of the newest charge in the mean of a tenant. */
const CHARGE_SHARE = 0.1;

/** Puts a tenant among those with a minimum that wait, or takes it out. Called after every change of what it holds. */
export function refreshMinimum(state: EngineState, tenant: Tenant): void {
  if (tenant.minShare <= 0 || !isStanding(tenant)) {
    state.minimums.remove(tenant);
    return;
  }
  tenant.minimumPart = tenant.held / tenant.minShare;
  tenant.minimumStart = standingStart(state, tenant.free);
  state.minimums.put(tenant);
}

function isStanding({ free, seats, typeSeats }: Tenant): boolean {
  if (free.fairAt >= 0) return true;
  for (const { fairAt } of seats.values()) if (fairAt >= 0) return true;
  for (const { fairAt } of typeSeats?.values() ?? []) if (fairAt >= 0) return true;
  return false;
}

/** Returns the seat of the tenant that is furthest below its minimum, of those with a seat that may be served now. */
export function seatBelowMinimum(
  state: EngineState,
  live: number,
  isOpen: (seat: Seat) => boolean,
): Seat | undefined {
  const isBelow = ({ held, minShare }: Tenant) => held < minShare * live;
  const first = state.minimums.peek();
  if (!first || !isBelow(first)) return undefined;
  const seat = openSeat(first, isOpen);
  if (seat) return seat;
  let best: Tenant | undefined;
  let found: Seat | undefined;
  for (const tenant of state.minimums.items) {
    if (!isBelow(tenant) || (best && !isFurtherBelow(tenant, best))) continue;
    const open = openSeat(tenant, isOpen);
    if (!open) continue;
    best = tenant;
    found = open;
  }
  return found;
}

function openSeat({ free, seats, typeSeats }: Tenant, isOpen: (seat: Seat) => boolean): Seat | undefined {
  for (const seat of typeSeats?.values() ?? []) if (seat.fairAt >= 0 && isOpen(seat)) return seat;
  for (const seat of seats.values()) if (seat.fairAt >= 0 && isOpen(seat)) return seat;
  return free.fairAt >= 0 ? free : undefined;
}

/** Returns how far ahead of the virtual time a turn for its minimum may leave a tenant at most: by one turn at least. */
export const leadMax = (tenant: Tenant, live: number, charge: number): number =>
  Math.max(tenant.minShare * live * tenant.meanCharge, charge) / tenant.weight;

/**
 * Learns what the turns of a tenant are charged, and which was its last one: because no tenant is left further ahead than its
 * minimum, many may have the same start tag, and the one that waits the longest is next.
 */
export function noteTurn({ turns }: EngineState, tenant: Tenant, charge: number): void {
  tenant.minimumTurn = turns;
  tenant.meanCharge += CHARGE_SHARE * (charge - tenant.meanCharge);
}
