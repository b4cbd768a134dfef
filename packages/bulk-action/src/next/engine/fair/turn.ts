import { groupWeight, inEpoch, tagIn } from '../changes/tags.js';
import type { JobBody } from '../state/chunks.js';
import type { Group, Job, Seat, Turn, VirtualTime } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { returnHead, takeHead } from './head.js';
import { refresh, resourceOf, startTag, unpark } from './order.js';

/** Gives the next turn to a group in the fair orders: its head becomes ready, and the turn is charged. */
export function takeTurn(state: EngineState, group: Group): Job {
  const job = takeHead(group);
  const body = job.body as JobBody;
  const { tenant } = group;
  const seat = group.seat as Seat;
  const charge = chargeOf(state, job);
  const freeStart = freeStartOf(state, tenant.free);
  const turn: Turn = { seat, charge, groupStart: group.start, seatStart: seat.start, freeStart };
  job.turn = turn;
  job.place = 'READY';
  job.readyMs = state.nowMs;
  job.resource = resourceOf(state, body.type);
  const { epoch } = state.shard;
  serve(seat.clock, tagIn(group, seat), epoch, turn.groupStart, charge / groupWeight(group));
  serve(seat.line.clock, seat.tag, epoch, turn.seatStart, charge / tenant.weight);
  if (seat !== tenant.free)
    serve(state.shard.free.clock, tenant.free.tag, epoch, freeStart, charge / tenant.weight);
  moveSeats(group, seat);
  hold(state, job, body.cost, 1);
  group.ready.push(job);
  state.ready.push(job);
  state.readyJobs += 1;
  refresh(state, group);
  return job;
}

function serve(clock: VirtualTime, tag: VirtualTime, epoch: number, start: number, charge: number): void {
  const virtual = inEpoch(clock, epoch);
  if (start > virtual.live) virtual.live = start;
  inEpoch(tag, epoch).live = start + charge;
}

/** Brings the places in the orders up to the tags. */
function moveSeats(group: Group, seat: Seat): void {
  if (group.seat === seat) {
    group.start = tagIn(group, seat).live;
    seat.groups.put(group);
  }
  const { tenant } = group;
  for (const each of seat === tenant.free ? [seat] : [seat, tenant.free]) {
    if (each.fairAt < 0) continue;
    each.start = each.tag.live;
    each.line.seats.put(each);
  }
}

/** Returns where a tenant stands among all: waiting for a resource puts it neither ahead of others nor behind. */
export const freeStartOf = (state: EngineState, free: Seat): number =>
  free.fairAt >= 0 ? free.start : startTag(state, free.line.clock, free.tag);

/** Moves a group and its tenant back in their orders by the charge of a turn that is not used. */
export function uncharge(state: EngineState, group: Group, { seat, charge }: Turn): void {
  const { tenant } = group;
  if (seat.tag.epoch !== state.shard.epoch) return;
  if (group.seat === seat) {
    group.start -= charge / groupWeight(group);
    seat.groups.put(group);
  }
  for (const each of seat === tenant.free ? [seat] : [seat, tenant.free]) {
    if (each.fairAt < 0) continue;
    each.start -= charge / tenant.weight;
    each.line.seats.put(each);
  }
}

/** Brings the place of a group or tenant in its order up to a new weight. What it is owed for the past stays. */
export function rescaleStart(
  state: EngineState,
  member: { start: number },
  clock: VirtualTime,
  factor: number,
): void {
  const virtual = inEpoch(clock, state.shard.epoch).live;
  if (member.start > virtual) member.start = virtual + (member.start - virtual) * factor;
}

/** Counts a job that becomes ready, or leaves ready without a start. */
function hold(state: EngineState, job: Job, cost: number, by: 1 | -1): void {
  const { group, resource } = job;
  for (const scope of [group, group.tenant, state.shard]) {
    scope.held += by;
    scope.readyCost += by * cost;
  }
  if (!resource) return;
  resource.held += by;
  resource.readyCost += by * cost;
}

/**
 * Takes a turn back: the job is the head of its group again, and the turn costs nothing. Of several jobs of a group the last one
 * goes first.
 */
export function undoTurn(state: EngineState, job: Job): void {
  const { group } = job;
  const { tenant } = group;
  const { seat, charge } = job.turn as Turn;
  group.ready.splice(group.ready.indexOf(job), 1);
  state.readyJobs -= 1;
  hold(state, job, (job.body as JobBody).cost, -1);
  const { epoch } = state.shard;
  const tag = tagIn(group, seat);
  if (tag.epoch === epoch) tag.live = Math.max(tag.stored, tag.live - charge / groupWeight(group));
  for (const each of seat === tenant.free ? [seat] : [seat, tenant.free])
    if (each.tag.epoch === epoch)
      each.tag.live = Math.max(each.tag.stored, each.tag.live - charge / tenant.weight);
  moveSeats(group, seat);
  job.turn = undefined;
  job.place = 'FRONT';
  returnHead(group, job);
  // Its tokens are free again, and another job of the group may be next.
  if (group.parkedAt >= 0) unpark(state, group);
  if (tenant.parkedAt >= 0) unpark(state, tenant);
  refresh(state, group);
}

/** Takes the turns of all ready jobs back that share a group with one of these. */
export function undoTurns(state: EngineState, jobs: readonly Job[]): void {
  if (jobs.length === 0) return;
  for (const group of new Set(jobs.map((job) => job.group)))
    for (const job of [...group.ready].reverse()) undoTurn(state, job);
  // A job that becomes ready again must not stand in its old place as well.
  state.ready = state.ready.filter(({ place }) => place === 'READY');
}

/** Returns what a turn of a job is charged. */
function chargeOf(state: EngineState, { group, body }: Job): number {
  const { cost = 1, charge = cost } = body ?? {};
  if (state.config.fairQueue.charge !== 'time') return charge;
  return group.estimateMs ?? state.estimateMs;
}
