import type { FairLine, Group, Resource, Seat } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { enterSeat, leaveSeat, refreshTenant } from './order.js';

/** A group that was passed over, with the place that it comes back to. */
interface Passed {
  readonly group: Group;
  readonly seat: Seat;
  readonly start: number;
  readonly seatStart: number;
}

/** What one pass over the gate has met. */
export interface GatePass {
  /** Resources that let nothing more through now, with the time of their next token; 0 when a job of theirs must end first. */
  readonly blocked: Map<Resource, number>;
  /** Lines of processor types without a free slot. */
  readonly full: Set<FairLine>;
  /** When the global rate has its next token, if that stopped the pass. */
  globalSlotUs: number;
  /** Slots of live instances, and those that are free. */
  readonly live: number;
  free: number;
  /** Jobs that one group may hold while another can run. */
  readonly groupMax: number;
  /** True if the group that was found is served for the minimum of its tenant, before its place in the order. */
  isMinimum: boolean;
  /** Groups that were passed over because their next job is not loaded. */
  unloaded: Passed[];
  /** Groups that were passed over because they hold as much as they may. */
  atShare: Passed[];
}

/** Begins a pass. */
export function newPass(state: EngineState): GatePass {
  const { live, free } = state.slots;
  const { maxShare } = state.config.fairQueue;
  const groupMax = maxShare < 1 && live > 0 ? Math.ceil(maxShare * live) : Number.POSITIVE_INFINITY;
  return {
    blocked: new Map(),
    full: new Set(),
    globalSlotUs: 0,
    live,
    free,
    groupMax,
    isMinimum: false,
    unloaded: [],
    atShare: [],
  };
}

/** Takes a group out of the order until the pass ends. */
export function passOver(list: Passed[], group: Group): void {
  const seat = group.seat as Seat;
  list.push({ group, seat, start: group.start, seatStart: seat.start });
  leaveSeat(group);
  if (seat.groups.size === 0) seat.line.seats.remove(seat);
}

/** Returns to the order the group that holds the least of those that hold as much as they may: no other can run. */
export function leastHolding(state: EngineState, pass: GatePass): Group | undefined {
  let best: Passed | undefined;
  for (const passed of pass.atShare) if (!best || passed.group.held < best.group.held) best = passed;
  if (!best) return undefined;
  pass.atShare = pass.atShare.filter((passed) => passed !== best);
  comeBack(state, best);
  return best.group.seat ? best.group : undefined;
}

/** Ends a pass: who was passed over has the tags it had, so that waiting costs and earns nothing. */
export function endPass(state: EngineState, pass: GatePass): void {
  for (const passed of pass.unloaded) comeBack(state, passed);
  for (const passed of pass.atShare) comeBack(state, passed);
  pass.unloaded = [];
  pass.atShare = [];
}

function comeBack(state: EngineState, { group, seat, start, seatStart }: Passed): void {
  if (group.seat) return;
  const wasOut = seat.fairAt < 0;
  enterSeat(group, seat, start);
  refreshTenant(state, group.tenant);
  if (!wasOut || seat.fairAt < 0) return;
  // Its tenant may have had turns of other groups meanwhile.
  seat.start = Math.max(seatStart, seat.tag.epoch === state.shard.epoch ? seat.tag.live : 0);
  seat.line.seats.put(seat);
}
