import { RECONCILE_JOBS_MAX, RECONCILE_SPAN, type ReconcileAnswer } from '../ports.js';
import { hasEnded } from '../states.js';
import { completeIfDone } from './ending.js';
import { refresh } from './fair-queue.js';
import { flightToLane, isLive, nonReadyToLane, readyToLane } from './moves.js';
import type { GroupRecord, JobRecord } from './records.js';
import type { MemoryState } from './state.js';
import { watchGroup } from './watched.js';

/*
 * Every counter changes together with the entry it counts, so there should be nothing to do here. It is a net: a group
 * whose counters are wrong would never end, and nobody would see why.
 */

/** What the entries of a group say its counters should be. */
interface Found {
  ready: number;
  readyCost: number;
  nonReady: number;
  inFlight: number;
  running: number;
  success: number;
  failed: number;
  cancelled: number;
  /** In no place at all. */
  readonly lost: JobRecord[];
}

/** See Watch.reconcile. */
export function reconcile(state: MemoryState, max: number, cursor: string | undefined): ReconcileAnswer {
  const from = Number(cursor ?? 0);
  const end = Math.min(state.lastSeq, from + RECONCILE_SPAN);
  let at = from;
  let looked = 0;
  let repaired = 0;
  while (at < end && looked < max) {
    at += 1;
    const group = state.groupsBySeq.get(at);
    if (!group) continue;
    looked += 1;
    if (isComparable(group) && putRight(state, group)) repaired += 1;
  }
  return { looked, repaired, ...(at < state.lastSeq && { cursor: String(at) }) };
}

/** Until the sweep has been there, entries of ended rounds lie about. */
const isComparable = ({ status, graves, registered }: GroupRecord): boolean =>
  !hasEnded(status) && graves === 0 && registered <= RECONCILE_JOBS_MAX;

function putRight(state: MemoryState, group: GroupRecord): boolean {
  const { lost } = search(state, group);
  for (const job of lost) returnLost(state, job);
  const found = search(state, group);
  const wrong = [
    lost.length > 0,
    setCounters(group, countersOf(group, found)),
    setCounters(group.owner, ownerCountersOf(group)),
    group.lookAt < 0 && !group.paused,
  ];
  if (!wrong.includes(true)) return false;
  watchGroup(state, group);
  refresh(state, group);
  if (group.status !== 'AGGREGATING') completeIfDone(state, group);
  return true;
}

function search(state: MemoryState, group: GroupRecord): Found {
  const inReady = new Set(state.ready.filter((job) => job.group === group));
  const inLane = new Set(group.lane.filter(() => true));
  const found: Found = {
    ready: 0,
    readyCost: 0,
    nonReady: 0,
    inFlight: 0,
    running: 0,
    success: 0,
    failed: 0,
    cancelled: 0,
    lost: [],
  };
  for (const job of group.order) {
    if (state.flights.has(job)) found.running += 1;
    if (job.outcome) found[COUNTED_AS[job.outcome]] += 1;
    else if (!isLive(job)) found.cancelled += 1;
    else if (state.flights.has(job)) found.inFlight += 1;
    else if (state.nonReady.has(job)) found.nonReady += 1;
    else if (inReady.has(job)) {
      found.ready += 1;
      found.readyCost += job.cost;
    } else if (!inLane.has(job)) found.lost.push(job);
  }
  return found;
}

const COUNTED_AS = { COMPLETED: 'success', FAILED: 'failed', CANCELLED: 'cancelled' } as const;

/** Whose entry is gone is still counted where it was: it goes to the head of its lane by the arrow from there. */
function returnLost(state: MemoryState, job: JobRecord): void {
  switch (job.place) {
    case 'READY':
      readyToLane(state, job);
      return;
    case 'IN_FLIGHT':
      flightToLane(state, job);
      return;
    case 'NON_READY':
      nonReadyToLane(state, job);
      return;
    default:
      job.place = 'LANE';
      job.group.lane.unshift(job);
  }
}

function countersOf(group: GroupRecord, found: Found): Partial<GroupRecord> {
  const { ready, readyCost, nonReady, inFlight, running, success, failed, cancelled } = found;
  return {
    ready,
    readyCost,
    nonReady,
    inFlight,
    running,
    held: ready + running,
    pending: group.lane.size + ready + nonReady,
    // The records of an earlier round may be past their retention: then nothing else knows what became of its jobs.
    ...(group.order.length === group.registered && { success, failed, cancelled }),
  };
}

/** What a tenant counts is known here only if this is all it has. */
function ownerCountersOf(group: GroupRecord): Partial<GroupRecord['owner']> {
  const { owner, held, running, readyCost, pending, inFlight } = group;
  if (owner.records !== 1) return {};
  return { held, running, readyCost, pending, inFlight, laneJobs: group.lane.size, openGroups: 1 };
}

/** @returns whether anything was different. */
function setCounters<T extends object>(scope: T, wanted: Partial<T>): boolean {
  const names = Object.keys(wanted) as (keyof T)[];
  const wrong = names.filter((name) => scope[name] !== wanted[name]);
  Object.assign(scope, wanted);
  return wrong.length > 0;
}
