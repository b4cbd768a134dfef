import { groupSlotUs, updateLimits } from '../congestion/limits.js';
import type { JobBody } from '../state/chunks.js';
import type { Group, Job, Resource, Seat } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { parkGroup, parkTenant, refresh, resourceOf } from './order.js';
import { freeStartOf } from './turn.js';

/** What one pass over the gate has met. */
export interface GatePass {
  /** Resources that let nothing more through now, with the time of their next token; 0 when a job of theirs must end first. */
  readonly blocked: Map<Resource, number>;
  /** When the global rate has its next token, if that stopped the pass. */
  globalSlotUs: number;
}

export const newPass = (): GatePass => ({ blocked: new Map(), globalSlotUs: 0 });

/**
 * Returns the group whose head may become ready, or whose head is past its deadline: the least start tag of those that no pause,
 * cap or rate holds back. Groups and tenants without a token are parked on the way.
 */
export function nextGroup(state: EngineState, pass: GatePass): Group | undefined {
  for (;;) {
    const seat = nextSeat(state, pass);
    const group = seat?.groups.peek();
    if (!seat || !group) return undefined;
    const { body } = group.head as Job;
    const { cost } = body as JobBody;
    if (isOverdue(state, group)) return group;
    const resource = resourceOf(state, (body as JobBody).type);
    if ((resource?.isLimited ? resource.line : state.shard.free) !== seat.line) {
      // What its head calls has become limited, or is no longer.
      refresh(state, group);
      continue;
    }
    const { tenant } = group;
    const slotUs = groupSlotUs(state, group, cost);
    if (slotUs > state.nowUs) {
      parkGroup(state, group, slotUs);
      continue;
    }
    const tenantSlotUs = tenant.slotUs(state.nowUs, cost);
    if (tenantSlotUs > state.nowUs) {
      parkTenant(state, group, tenantSlotUs);
      continue;
    }
    if (resource && seat.line.resource && isBlocked(state, pass, resource, cost)) continue;
    if (state.shard.isPaused) return undefined;
    pass.globalSlotUs = state.shard.slotUs(state.nowUs, cost);
    if (pass.globalSlotUs > state.nowUs) return undefined;
    pass.globalSlotUs = 0;
    return group;
  }
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

/** Returns the seat that is next: the first of each line that is not blocked, and of those the one that is first among all. */
function nextSeat(state: EngineState, { blocked }: GatePass): Seat | undefined {
  let best = state.shard.free.seats.peek();
  for (const resource of state.limited) {
    if (!resource.isLimited && resource.line.seats.size === 0) state.limited.delete(resource);
    const seat = blocked.has(resource) ? undefined : resource.line.seats.peek();
    if (seat && (!best || isFirst(state, seat, best))) best = seat;
  }
  return best;
}

function isFirst(state: EngineState, a: Seat, b: Seat): boolean {
  const [startA, startB] = [freeStartOf(state, a.tenant.free), freeStartOf(state, b.tenant.free)];
  return startA < startB || (startA === startB && a.number <= b.number);
}
