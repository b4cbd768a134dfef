import { countEvents } from '../../../rules/rate-window.js';
import { decide } from '../changes/apply-change.js';
import { isHeldBack, noteStart } from '../congestion/attempts.js';
import { isOverdue, nextGroup } from '../fair/gate.js';
import { endPass, type GatePass, newPass } from '../fair/gate-pass.js';
import { resourceOf } from '../fair/lines.js';
import { refresh, unparkDue } from '../fair/order.js';
import { instanceFor, isSuspect, lacksProcessor } from '../fair/placement.js';
import { takeTurn, undoTurn } from '../fair/turn.js';
import { lookAhead } from '../fair/window.js';
import { emit } from '../results/events.js';
import { fitsEnd } from '../results/job-end.js';
import type { JobBody } from '../state/chunks.js';
import type { Group, Instance, Job, Turn } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { aggregationDueMs } from './assign-aggregations.js';
import { endHead } from './end.js';
import { sendToNonReady } from './processors.js';

/** Fills ready by the fair order, as far as workers wait, and starts what is ready. Returns what stopped it. */
export function startJobs(state: EngineState): GatePass {
  const pass = newPass(state);
  unparkDue(state);
  retrySuspects(state);
  for (;;) {
    startReady(state, pass);
    if (!state.isFetching || state.readyJobs >= readyBound(state, pass)) break;
    const group = nextGroup(state, pass);
    if (!group) break;
    const { payload, type = '' } = group.head?.body ?? {};
    const code = failureOf(state, group);
    if (code && !fitsEnd(state, payload)) break;
    if (code) endHead(state, group, 'FAILED', code);
    else if (lacksProcessor(state, type)) sendToNonReady(state, group);
    else takeTurn(state, group, pass);
  }
  endPass(state, pass);
  lookAhead(state);
  return pass;
}

/** Returns why the head of a group must not start any more: its deadline has passed, or it has killed too many instances. */
function failureOf(state: EngineState, group: Group): 'DEADLINE_EXCEEDED' | 'ORPHANED' | undefined {
  if (isOverdue(state, group)) return 'DEADLINE_EXCEEDED';
  const { orphanCount = 0 } = group.head ?? {};
  return orphanCount > state.config.reliableQueue.maxOrphanCount ? 'ORPHANED' : undefined;
}

/** Jobs that no instance might run have another chance: an instance may have no suspect any more. */
function retrySuspects(state: EngineState): void {
  if (state.suspected.size === 0) return;
  const groups = [...state.suspected];
  state.suspected.clear();
  for (const group of groups) {
    group.head = undefined;
    refresh(state, group);
  }
}

/**
 * Returns how many jobs ready may hold: what waiting workers take at once. Jobs that are delivered ahead of a free slot are in
 * flight, not ready. Without any live slot there is a small reserve.
 */
export function readyBound(
  state: EngineState,
  { live, free }: { readonly live: number; readonly free: number } = state.slots,
): number {
  const { readyQueueMaxSize } = state.config.backpressure;
  const wanted = live === 0 ? state.config.workerPool.fetchBatchSize : free;
  return Math.min(readyQueueMaxSize, wanted);
}

/** Starts ready jobs in the order of their turns, and those of one group one after another, while an instance is free for them. */
function startReady(state: EngineState, pass: GatePass): void {
  if (state.ready.length === 0) return;
  const { ready } = state;
  state.ready = [];
  for (const job of ready) {
    if (job.place !== 'READY') continue;
    if (mustReturn(state, job)) {
      holdBack(state, job.group);
      continue;
    }
    const instance = pass.free > 0 && job.group.ready[0] === job ? instanceFor(state, job) : undefined;
    if (!instance) state.ready.push(job);
    else {
      start(state, job, instance);
      pass.free -= 1;
    }
  }
}

/**
 * Reports whether a ready job must not start after all: its deadline has passed, an instance has announced that it calls another
 * resource, or that one lets nothing through.
 */
function mustReturn(state: EngineState, job: Job): boolean {
  const { type, deadlineMs } = job.body as JobBody;
  if (state.nowMs >= Math.min(deadlineMs ?? Infinity, job.group.deadlineMs ?? Infinity)) return true;
  return job.resource !== resourceOf(state, type) || isHeldBack(state, job);
}

/** What a ready job calls has become limited since its turn: the jobs of its group wait for their turns again. */
function holdBack(state: EngineState, group: Group): void {
  for (const job of [...group.ready].reverse()) undoTurn(state, job);
}

function start(state: EngineState, job: Job, instance: Instance): void {
  const { group, resource } = job;
  const { cost } = job.body as JobBody;
  const { seat, charge, groupStart, seatStart, freeStart, isMinimum } = job.turn as Turn;
  const { line } = seat;
  for (const scope of [group, group.tenant, state.shard]) scope.readyCost -= cost;
  if (resource) resource.readyCost -= cost;
  const isFirst = group.status !== 'RUNNING';
  decide(state, {
    kind: 'started',
    group,
    position: job.position,
    attempt: job.attempt + 1,
    instanceId: instance.id,
    cost,
    charge,
    resource,
    isLimited: line.resource !== undefined,
    isMinimum,
    groupStart,
    seatStart,
    freeStart,
    atUs: state.nowUs,
  });
  if (isFirst) emit(state, 'group.started', group);
  group.ready.shift();
  state.readyJobs -= 1;
  instance.free -= 1;
  instance.jobs.add(job);
  if (isSuspect(job)) instance.suspect = job;
  instance.outbox.push(job);
  group.tenant.inFlight += 1;
  noteStart(state, job);
  countEvents(state.starts, state.nowMs, 1);
  countEvents(group.tenant.servedWindow, state.nowMs, cost);
}

/**
 * Returns when the next commit is worth a try though nothing else has happened, in µs: a token comes, a pause of a
 * service ends, a delayed job is due or a group times out. Infinity means never.
 * @param pass - the last pass over the gate.
 */
export function nextWakeUs(state: EngineState, { blocked, globalSlotUs }: GatePass): number {
  let wakeUs = globalSlotUs || Infinity;
  // A resource at its cap has no slot: a job of it must end first.
  for (const slotUs of blocked.values()) if (slotUs > 0) wakeUs = Math.min(wakeUs, slotUs);
  const parkedUs = state.parked.peek()?.parkedUntilUs;
  if (parkedUs !== undefined) wakeUs = Math.min(wakeUs, parkedUs);
  const dueMs = state.isDispatching ? state.delayed.peek()?.dueMs : undefined;
  if (dueMs !== undefined) wakeUs = Math.min(wakeUs, dueMs * 1000);
  const watchMs = state.watched.peek()?.watchMs;
  if (watchMs !== undefined) wakeUs = Math.min(wakeUs, watchMs * 1000);
  return Math.min(wakeUs, aggregationDueMs(state) * 1000);
}
