import type { Admission, AdmitReason, DispatchAnswer, FetchAnswer, Gate } from '../ports.js';
import { slowSlot, updateLimits, updateSlowness } from './congestion.js';
import {
  bucketOf,
  enterSeat,
  freeStart,
  globalBucket,
  leaveSeat,
  parkGroup,
  parkTenant,
  refresh,
  seatWanted,
  slotOf,
  unparkDue,
} from './fair-queue.js';
import { bury, enterNonReady, failOverdue, isLive, isOverdue, laneToReady, nonReadyToLane } from './moves.js';
import type { GroupRecord, JobRecord, ResourceRecord, Seat } from './records.js';
import type { MemoryState } from './state.js';

/**
 * Groups, tenants and ready entries looked at in one step beyond the jobs that are moved: bounds a step with 100,000 parked
 * groups, or over many jobs that may not start.
 */
export const LOOKS_MAX = 256;
/** How many groups above their share are passed over before one of them is served after all. */
const SHARE_SCAN_MAX = 32;

/** What one step may still do, and what it has met. */
export interface Looks {
  left: number;
  rejected: number;
  /** When the engine has its next token, when that is what stopped the step. */
  globalSlotUs: number;
  /** Resources that let nothing more through in this step, with the time of their next token; 0: when one ends. */
  readonly blocked: Map<ResourceRecord, number>;
}

/** For a step that moves at most so many jobs. */
export const newLooks = (moves: number): Looks => ({
  left: moves + LOOKS_MAX,
  rejected: 0,
  globalSlotUs: 0,
  blocked: new Map(),
});

/** The gate on the memory state. */
export const memoryGate = (state: MemoryState): Gate => ({
  fetch: async (max) => state.step(() => fetch(state, max)),
  dispatch: async (max) => state.step(() => dispatch(state, max)),
  admit: async (key, jobId) =>
    state.step(() => {
      const job = state.groups.get(key)?.jobs.get(jobId);
      return job && admit(state, job);
    }),
  checkRate: async (key, cost) =>
    state.step(() => {
      const group = state.groups.get(key);
      if (!group) return undefined;
      const waitUs = rateSlot(state, group, cost) - state.nowUs;
      return { allowed: waitUs <= 0, nextInMs: Math.max(0, Math.ceil(waitUs / 1000)) };
    }),
});

/** When resource, group, tenant and engine all have their tokens for a start that comes now. */
export function rateSlot(
  state: MemoryState,
  group: GroupRecord,
  cost: number,
  resource?: ResourceRecord,
): number {
  return Math.max(
    resource ? slotOf(state, bucketOf(state, resource), cost, 0) : 0,
    groupSlotOf(state, group, cost, 0),
    slotOf(state, bucketOf(state, group.owner), cost, 0),
    slotOf(state, globalBucket(state), cost, 0),
  );
}

function fetch(state: MemoryState, max: number): FetchAnswer {
  const bound = state.readyBound();
  const looks = newLooks(max);
  unparkDue(state, LOOKS_MAX);
  let ready = 0;
  while (ready < max && state.readyJobs < bound) {
    const group = nextGroup(state, looks);
    if (!group) break;
    laneToReady(state, group.lane.peek() as JobRecord);
    ready += 1;
  }
  const room = state.readyJobs < bound;
  // The caller is told below when to come again: waking it as well would make it look twice.
  state.unring('fetch');
  state.parkingUntold = !room && state.parked.size > 0;
  const nextInMs = looks.left <= 0 ? 0 : nextLook(state, looks);
  return {
    ready,
    nonReady: 0,
    rejected: looks.rejected,
    room,
    ...(room && nextInMs !== undefined && { nextInMs }),
  };
}

/** When something that a rate holds back may go on. */
function nextLook(state: MemoryState, { globalSlotUs, blocked }: Looks): number | undefined {
  const slots = [...blocked.values()].filter((slotUs) => slotUs > 0);
  const parkedUs = state.parked.peek()?.parkedUntilUs;
  if (parkedUs !== undefined) slots.push(parkedUs);
  const slotUs = globalSlotUs || Math.min(...slots);
  return slotUs === Number.POSITIVE_INFINITY
    ? undefined
    : Math.max(0, Math.ceil((slotUs - state.nowUs) / 1000));
}

/**
 * The group whose turn it is and whose first job may go into ready; undefined when there is none now. On the way jobs
 * past their deadline fail, and groups and tenants without a token are parked until their slot.
 */
export function nextGroup(state: MemoryState, looks: Looks): GroupRecord | undefined {
  const { maxShare } = state.config.fairQueue;
  if (maxShare >= 1) return firstAllowed(state, looks);
  const most = Math.ceil(maxShare * state.slots().live);
  if (most === 0) return firstAllowed(state, looks);
  const passed: { group: GroupRecord; seat: Seat; start: number; seatStart: number }[] = [];
  let found: GroupRecord | undefined;
  while (passed.length < SHARE_SCAN_MAX) {
    const group = firstAllowed(state, looks);
    if (!group || group.held < most) {
      found = group;
      break;
    }
    const seat = group.seat as Seat;
    passed.push({ group, seat, start: group.start, seatStart: seat.start });
    leaveSeat(group);
    if (seat.groups.size === 0) seat.line.seats.remove(seat);
  }
  // Back into the orders with the tags they had: being passed over costs and earns nothing.
  for (const { group, seat, start, seatStart } of passed) {
    group.start = start;
    enterSeat(group, seat);
    if (seat.fairAt < 0) seat.start = seatStart;
    seat.line.seats.put(seat);
  }
  // All are at their share. Only a worker that really waits is worth going beyond it: when the next one gets free, whose
  // worker it was is below its share again and takes the turn.
  if (found || state.readyJobs >= state.slots().waiting) return found;
  return leastHolding(passed.map(({ group }) => group));
}

/** Else the heaviest would take every slot that gets free. */
const leastHolding = ([first, ...others]: readonly GroupRecord[]): GroupRecord | undefined =>
  first && others.reduce((least, group) => (group.held < least.held ? group : least), first);

/** When a group has its token, its own and the one that a service leaves it. */
const groupSlotOf = (state: MemoryState, group: GroupRecord, cost: number, heldCost: number): number =>
  Math.max(slotOf(state, bucketOf(state, group), cost, heldCost), slowSlot(state, group, cost, heldCost));

/** Whether a resource lets a job of this cost through now; else it is not asked again in this step. */
function letsThrough(state: MemoryState, looks: Looks, resource: ResourceRecord, cost: number): boolean {
  updateLimits(state, resource);
  const { concurrency, held, readyCost, frozenUntilMs } = resource;
  const full = concurrency !== undefined && held >= concurrency;
  const slotUs = Math.max(
    slotOf(state, bucketOf(state, resource), cost, readyCost),
    frozenUntilMs > state.nowMs ? frozenUntilMs * 1000 : 0,
  );
  if (!full && slotUs <= state.nowUs) return true;
  looks.blocked.set(resource, full ? 0 : slotUs);
  return false;
}

/** The seat whose turn it is: the first of a line that is not blocked, and of those the one that is due first among all. */
function nextSeat(state: MemoryState, { blocked }: Looks): Seat | undefined {
  let best = state.free.seats.peek();
  if (state.limited.size === 0) return best;
  for (const resource of state.limited) {
    if (!resource.limited && resource.seats.size === 0) state.limited.delete(resource);
    const seat = blocked.has(resource) ? undefined : resource.seats.peek();
    if (seat && (!best || isDueBefore(state, seat, best))) best = seat;
  }
  return best;
}

function isDueBefore(state: MemoryState, a: Seat, b: Seat): boolean {
  const [startA, startB] = [freeStart(state, a.tenant), freeStart(state, b.tenant)];
  return startA < startB || (startA === startB && a.seq <= b.seq);
}

function firstAllowed(state: MemoryState, looks: Looks): GroupRecord | undefined {
  for (; looks.left > 0; looks.left--) {
    const seat = nextSeat(state, looks);
    const group = seat?.groups.peek();
    const job = group?.lane.peek();
    if (!seat || !group || !job) return undefined;
    if (isOverdue(state, job)) {
      failOverdue(state, job);
      looks.rejected += 1;
      continue;
    }
    if (seatWanted(state, group) !== seat) {
      // What its first job calls has become limited, or is no longer.
      refresh(state, group);
      continue;
    }
    const tenant = group.owner;
    updateSlowness(state, group);
    const groupSlot = groupSlotOf(state, group, job.cost, group.readyCost);
    const tenantSlot = slotOf(state, bucketOf(state, tenant), job.cost, tenant.readyCost);
    if (groupSlot > state.nowUs || tenantSlot > state.nowUs) {
      if (groupSlot > state.nowUs) parkGroup(state, group, groupSlot);
      else parkTenant(state, group, tenantSlot);
      looks.rejected += 1;
      continue;
    }
    if (seat.line.resource && !letsThrough(state, looks, seat.line.resource, job.cost)) {
      looks.rejected += 1;
      continue;
    }
    looks.globalSlotUs = slotOf(state, globalBucket(state), job.cost, state.readyCost);
    if (looks.globalSlotUs > state.nowUs) return undefined;
    looks.globalSlotUs = 0;
    return group;
  }
  return undefined;
}

function dispatch(state: MemoryState, max: number): DispatchAnswer {
  const bound = state.readyBound();
  let moved = 0;
  let ready = 0;
  let skipped = false;
  unparkDue(state, LOOKS_MAX);
  while (moved < max) {
    const job = state.nonReady.peek();
    if (!job || job.dueMs > state.nowMs) break;
    if (state.readyJobs >= bound) {
      skipped = true;
      break;
    }
    moved += 1;
    if (returnDue(state, job)) ready += 1;
  }
  const next = state.nonReady.peek();
  const nextInMs = next && !skipped ? Math.max(0, next.dueMs - state.nowMs) : undefined;
  return { moved, ready, skipped, ...(nextInMs !== undefined && { nextInMs }) };
}

/** A due job takes its group's next turn: into ready when that is now, else to the head of the lane. */
function returnDue(state: MemoryState, job: JobRecord): boolean {
  if (!isLive(job)) {
    bury(state, job);
    return false;
  }
  if (isOverdue(state, job)) {
    failOverdue(state, job);
    return false;
  }
  const early = (job.notBefore ?? 0) - state.wallMs;
  if (early > 0) {
    // The machine's clock was set back, or a deadline that had made it due was taken back: a date is a date.
    job.dueMs = state.nowMs + early;
    state.nonReady.put(job);
    return false;
  }
  nonReadyToLane(state, job);
  return enterReadyInTurn(state, job);
}

/** The first job of its lane goes into ready if it is its group's turn and there is room. */
export function enterReadyInTurn(state: MemoryState, job: JobRecord): boolean {
  if (state.readyJobs >= state.readyBound()) return false;
  if (nextGroup(state, newLooks(0)) !== job.group || job.group.lane.peek() !== job) return false;
  laneToReady(state, job);
  return true;
}

const refused = (reason: AdmitReason): Admission => ({ accepted: false, destination: 'REJECTED', reason });

function admit(state: MemoryState, job: JobRecord): Admission {
  const { group } = job;
  if (job.place === 'DONE' || job.place === 'DEAD' || job.place === 'IN_FLIGHT')
    return refused('NOT_WAITING');
  if (!isLive(job)) return refused('CANCELLED');
  if (job.place === 'READY') return { accepted: true, destination: 'READY', reason: 'NONE' };
  if (job.place === 'NON_READY' && job.dueMs > state.nowMs)
    return { accepted: false, destination: 'NON_READY', reason: 'NOT_DUE' };
  // Others of its lane come first; it keeps its place there.
  if (job.place === 'LANE' && group.lane.peek() !== job) return refused('TURN');
  if (isOverdue(state, job)) {
    failOverdue(state, job);
    return refused('DEADLINE_EXCEEDED');
  }
  unparkDue(state, LOOKS_MAX);
  if (job.place === 'NON_READY') nonReadyToLane(state, job);
  if (group.paused) return refused('PAUSED');
  if (isFull(group)) return refused('GROUP_CAP');
  if (isFull(group.owner)) return refused('TENANT_CAP');
  if (state.readyJobs >= state.readyBound()) return refused('READY_FULL');
  const resource = state.resourceOf(job);
  const slotUs = Math.max(
    resource ? slotOf(state, bucketOf(state, resource), job.cost, resource.readyCost) : 0,
    groupSlotOf(state, group, job.cost, group.readyCost),
    slotOf(state, bucketOf(state, group.owner), job.cost, group.owner.readyCost),
    slotOf(state, globalBucket(state), job.cost, state.readyCost),
  );
  if (slotUs > state.nowUs) {
    enterNonReady(state, job, 'RATE_LIMITED', Math.ceil((slotUs - state.nowUs) / 1000));
    return { accepted: false, destination: 'NON_READY', reason: 'RATE_LIMITED' };
  }
  if (!enterReadyInTurn(state, job)) return refused('TURN');
  return { accepted: true, destination: 'READY', reason: 'NONE' };
}

const isFull = ({ held, concurrency }: GroupRecord | GroupRecord['owner']): boolean =>
  concurrency !== undefined && held >= concurrency;
