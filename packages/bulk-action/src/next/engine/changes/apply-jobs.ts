import { emissionUs, tatAfterStart } from '@millrace/foundation';
import { countFailure } from '../../../rules/failure-codes.js';
import { recordDuration } from '../../../rules/histogram.js';
import { hasEnded } from '../../../states.js';
import { noteOutcome } from '../format/line.js';
import type {
  ChunkAnnounced,
  ChunkDropped,
  ChunkFronted,
  JobDelayed,
  JobEnded,
  JobRequeued,
  JobStarted,
  Refund,
} from '../state/change.js';
import { addressOf, firstPosition, type Position, queueOf, queueOfChunk } from '../state/position.js';
import { type Group, Job, type Queue } from '../state/records.js';
import type { Recorded, Scope } from '../state/scope.js';
import type { EngineState } from '../state/state.js';
import { passAll } from './apply-groups.js';
import { keepEnd } from './apply-kept.js';
import { advanceStored, correctTag, groupWeight, setStored, tagIn } from './tags.js';

/** Reports whether a change is new to a record. */
type IsNewTo = (record: Recorded) => boolean;

/** Jobs are registered. A chunk that the queue has passed already is late. Jobs of a round that was cut are CANCELLED. */
export function announce({ group, address, jobs, isLate, atUs }: ChunkAnnounced): void {
  const queue = group.queueOf(queueOfChunk(address));
  const first = firstPosition(address);
  if (first >= queue.tail) queue.tail = firstPosition(address + 1);
  if (hasEnded(group.status)) {
    group.late += jobs;
    passAll(queue);
    return;
  }
  if (isLate) queue.late.push(address);
  group.registered += jobs;
  group.progressMs = Math.floor(atUs / 1000);
}

/** A late chunk is loaded: its jobs come before all that were not started. */
export function front({ group, address, jobs }: ChunkFronted): void {
  const { late } = group.queueOf(queueOfChunk(address));
  const at = late.indexOf(address);
  if (at >= 0) late.splice(at, 1);
  for (let index = 0; index < jobs; index++) {
    const position = firstPosition(address) + index;
    if (!group.skipped.delete(position)) group.front.push(new Job(group, position));
  }
}

/** The bodies of a chunk are gone: all its jobs have ended. */
export function drop({ group, address }: ChunkDropped): void {
  group.outcomes.delete(address);
  group.kept?.redriven.delete(address);
  const queue = group.queueOf(queueOfChunk(address));
  if (addressOf(queue.next) === address) passTo(group, queue, firstPosition(address + 1));
}

/** An attempt begins: the job is in flight, and the tokens of the start are spent. */
export function startJob({ shard }: EngineState, change: JobStarted, epoch: number, isNewTo: IsNewTo): void {
  const { group, charge, cost, atUs, resource, isLimited } = change;
  const { tenant } = group;
  const seat = resource && isLimited ? tenant.seatAt(resource) : tenant.free;
  if (isNewTo(group)) {
    const job = takeJob(group, change.position);
    job.place = 'IN_FLIGHT';
    job.attempt = change.attempt;
    job.instanceId = change.instanceId;
    job.resource = resource;
    job.startedUs = atUs;
    job.cost = cost;
    job.isLaunched = false;
    job.turn = {
      seat,
      charge,
      groupStart: change.groupStart,
      seatStart: change.seatStart,
      freeStart: change.freeStart,
      isMinimum: change.isMinimum,
    };
    group.inFlight.set(job.position, job);
    advanceStored(tagIn(group, seat), epoch, change.groupStart + charge / groupWeight(group));
    spend(group, atUs, cost);
    if (group.startedMs === undefined) group.startedMs = job.startedMs;
    group.progressMs = job.startedMs;
    if (group.status === 'CREATED' || group.status === 'DISPATCHED') group.status = 'RUNNING';
  }
  if (isNewTo(tenant)) {
    const mark = change.isMinimum ? setStored : advanceStored;
    advanceStored(seat.clock, epoch, change.groupStart);
    mark(seat.tag, epoch, change.seatStart + charge / tenant.weight);
    if (seat !== tenant.free) mark(tenant.free.tag, epoch, change.freeStart + charge / tenant.weight);
    spend(tenant, atUs, cost);
    tenant.served += cost;
  }
  if (resource && isNewTo(resource)) {
    if (isLimited && !change.isMinimum) advanceStored(resource.line.clock, epoch, change.seatStart);
    spend(resource, atUs, cost);
    resource.starts += 1;
  }
  if (isNewTo(shard)) {
    if (!change.isMinimum) advanceStored(shard.free.clock, epoch, change.freeStart);
    spend(shard, atUs, cost);
  }
}

function spend(scope: Scope, atUs: number, cost: number): void {
  const { rate } = scope;
  if (!rate) return;
  if (rate.tatUs <= atUs) scope.fullUs = atUs;
  rate.tatUs = tatAfterStart(rate, atUs, cost);
}

/** Returns the tokens of a start that did not happen, unless they have come back already because the bucket was full since. */
function refundTo({ rate, fullUs }: Scope, { cost, startedUs }: Refund): void {
  if (rate && startedUs >= fullUs) rate.tatUs -= cost * emissionUs(rate.rps);
}

/** A job ends. Its end is kept with its chunk until all jobs of the chunk have ended. */
export function endJob(change: JobEnded, epoch: number, isNewTo: IsNewTo): void {
  const { group, position, outcome, durationMs, code, atUs } = change;
  correctCharge(change, epoch, isNewTo);
  if (!isNewTo(group)) return;
  const attempts = removeJob(group, position)?.attempt ?? 0;
  if (outcome === 'COMPLETED') group.success += 1;
  else if (outcome === 'CANCELLED') group.cancelled += 1;
  else {
    group.failed += 1;
    group.codes ??= new Map();
    countFailure(group.codes, code ?? '');
  }
  if (durationMs !== undefined) recordDuration(group.durations, durationMs);
  group.progressMs = Math.floor(atUs / 1000);
  noteOutcome(group.outcomes, change, attempts);
  if (change.kept) keepEnd(group, change.kept);
}

/** A job waits again: at the front of its group, or until it is due. */
export function waitAgain(
  { shard }: EngineState,
  change: JobRequeued | JobDelayed,
  epoch: number,
  isNewTo: IsNewTo,
): void {
  const { group, position } = change;
  correctCharge(change, epoch, isNewTo);
  if (change.kind === 'requeued' && change.refund) refund(shard, group, change.refund, isNewTo);
  if (change.kind === 'delayed' && change.throttledBy && isNewTo(change.throttledBy))
    change.throttledBy.throttles += 1;
  if (!isNewTo(group)) return;
  const job = takeWaiting(group, position);
  job.attempt = change.attempt;
  job.retryCount = change.retryCount;
  job.orphanCount = change.orphanCount;
  job.turn = undefined;
  if (change.kind === 'requeued') {
    job.place = 'FRONT';
    // In an ordered group it is the one that holds back all others.
    if (change.isFirst || group.isOrdered) group.front.unshift(job);
    else group.front.push(job);
    return;
  }
  job.place = 'DELAYED';
  job.dueMs = change.dueMs;
  job.reason = change.reason;
  if (change.backoffMs !== undefined) {
    group.throttled += 1;
    group.lastBackoffMs = change.backoffMs;
  }
  group.delayed.set(position, job);
}

function refund(shard: Scope, group: Group, given: Refund, isNewTo: IsNewTo): void {
  const { tenant } = group;
  if (isNewTo(group)) refundTo(group, given);
  if (isNewTo(tenant)) {
    refundTo(tenant, given);
    tenant.served -= given.cost;
  }
  if (given.resource && isNewTo(given.resource)) {
    refundTo(given.resource, given);
    given.resource.starts -= 1;
  }
  if (isNewTo(shard)) refundTo(shard, given);
}

function correctCharge(
  { group, correction }: JobEnded | JobRequeued | JobDelayed,
  epoch: number,
  isNewTo: IsNewTo,
): void {
  if (!correction) return;
  const { by, resource } = correction;
  const { tenant } = group;
  const seat = resource ? tenant.seatAt(resource) : tenant.free;
  if (isNewTo(group)) correctTag(tagIn(group, seat), epoch, by / groupWeight(group));
  if (!isNewTo(tenant)) return;
  correctTag(seat.tag, epoch, by / tenant.weight);
  if (seat !== tenant.free) correctTag(tenant.free.tag, epoch, by / tenant.weight);
}

/** Takes a job that waits again from where it runs or waits. Those before it in its queue keep their turns. */
function takeWaiting(group: Group, position: Position): Job {
  const found = removeWaiting(group, position);
  if (found) return found;
  const queue = group.queueOf(queueOf(position));
  if (position === queue.next) passTo(group, queue, position + 1);
  else group.skipped.add(position);
  return new Job(group, position);
}

/** Takes a job out of where it waits or runs. A job of a queue is taken in turn. */
function takeJob(group: Group, position: Position): Job {
  const found = removeWaiting(group, position);
  if (found) return found;
  const queue = group.queueOf(queueOf(position));
  if (position >= queue.next && !group.skipped.has(position)) passTo(group, queue, position + 1);
  return group.ready.find((job) => job.position === position) ?? new Job(group, position);
}

/**
 * Takes a job that ends out of where it waits or runs. One of a queue is skipped when its turn comes: jobs before it may be ready,
 * and a new owner queues them again.
 */
function removeJob(group: Group, position: Position): Job | undefined {
  const found = removeWaiting(group, position);
  if (found) return found;
  const queue = group.queueOf(queueOf(position));
  if (position < queue.next) {
    if (queue.late.includes(addressOf(position))) group.skipped.add(position);
    return undefined;
  }
  group.skipped.add(position);
  if (position === queue.next) passTo(group, queue, position + 1);
  return undefined;
}

function removeWaiting(group: Group, position: Position): Job | undefined {
  const { inFlight, delayed, front } = group;
  const job = inFlight.get(position) ?? delayed.get(position);
  if (job) {
    inFlight.delete(position);
    delayed.delete(position);
    return job;
  }
  const at = front.findIndex((waiting) => waiting.position === position);
  return at < 0 ? undefined : front.splice(at, 1)[0];
}

function passTo(group: Group, queue: Queue, next: Position): void {
  const { skipped } = group;
  queue.next = next;
  while (skipped.has(queue.next)) queue.next += 1;
  // The cursor would meet again what is not skipped any more.
  if (queue.cursor < queue.next) queue.cursor = queue.next;
  if (skipped.size === 0) return;
  for (const position of skipped) {
    const isPassed = position < queue.next && queueOf(position) === queue.priority;
    if (isPassed && !queue.late.includes(addressOf(position))) skipped.delete(position);
  }
}
