import { tokensAt } from '@millrace/foundation';
import type { QueuesView as FormerQueuesView } from '../../../model.js';
import { ratePerSecond } from '../../../rules/rate-window.js';
import { NonReadyReason } from '../../../states.js';
import { readyBound } from '../run/start.js';
import { addressOf } from '../state/position.js';
import { type FairLine, Group, type Job, Resource } from '../state/records.js';
import type { Rate, Scope } from '../state/scope.js';
import type { EngineState } from '../state/state.js';

/** The queues of a shard. */
export interface QueuesView extends FormerQueuesView {
  /** Jobs that wait, wherever they are. */
  readonly queuedJobs: number;
  /** Jobs that run, that are ready, and that no rate, pause or cap holds back: the slots that would be busy now. */
  readonly wantedWorkers: number;
}

/** Tenants of a line that are searched for the job that has waited longest. */
const LINE_SEATS = 32;

/** Returns the queues as they are now. Takes O(delayed jobs). */
export function queuesView(state: EngineState): QueuesView {
  const { shard, readyJobs, delayed, parked } = state;
  const { live, free } = state.slots;
  const inFlight = shard.held - readyJobs;
  return {
    tenants: state.tenants.size,
    groups: shard.waitingGroups,
    parkedGroups: parked.items.filter((scope) => scope instanceof Group).length,
    lane: shard.pending - readyJobs - delayed.size,
    ready: readyJobs,
    readyBound: readyBound(state),
    nonReady: delayed.size,
    nonReadyByReason: countReasons(delayed.items),
    inFlight,
    deadLetters: shard.letters,
    liveSlots: live,
    waitingSlots: free,
    startsPerSecond: ratePerSecond(state.starts, state.nowMs),
    oldestWaitingMs: state.nowMs - oldestWaitingSinceMs(state),
    congestionRates: ratesOf(state.resources.values()),
    queuedJobs: shard.pending,
    wantedWorkers: inFlight + readyJobs + (state.isFetching ? countRunnable(state) : 0),
  };
}

/** Groups that are searched for jobs that could run: 10 ms. */
const GROUPS_MAX = 10_000;

/**
 * Counts the queued jobs that would become ready if slots were free: those of the groups in the fair orders, where no paused,
 * parked or full group stands, as far as caps and the tokens of now reach. Of more than 10,000 groups the rest is left out.
 */
function countRunnable(state: EngineState): number {
  const left = new Map<Scope, number>();
  const roomOf = (scope: Scope, cost: number): number =>
    isUnlimited(scope) ? Infinity : (left.get(scope) ?? allowance(state, scope, cost));
  const take = (scope: Scope, cost: number, jobs: number): void => {
    if (!isUnlimited(scope)) left.set(scope, roomOf(scope, cost) - jobs);
  };
  let count = 0;
  for (const { group, resource = group } of groupsInOrder(state)) {
    const { cost } = group.head?.body ?? { cost: 1 };
    const jobs = group.isOrdered ? 1 : group.pending - group.ready.length - group.delayed.size;
    const scopes = [state.shard, group.tenant, resource];
    const room = Math.min(...scopes.map((scope) => roomOf(scope, cost)), roomOf(group, cost));
    const runnable = Math.max(0, Math.min(jobs, room));
    for (const scope of scopes) take(scope, cost, runnable);
    count += runnable;
  }
  return count;
}

function* groupsInOrder(state: EngineState): Iterable<{ group: Group; resource: Resource | undefined }> {
  let groups = 0;
  for (const { resource, seats } of linesOf(state))
    for (const seat of seats.items)
      for (const group of seat.groups.items) {
        yield { group, resource };
        groups += 1;
        if (groups === GROUPS_MAX) return;
      }
}

const linesOf = (state: EngineState): readonly FairLine[] => [
  state.shard.free,
  ...[...state.limited].map(({ line }) => line),
];

const isUnlimited = (scope: Scope): boolean =>
  !scope.isPaused &&
  scope.rate === undefined &&
  scope.concurrency === undefined &&
  !(scope instanceof Resource);

function countReasons(jobs: readonly Job[]): Record<NonReadyReason, number> {
  const counts = Object.fromEntries(Object.values(NonReadyReason).map((reason) => [reason, 0]));
  for (const { reason } of jobs) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts as Record<NonReadyReason, number>;
}

function ratesOf(resources: Iterable<Resource>): Record<string, number> {
  const rates: Record<string, number> = {};
  for (const { name, rate, learnt } of resources) {
    const rps = Math.min(rate?.rps ?? Infinity, learnt?.rps ?? Infinity);
    if (rps < Infinity) rates[name] = rps;
  }
  return rates;
}

/** Returns how many jobs of this cost a scope lets through now. */
function allowance({ nowUs }: EngineState, scope: Scope, cost: number): number {
  if (scope.isPaused || !scope.hasRoom || scope.slotUs(nowUs, cost) > nowUs) return 0;
  const learnt = scope instanceof Resource ? scope : undefined;
  const cap = Math.min(scope.concurrency ?? Infinity, learnt?.learntConcurrency ?? Infinity);
  const tokensOf = (rate: Rate | undefined) => (rate ? tokensAt(rate, nowUs, scope.readyCost) : Infinity);
  const tokens = Math.min(tokensOf(scope.rate), tokensOf(learnt?.learnt));
  // A cost above the burst is let through by a full bucket.
  return Math.min(cap - scope.held, Math.max(1, Math.floor(tokens / cost)));
}

/** Returns since when the job has waited that has waited longest of those that are first in line. See QueuesView. */
function oldestWaitingSinceMs(state: EngineState): number {
  let sinceMs = state.nowMs;
  const compare = (job: Job | undefined) => {
    if (job) sinceMs = Math.min(sinceMs, waitingSinceMs(job));
  };
  compare(state.ready.find((job) => job.place === 'READY' && !job.group.isPaused));
  const due = state.delayed.peek();
  if (due && !due.group.isPaused) sinceMs = Math.min(sinceMs, due.dueMs);
  for (const { seats } of linesOf(state))
    for (const { groups } of seats.first(LINE_SEATS)) compare(groups.peek()?.head);
  return sinceMs;
}

/** Returns since when a job waits: its submit, the end of its delay, or its last start if it was given back. */
function waitingSinceMs({ group, position, dueMs, startedMs }: Job): number {
  const chunk = group.chunks.get(addressOf(position));
  return Math.max(dueMs, startedMs, chunk?.dueMs ?? 0, chunk?.createdMs ?? group.createdMs);
}
