import { groupSlotUs, updateLimits } from '../congestion/limits.js';
import type { JobBody } from '../state/chunks.js';
import type { Group, Job, Resource, Seat } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { type GatePass, leastHolding, passOver } from './gate-pass.js';
import { lineOf, resourceOf, standingStart } from './lines.js';
import { seatBelowMinimum } from './minimum.js';
import { parkGroup, parkTenant, refresh } from './order.js';
import { hasFreeSlot, instanceFor, isSuspect, lacksProcessor } from './placement.js';
import { askLate } from './window.js';

/** Groups that a pass goes beyond because they are not loaded: so many, and two for each free slot. */
const UNLOADED_MAX = 64;

/**
 * Returns the group whose head may become ready, is past its deadline or has no processor: the least start tag of those that no
 * pause, cap or rate holds back, and tenants below their minimum before all others. Groups and tenants without a token are parked
 * on the way.
 */
export function nextGroup(state: EngineState, pass: GatePass): Group | undefined {
  for (;;) {
    const seat = nextSeat(state, pass);
    const group = seat?.groups.peek();
    if (!seat || !group) break;
    if (!group.head) {
      askLate(state, group);
      passOver(pass.unloaded, group);
      if (pass.unloaded.length > UNLOADED_MAX + 2 * pass.free) return undefined;
      continue;
    }
    const { type, cost } = group.head.body as JobBody;
    if (isOverdue(state, group) || lacksProcessor(state, type)) return group;
    // What its head calls has become limited, or is no longer.
    if (lineOf(state, type) !== seat.line || isUnplaced(state, pass, group.head)) {
      refresh(state, group);
      continue;
    }
    const resource = resourceOf(state, type);
    if (isParked(state, group, cost)) continue;
    if (resource && seat.line.resource && isBlocked(state, pass, resource, cost)) continue;
    if (state.shard.isPaused) return undefined;
    pass.globalSlotUs = state.shard.slotUs(state.nowUs, cost);
    if (pass.globalSlotUs > state.nowUs) return undefined;
    pass.globalSlotUs = 0;
    if (group.held < pass.groupMax) return group;
    passOver(pass.atShare, group);
  }
  // A group that is being loaded can run soon: it comes before what others have too much of.
  return pass.unloaded.length > 0 ? undefined : leastHolding(state, pass);
}

/** Reports whether no instance may run a suspect any more; then another job of its group is next. */
function isUnplaced(state: EngineState, { live }: GatePass, head: Job): boolean {
  if (live === 0 || !isSuspect(head) || instanceFor(state, head)) return false;
  head.group.head = undefined;
  return true;
}

/** Parks a group or its tenant if it has no token for this cost. */
function isParked(state: EngineState, group: Group, cost: number): boolean {
  const slotUs = groupSlotUs(state, group, cost);
  if (slotUs > state.nowUs) {
    parkGroup(state, group, slotUs);
    return true;
  }
  const tenantSlotUs = group.tenant.slotUs(state.nowUs, cost);
  if (tenantSlotUs <= state.nowUs) return false;
  parkTenant(state, group, tenantSlotUs);
  return true;
}

/** Reports whether the head of a group must not start any more. */
export const isOverdue = (state: EngineState, { head, deadlineMs = Infinity }: Group): boolean =>
  state.nowMs >= Math.min(head?.body?.deadlineMs ?? Infinity, deadlineMs);

function isBlocked(state: EngineState, pass: GatePass, resource: Resource, cost: number): boolean {
  updateLimits(state, resource);
  const isFull = !resource.hasRoom || resource.isPaused;
  const slotUs = resource.slotUs(state.nowUs, cost);
  if (!isFull && slotUs <= state.nowUs) return false;
  pass.blocked.set(resource, isFull ? 0 : slotUs);
  return true;
}

/** Returns the seat that is next: that of the tenant furthest below its minimum, or else the first in the order. */
function nextSeat(state: EngineState, pass: GatePass): Seat | undefined {
  const first = firstSeat(state, pass);
  pass.isMinimum = false;
  if (!first || state.minimums.size === 0) return first;
  const seat = seatBelowMinimum(state, pass.live, (each) => isOpen(state, pass, each));
  pass.isMinimum = seat !== undefined && seat !== first;
  return seat ?? first;
}

/** Returns the first seat of each line that is not blocked, and of those the one that is first among all. */
function firstSeat(state: EngineState, pass: GatePass): Seat | undefined {
  let best = state.shard.free.seats.peek();
  for (const resource of state.limited) {
    if (!resource.isLimited && resource.line.seats.size === 0) state.limited.delete(resource);
    const seat = resource.line.seats.peek();
    if (seat && isOpen(state, pass, seat) && (!best || isFirst(state, seat, best))) best = seat;
  }
  if (state.typeLines.size === 0) return best;
  for (const { seats } of state.typeLines.values()) {
    const seat = seats.peek();
    if (seat && isOpen(state, pass, seat) && (!best || isFirst(state, seat, best))) best = seat;
  }
  return best;
}

/** Reports whether anything of the line of a seat may start in this pass. */
function isOpen(state: EngineState, pass: GatePass, { line }: Seat): boolean {
  if (line.resource && pass.blocked.has(line.resource)) return false;
  if (line.type === undefined || !state.scarceTypes.has(line.type)) return true;
  if (pass.full.has(line)) return false;
  if (hasFreeSlot(state, line.type)) return true;
  pass.full.add(line);
  return false;
}

function isFirst(state: EngineState, a: Seat, b: Seat): boolean {
  const startA = standingStart(state, a.tenant.free);
  const startB = standingStart(state, b.tenant.free);
  return startA < startB || (startA === startB && a.number <= b.number);
}
