import { INSTANCE_KEPT_MS, type Upkeep } from '../ports.js';
import { hasEnded } from '../states.js';
import { removeDeadLetter } from './dead-letters.js';
import { expireAt } from './ending.js';
import { forgetResults } from './gather.js';
import { bury } from './moves.js';
import type { GroupRecord, JobRecord } from './records.js';
import type { Grave, MemoryState } from './state.js';

/** A group that still has something in flight is looked at again after this. */
const LOOK_AGAIN_MS = 1000;

/** Upkeep of the memory state. */
export const memoryUpkeep = (state: MemoryState): Upkeep => ({
  sweep: async (max) => state.step(() => sweep(state, max)),
});

function sweep(state: MemoryState, max: number) {
  let left = sweepGraves(state, max);
  left = expireGroups(state, left);
  left = expireDeadLetters(state, left);
  for (const [id, { seenMs }] of state.instances)
    if (state.nowMs - seenMs > INSTANCE_KEPT_MS) state.instances.delete(id);
  const next = state.expiries.peek();
  return {
    swept: max - left,
    more: left <= 0,
    ...(next && { nextInMs: Math.max(0, next.expiresMs - state.nowMs) }),
  };
}

/** Takes the jobs of an ended round out of ready: they hold cap slots, and ready is short. */
function sweepReady(state: MemoryState, { group, round }: Grave): void {
  for (let left = state.ready.size; left > 0; left--) {
    const job = state.ready.shift() as JobRecord;
    if (job.group === group && job.round === round) bury(state, job);
    else state.ready.push(job);
  }
}

/** Marks the jobs of rounds that ended without them. What is in flight is marked when its lease ends. */
function sweepGraves(state: MemoryState, max: number): number {
  let left = max;
  for (let grave = state.graves[0]; grave && left > 0; grave = state.graves[0]) {
    if (grave.at === 0) sweepReady(state, grave);
    // A round without jobs is a step too: there may be any number of them.
    if (grave.at >= grave.order.length) left -= 1;
    while (left > 0 && grave.at < grave.order.length) {
      const job = grave.order[grave.at++] as JobRecord;
      left -= 1;
      const waits = job.place === 'LANE' || job.place === 'NON_READY';
      if (waits && job.round === grave.round) bury(state, job);
    }
    if (grave.at < grave.order.length) break;
    grave.group.graves -= 1;
    state.graves.shift();
  }
  return left;
}

/** First the job records of an ended group go, then its record with its results, but not before its dead letters. */
function expireGroups(state: MemoryState, max: number): number {
  let left = max;
  for (let group = state.expiries.peek(); group && left > 0; group = state.expiries.peek()) {
    if (group.expiresMs > state.nowMs) break;
    left -= 1;
    state.expiries.remove(group);
    if (!hasEnded(group.status)) continue;
    if (group.held > 0 || group.graves > 0) {
      expireAt(state, group, state.nowMs + LOOK_AGAIN_MS);
      continue;
    }
    group.jobs = new Map();
    group.order = [];
    forgetResults(group);
    const { jobRetentionMs } = state.config.limits;
    const { resultRetentionMs } = state.config.aggregator;
    const goneMs = group.endedMs + Math.max(jobRetentionMs, resultRetentionMs);
    if (goneMs > state.nowMs) expireAt(state, group, goneMs);
    else if (group.deadLetters === 0) removeGroup(state, group);
  }
  return left;
}

function removeGroup(state: MemoryState, group: GroupRecord): void {
  const tenant = group.owner;
  state.groups.delete(group.key);
  state.groupsBySeq.remove(group);
  state.parked.remove(group);
  tenant.records -= 1;
  if (tenant.own === group) tenant.own = undefined;
  if (tenant.records > 0 || tenant.configured || tenant.held > 0) return;
  state.parked.remove(tenant);
  state.tenants.delete(tenant.id);
}

function expireDeadLetters(state: MemoryState, max: number): number {
  let left = max;
  for (const letter of state.deadLetters.all()) {
    if (left <= 0 || state.nowMs - letter.failedMs < state.config.reliableQueue.deadLetterRetentionMs) break;
    left -= 1;
    removeDeadLetter(state, letter);
  }
  return left;
}
