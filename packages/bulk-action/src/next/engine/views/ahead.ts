import { isOverdue } from '../fair/gate.js';
import type { FairOrder, Ordered } from '../state/fair-order.js';
import { firstPosition, type Position, queueOf } from '../state/position.js';
import type { FairLine, Group, Queue, Resource, Seat, Tenant, VirtualTime } from '../state/records.js';
import type { EngineState } from '../state/state.js';

/** What comes before a job in the fair order. */
export interface Ahead {
  /** Jobs of its group. An estimate if chunks before the job are not loaded. */
  readonly jobsAhead: number;
  /** Groups of its tenant. */
  readonly groupsAhead: number;
  readonly tenantsAhead: number;
}

/** Counts the jobs of a group that have their turn before a waiting one. A delayed job comes after those due before it. */
export function jobsAhead(group: Group, position: Position): number {
  const { front, delayed, head } = group;
  const inFront = front.findIndex((job) => job.position === position);
  if (inFront >= 0) return inFront;
  let count = front.length;
  const own = delayed.get(position);
  if (own) {
    for (const { dueMs } of delayed.values()) if (dueMs < own.dueMs) count += 1;
    return count;
  }
  for (const queue of group.queues) {
    if (!queue) continue;
    if (queue.priority === queueOf(position)) count += countBetween(group, queue, position);
    else if (queue.priority > queueOf(position)) count += countBetween(group, queue, queue.tail);
  }
  return count === 0 && head && head.position !== position ? 1 : count;
}

/** Counts the jobs of a queue from its cursor to a position: exactly in loaded chunks, by the mean density behind them. */
function countBetween(group: Group, queue: Queue, to: Position): number {
  let count = 0;
  let at = Math.min(queue.cursor, to);
  for (const { address, lines } of queue.loaded) {
    const first = firstPosition(address);
    if (first >= to) return count;
    count += Math.max(0, Math.min(to, first + lines.length) - Math.max(at, first));
    at = Math.max(at, firstPosition(address + 1));
    if (at >= to) return count;
  }
  if (at === to) return count;
  return count + Math.max(1, Math.round((to - at) * densityOf(group)));
}

/** Returns the mean number of queued jobs for each position in a queue: chunks may have gaps between them and be short. */
function densityOf(group: Group): number {
  const queued = group.pending - group.ready.length - group.delayed.size - group.front.length;
  const positions = group.queues.reduce((sum, queue) => sum + (queue ? queue.tail - queue.cursor : 0), 0);
  return Math.min(1, queued / Math.max(1, positions));
}

const liveIn = (time: VirtualTime, epoch: number): number => (time.epoch === epoch ? time.live : 0);

/** Counts the groups and tenants whose turn comes before that of a group whose next job calls this resource. */
export function othersAhead(
  state: EngineState,
  group: Group,
  resource: Resource | undefined,
): Omit<Ahead, 'jobsAhead'> {
  const { tenant } = group;
  const { epoch } = state.shard;
  const limited = resource?.isLimited ? tenant.seats.get(resource) : tenant.free;
  const seat = group.seat ?? limited;
  const line: FairLine = seat?.line ?? (resource as Resource).line;
  const groupStart = group.seat ? group.start : startIn(seat, tagOf(group, line.resource), epoch);
  const seatStart = startOfSeat(seat, line, epoch);
  const others = othersInLines(state, group, line);
  return {
    groupsAhead: others.groups + (seat ? countAhead(seat.groups, group, groupStart) : 0),
    tenantsAhead: others.tenants + countAhead(line.seats, seat ?? tenant.free, seatStart),
  };
}

const startIn = (seat: Seat | undefined, tag: VirtualTime | undefined, epoch: number): number =>
  Math.max(seat ? liveIn(seat.clock, epoch) : 0, tag ? liveIn(tag, epoch) : 0);

const startOfSeat = (seat: Seat | undefined, line: FairLine, epoch: number): number =>
  seat && seat.fairAt >= 0
    ? seat.start
    : Math.max(liveIn(line.clock, epoch), seat ? liveIn(seat.tag, epoch) : 0);

const tagOf = ({ tag, away }: Group, resource: Resource | undefined): VirtualTime | undefined => {
  if (!resource) return tag;
  for (let each = away; each; each = each.next) if (each.resource === resource) return each.tag;
  return undefined;
};

function countAhead<T extends Ordered>(order: FairOrder<T>, member: T, start: number): number {
  let count = 0;
  for (const other of order.items)
    if (other !== member && (other.start < start || (other.start === start && other.number < member.number)))
      count += 1;
  return count;
}

/** Counts the groups and tenants in other lines that come first. Only a line whose first seat comes first delays this one. */
function othersInLines(
  state: EngineState,
  { tenant }: Group,
  own: FairLine,
): { readonly groups: number; readonly tenants: number } {
  const { epoch } = state.shard;
  const startOf = ({ free }: Tenant) => startOfSeat(free, state.shard.free, epoch);
  const start = startOf(tenant);
  const lines = [state.shard.free, ...[...state.limited].map(({ line }) => line)];
  let groups = 0;
  let tenants = 0;
  for (const [at, line] of lines.entries()) {
    // Of two seats of one tenant that of the later line is first.
    const isAhead = (seat: Seat): boolean => {
      const other = startOf(seat.tenant);
      if (seat.tenant === tenant) return at > lines.indexOf(own);
      return other < start || (other === start && seat.number < tenant.number);
    };
    const first = line.seats.peek();
    if (line === own || !first || !isAhead(first) || isHeld(state, line.resource, first)) continue;
    for (const seat of line.seats.items) {
      if (!isAhead(seat)) continue;
      if (seat.tenant === tenant) groups += seat.groups.size;
      else tenants += 1;
    }
  }
  return { groups, tenants };
}

/**
 * Reports whether a limited resource lets no job through now, however little it costs. Its line is met nevertheless if the first
 * job there is overdue and ends, or lacks a token of its tenant, which parks the tenant.
 */
function isHeld(state: EngineState, resource: Resource | undefined, { groups, tenant }: Seat): boolean {
  const group = groups.peek();
  if (!resource || !group || isOverdue(state, group)) return false;
  if (tenant.slotUs(state.nowUs, group.head?.body?.cost ?? 1) > state.nowUs) return false;
  return resource.isPaused || !resource.hasRoom || resource.slotUs(state.nowUs, 1) > state.nowUs;
}
