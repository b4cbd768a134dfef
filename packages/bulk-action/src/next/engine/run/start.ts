import { countEvents } from '../../../rules/rate-window.js';
import { decide } from '../changes/decide.js';
import { isHeldBack, noteStart } from '../congestion/attempts.js';
import { type GatePass, isOverdue, newPass, nextGroup } from '../fair/gate.js';
import { resourceOf, unparkDue } from '../fair/order.js';
import { takeTurn, undoTurn } from '../fair/turn.js';
import { emit } from '../results/events.js';
import { fitsEnd } from '../results/job-end.js';
import type { JobBody } from '../state/chunks.js';
import type { Group, Instance, Job, Turn } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { endHead } from './end.js';

/** Fills ready by the fair order, as far as workers wait, and starts what is ready. Returns what stopped it. */
export function startJobs(state: EngineState): GatePass {
  const pass = newPass();
  unparkDue(state);
  for (;;) {
    startReady(state);
    if (!state.isFetching || state.readyJobs >= readyBound(state)) return pass;
    const group = nextGroup(state, pass);
    if (!group) return pass;
    const code = failureOf(state, group);
    if (!code) takeTurn(state, group);
    else if (fitsEnd(state, group.head?.body?.payload)) endHead(state, group, 'FAILED', code);
    else return pass;
  }
}

/** Returns why the head of a group must not start any more: its deadline has passed, or it has killed too many instances. */
function failureOf(state: EngineState, group: Group): 'DEADLINE_EXCEEDED' | 'ORPHANED' | undefined {
  if (isOverdue(state, group)) return 'DEADLINE_EXCEEDED';
  const { orphanCount = 0 } = group.head ?? {};
  return orphanCount > state.config.reliableQueue.maxOrphanCount ? 'ORPHANED' : undefined;
}

/** Returns how many jobs ready may hold: what waiting workers take at once. Without any live slot a small reserve. */
export function readyBound(state: EngineState): number {
  const { readyQueueMaxSize } = state.config.backpressure;
  const { live, free } = state.slots;
  const wanted = live === 0 ? state.config.workerPool.fetchBatchSize : free;
  return Math.min(readyQueueMaxSize, wanted);
}

/** Starts ready jobs in the order of their turns while an instance has a free slot. */
function startReady(state: EngineState): void {
  let taken = 0;
  for (const job of state.ready) {
    if (job.place === 'READY' && mustReturn(state, job)) holdBack(state, job.group);
    else if (job.place === 'READY') {
      const instance = instanceFor(state);
      if (!instance) break;
      start(state, job, instance);
    }
    taken += 1;
  }
  if (taken > 0) state.ready.splice(0, taken);
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

/** Returns the instance with the most free slots in proportion. The owner's own is last at equal load. */
function instanceFor(state: EngineState): Instance | undefined {
  let best: Instance | undefined;
  for (const instance of state.instances.values()) {
    if (instance.free <= 0) continue;
    if (!best || instance.free * best.slots > best.free * instance.slots) best = instance;
  }
  return best;
}

function start(state: EngineState, job: Job, instance: Instance): void {
  const { group, resource } = job;
  const { cost } = job.body as JobBody;
  const { seat, charge, groupStart, seatStart, freeStart } = job.turn as Turn;
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
  instance.outbox.push(job);
  group.tenant.inFlight += 1;
  noteStart(state, job);
  countEvents(state.starts, state.nowMs, 1);
  countEvents(group.tenant.servedWindow, state.nowMs, cost);
}
