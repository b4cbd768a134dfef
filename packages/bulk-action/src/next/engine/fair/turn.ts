import { groupWeight, inEpoch, tagIn } from '../changes/tags.js';
import type { JobBody } from '../state/chunks.js';
import type { Group, Job, Seat, Turn, VirtualTime } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import type { GatePass } from './gate-pass.js';
import { returnHead, takeHead } from './head.js';
import { resourceOf, standingStart, standingTag, startTag } from './lines.js';
import { leadMax, noteTurn } from './minimum.js';
import { refresh, unpark } from './order.js';

/**
 * Gives the next turn to a group in the fair orders: its head becomes ready, and the turn is charged. A turn that a tenant has for
 * its minimum, before its place in the order, does not move the virtual time.
 */
export function takeTurn(state: EngineState, group: Group, pass: GatePass): Job {
  const { tenant } = group;
  const standing = group.seat as Seat;
  const { line } = standing;
  const seat =
    line.type === undefined ? standing : line.resource ? tenant.seatAt(line.resource) : tenant.free;
  const job = takeHead(group);
  const { type, cost } = job.body as JobBody;
  const charge = chargeOf(state, job);
  const groupStart = seat === standing ? group.start : startTag(state, seat.clock, tagIn(group, seat));
  const startOf = (each: Seat) => turnStart(state, each, charge, pass);
  const seatStart = startOf(seat);
  const freeStart = seat === tenant.free ? seatStart : startOf(tenant.free);
  const { isMinimum } = pass;
  job.turn = { seat, charge, groupStart, seatStart, freeStart, isMinimum };
  job.place = 'READY';
  job.readyMs = state.nowMs;
  job.resource = resourceOf(state, type);
  const { epoch } = state.shard;
  if (seat !== standing) {
    job.turn.typeSeat = standing;
    serve(standing.clock, standingTag(group, standing), epoch, group.start, charge / groupWeight(group));
    serveSeat(standing, epoch, startOf(standing), charge, isMinimum);
  }
  serve(seat.clock, tagIn(group, seat), epoch, groupStart, charge / groupWeight(group));
  serveSeat(seat, epoch, seatStart, charge, isMinimum);
  if (seat !== tenant.free) serveSeat(tenant.free, epoch, freeStart, charge, isMinimum);
  state.turns += 1;
  if (tenant.minShare > 0) noteTurn(state, tenant, charge);
  moveSeats(group, job.turn);
  hold(state, job, cost, 1);
  group.ready.push(job);
  state.ready.push(job);
  state.readyJobs += 1;
  state.turnsAhead -= 1;
  refresh(state, group);
  return job;
}

/** Returns the start tag of a turn. A turn for the minimum leaves the tenant only so far ahead of the virtual time. */
function turnStart(state: EngineState, seat: Seat, charge: number, { isMinimum, live }: GatePass): number {
  const start = standingStart(state, seat);
  if (!isMinimum) return start;
  const { tenant, line } = seat;
  const virtual = inEpoch(line.clock, state.shard.epoch).live;
  return Math.min(start, virtual + leadMax(tenant, live, charge) - charge / tenant.weight);
}

function serve(clock: VirtualTime, tag: VirtualTime, epoch: number, start: number, charge: number): void {
  const virtual = inEpoch(clock, epoch);
  if (start > virtual.live) virtual.live = start;
  inEpoch(tag, epoch).live = start + charge;
}

function serveSeat(
  { line, tag, tenant }: Seat,
  epoch: number,
  start: number,
  charge: number,
  isMinimum: boolean,
): void {
  const by = charge / tenant.weight;
  if (isMinimum) inEpoch(tag, epoch).live = start + by;
  else serve(line.clock, tag, epoch, start, by);
}

/** Brings the places in the orders up to the tags. */
function moveSeats(group: Group, { seat, typeSeat }: Turn): void {
  const { tenant } = group;
  if (group.seat && (group.seat === seat || group.seat === typeSeat)) {
    group.start = standingTag(group, group.seat).live;
    group.seat.groups.put(group);
  }
  moveSeat(seat);
  if (seat !== tenant.free) moveSeat(tenant.free);
  if (typeSeat) moveSeat(typeSeat);
}

function moveSeat(seat: Seat): void {
  if (seat.fairAt < 0) return;
  seat.start = seat.tag.live;
  seat.line.seats.put(seat);
}

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
  const turn = job.turn as Turn;
  const { seat, typeSeat, charge } = turn;
  group.ready.splice(group.ready.indexOf(job), 1);
  state.readyJobs -= 1;
  hold(state, job, (job.body as JobBody).cost, -1);
  const { epoch } = state.shard;
  lower(tagIn(group, seat), epoch, charge / groupWeight(group));
  if (typeSeat) {
    lower(standingTag(group, typeSeat), epoch, charge / groupWeight(group));
    lower(typeSeat.tag, epoch, charge / tenant.weight);
  }
  lower(seat.tag, epoch, charge / tenant.weight);
  if (seat !== tenant.free) lower(tenant.free.tag, epoch, charge / tenant.weight);
  moveSeats(group, turn);
  job.turn = undefined;
  job.place = 'FRONT';
  returnHead(group, job);
  // Its tokens are free again, and another job of the group may be next.
  if (group.parkedAt >= 0) unpark(state, group);
  if (tenant.parkedAt >= 0) unpark(state, tenant);
  refresh(state, group);
}

function lower(tag: VirtualTime, epoch: number, by: number): void {
  if (tag.epoch === epoch) tag.live = Math.max(tag.stored, tag.live - by);
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
