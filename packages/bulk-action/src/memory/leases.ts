import { ERRORS } from '../errors.js';
import type {
  LeasedJob,
  LeaseRef,
  Outcome,
  RecoverAnswer,
  ReserveAnswer,
  ReserveRequest,
  SettleAnswer,
  Settlement,
} from '../lease.js';
import type { Leases } from '../ports.js';
import { orphanBackoffMs } from '../rules/backoff.js';
import { type Bucket, spend } from '../rules/gcra.js';
import { countEvents } from '../rules/rate-window.js';
import { signatureOf } from '../rules/signature.js';
import type { GroupStatus, JobStatus } from '../states.js';
import { isHeldBack, noteEnd, noteStart, noteThrottle } from './congestion.js';
import { noteThrottled } from './congestion-history.js';
import { bucketOf, globalBucket, unparkDue } from './fair-queue.js';
import { enterReadyInTurn, LOOKS_MAX, newLooks, nextGroup, rateSlot } from './gate.js';
import { gather } from './gather.js';
import {
  bury,
  deadlineOf,
  enterNonReady,
  fail,
  failOverdue,
  flightToLane,
  isLive,
  isOverdue,
  keepFailedTry,
  laneToReady,
  measured,
  readyToFlight,
  readyToLane,
  succeed,
} from './moves.js';
import { comesBeforeByName, type JobRecord } from './records.js';
import type { InstanceRecord, MemoryState } from './state.js';
import { wakeOthers } from './wake-others.js';
import { noteProgress } from './watched.js';

/** Weight of the newest try in the mean time of tries. */
const ESTIMATE_SHARE = 0.2;

/** Leases on the memory state. */
export const memoryLeases = (state: MemoryState): Leases => ({
  reserve: async (request) => state.step(() => reserve(state, request)),
  renew: async (leases) => state.step(() => leases.map((lease) => renew(state, lease))),
  settle: async (settlements) => state.step(() => settlements.map((one) => settle(state, one))),
  giveBack: async (leases) => state.step(() => giveBackAllOf(state, leases)),
  recover: async (randoms) => state.step(() => recover(state, randoms)),
  giveBackAll: async (instanceId, max) => state.step(() => giveBackAll(state, instanceId, max)),
});

function reserve(state: MemoryState, { instanceId, seq, max, turns = 0 }: ReserveRequest): ReserveAnswer {
  const instance = heardOf(state, instanceId, max);
  if (seq <= instance.seq) return repeated(state, instance, seq);
  instance.waiting = max;
  const takeTurn = turnTaker(state, turns);
  const jobs: LeasedJob[] = [];
  const back: JobRecord[] = [];
  const aside: JobRecord[] = [];
  let rateDenied = 0;
  for (let looks = max + LOOKS_MAX; looks > 0 && jobs.length < max; looks--) {
    const job = state.ready.shift() ?? takeTurn();
    if (!job) break;
    const verdict = startable(state, job, instance);
    if (verdict === 'start') {
      jobs.push(start(state, job, instance));
      instance.waiting -= 1;
    } else if (verdict === 'aside') aside.push(job);
    else if (verdict === 'denied') rateDenied += 1;
    else if (verdict === 'back') back.push(job);
  }
  // The last one first: at the head of their lanes they stand in the order they had.
  for (const job of back.reverse()) readyToLane(state, job);
  for (const job of aside.reverse()) state.ready.unshift(job);
  instance.seq = seq;
  instance.answer = jobs;
  if (jobs.length > 0) countEvents(state.starts, state.nowMs, jobs.length);
  wakeOthers(state, { waiting: instance.waiting, aside: aside.length, tookTurns: turns > 0 });
  return { jobs, missing: [], rateDenied };
}

/** Takes turns through the gate for a worker that waits, when nothing is ready: at most `turns`. */
function turnTaker(state: MemoryState, turns: number): () => JobRecord | undefined {
  const looks = newLooks(turns);
  let left = turns;
  return () => {
    if (left === 0) return undefined;
    if (left === turns) unparkDue(state, LOOKS_MAX);
    left -= 1;
    const job = nextGroup(state, looks)?.lane.peek();
    if (!job) return undefined;
    laneToReady(state, job);
    return state.ready.shift();
  };
}

/** The instance, which has just shown that it is alive. */
function heardOf(state: MemoryState, id: string, waiting: number): InstanceRecord {
  let instance = state.instances.get(id);
  if (!instance) {
    instance = {
      id,
      startedAt: state.wallMs,
      slots: waiting,
      waiting,
      processorTypes: [],
      seenMs: state.nowMs,
      seq: 0,
      answer: [],
      suspects: 0,
    };
    state.instances.set(id, instance);
  }
  instance.seenMs = state.nowMs;
  return instance;
}

/** The same answer again, as far as its leases still stand; nothing for a request that is older than the last. */
function repeated(state: MemoryState, instance: InstanceRecord, seq: number): ReserveAnswer {
  const leases = seq === instance.seq ? instance.answer : [];
  const jobs = leases.flatMap((lease) => {
    const job = held(state, lease);
    return job ? [leased(state, job)] : [];
  });
  return { jobs, missing: [], rateDenied: 0 };
}

/** The last checks before a start, since much may have changed while the job was ready. */
function startable(
  state: MemoryState,
  job: JobRecord,
  instance: InstanceRecord,
): 'start' | 'denied' | 'back' | 'aside' | 'no' {
  const { group } = job;
  if (!isLive(job)) {
    bury(state, job);
    return 'no';
  }
  if (group.paused || isUsedUp(group) || isUsedUp(group.owner)) return 'back';
  if (isOverdue(state, job)) {
    failOverdue(state, job);
    return 'no';
  }
  if (instance.suspects > 0 && isSuspect(state, job)) return 'aside';
  if (isHeldBack(state, job)) return 'back';
  const waitUs = rateSlot(state, group, job.cost, job.hold?.seat.line.resource) - state.nowUs;
  if (waitUs <= 0) return 'start';
  group.rateDenied += 1;
  enterNonReady(state, job, 'RATE_LIMITED', Math.ceil(waitUs / 1000), 0);
  return 'denied';
}

/**
 * Whether a job was lost so often that it may be what kills its processes. It then runs beside no other such job: those
 * that were lost together with it come back together, and would be counted to death with it.
 */
const isSuspect = (state: MemoryState, { orphanCount }: JobRecord): boolean =>
  orphanCount >= Math.max(1, Math.min(2, state.config.reliableQueue.maxOrphanCount));

/** Only a cap that was lowered can be used up here: the job itself has a slot. */
const isUsedUp = ({ running, concurrency }: JobRecord['group'] | JobRecord['group']['owner']): boolean =>
  concurrency !== undefined && running >= concurrency;

function start(state: MemoryState, job: JobRecord, instance: InstanceRecord): LeasedJob {
  const { group } = job;
  const tenant = group.owner;
  spendFrom(state, group, bucketOf(state, group), job.cost);
  spendFrom(state, tenant, bucketOf(state, tenant), job.cost);
  spendFrom(state, state, globalBucket(state), job.cost);
  const resource = job.hold?.seat.line.resource;
  if (resource) spendFrom(state, resource, bucketOf(state, resource), job.cost);
  job.token = state.nextToken();
  job.attempts += 1;
  job.startedAt = state.wallMs;
  const leaseUntilMs = state.nowMs + state.config.reliableQueue.ackTimeoutMs;
  const suspect = isSuspect(state, job);
  if (suspect) instance.suspects += 1;
  readyToFlight(state, job, { instanceId: instance.id, suspect, leaseUntilMs, sinceMs: state.nowMs });
  noteStart(state, job);
  tenant.served += job.cost;
  countEvents(tenant.servedWindow, state.nowMs, job.cost);
  if (job.attempts === 1) noteProgress(state, group);
  if (group.startedAt === undefined) {
    group.startedAt = state.wallMs;
    if (group.status === 'DISPATCHED') group.status = 'RUNNING';
    state.tell('group.started', group);
  }
  return leased(state, job);
}

function spendFrom(
  state: MemoryState,
  scope: { tatUs: number },
  bucket: Bucket | undefined,
  cost: number,
): void {
  if (bucket) scope.tatUs = spend(bucket, state.nowUs, cost);
}

function leased(state: MemoryState, job: JobRecord): LeasedJob {
  const { group } = job;
  const deadline = deadlineOf(job);
  return {
    key: group.key,
    jobId: job.id,
    token: job.token,
    tenant: group.tenant,
    tenantId: group.owner.id,
    processorType: job.processorType,
    payload: job.payload ?? 'null',
    cost: job.cost,
    retryCount: job.retryCount,
    attempt: job.attempts,
    createdAt: job.createdAt,
    waitedMs: Math.max(0, (job.flight?.sinceMs ?? state.nowMs) - job.waitingSinceMs),
    ...(deadline !== undefined && { deadline }),
    traceparent: job.traceparent ?? group.traceparent,
  };
}

/** The job, while this lease holds it. */
function held(state: MemoryState, { key, jobId, token }: LeaseRef): JobRecord | undefined {
  const job = state.groups.get(key)?.jobs.get(jobId);
  return job?.place === 'IN_FLIGHT' && job.token === token ? job : undefined;
}

function renew(state: MemoryState, lease: LeaseRef): 'ok' | 'lost' | 'cancelled' {
  const job = held(state, lease);
  if (!job?.flight) return 'lost';
  job.flight.leaseUntilMs = state.nowMs + state.config.reliableQueue.ackTimeoutMs;
  state.flights.put(job);
  return isLive(job) ? 'ok' : 'cancelled';
}

const CANCELLED: SettleAnswer = Object.freeze({ status: 'cancelled' });
const accepted = new Map<string, SettleAnswer>();

/** One object for every pair of states: each done job keeps its answer for as long as it is kept. */
function acceptedAs(jobStatus: JobStatus, groupStatus: GroupStatus): SettleAnswer {
  const pair = `${jobStatus} ${groupStatus}`;
  let answer = accepted.get(pair);
  if (!answer) {
    answer = Object.freeze({ status: 'accepted', jobStatus, groupStatus });
    accepted.set(pair, answer);
  }
  return answer;
}

function settle(state: MemoryState, settlement: Settlement): SettleAnswer {
  const job = state.groups.get(settlement.key)?.jobs.get(settlement.jobId);
  if (!job) return { status: 'gone' };
  // Reported before, and the answer was lost.
  if (job.settled && job.settledToken === settlement.token) return job.settled;
  if (job.place !== 'IN_FLIGHT' || job.token !== settlement.token) return { status: 'stale' };
  job.settledToken = settlement.token;
  if (!isLive(job)) {
    bury(state, job);
    job.settled = CANCELLED;
    return job.settled;
  }
  const durationMs = Math.max(0, settlement.durationMs);
  learnDuration(state, job, durationMs);
  apply(state, job, decided(state, job, settlement.outcome, durationMs), durationMs);
  job.settled = acceptedAs(job.outcome ?? 'PENDING', job.group.status);
  return job.settled;
}

/** Feeds congestion control, which decides how long a throttled job waits. */
function decided(state: MemoryState, job: JobRecord, outcome: Outcome, durationMs: number): Outcome {
  const sinceMs = job.flight?.sinceMs ?? state.nowMs;
  if (outcome.kind !== 'retry' || !outcome.throttle) {
    noteEnd(state, job, { sinceMs, durationMs, outcome });
    return outcome;
  }
  const { backoffMs, delayMs } = noteThrottle(state, job, sinceMs, outcome.throttle);
  job.group.lastBackoffMs = backoffMs;
  return { ...outcome, delayMs };
}

function apply(state: MemoryState, job: JobRecord, outcome: Outcome, durationMs: number): void {
  switch (outcome.kind) {
    case 'success':
      gather(state, job, outcome);
      succeed(state, job, durationMs);
      return;
    case 'failure': {
      gather(state, job, outcome);
      const deadSignature = outcome.dead ? outcome.signature : undefined;
      fail(state, job, outcome.error, { durationMs, deadSignature });
      return;
    }
    case 'retry':
      keepFailedTry(state, job, durationMs, outcome.error);
      if (outcome.spendsRetry) job.retryCount += 1;
      if (outcome.reason === 'API_THROTTLED') {
        job.group.throttled += 1;
        if (!outcome.throttle) job.group.lastBackoffMs = outcome.delayMs;
        noteThrottled(state, job.group);
      }
      enterNonReady(state, job, outcome.reason, outcome.delayMs, measured(state, durationMs));
  }
}

/** Keeps the mean time of tries, by which turns are charged in advance. */
function learnDuration(state: MemoryState, { group }: JobRecord, durationMs: number): void {
  const before = group.estimateMs ?? state.estimateMs;
  group.estimateMs = before + ESTIMATE_SHARE * (Math.max(1, durationMs) - before);
  state.estimateMs += ESTIMATE_SHARE * (Math.max(1, durationMs) - state.estimateMs);
}

/** The last one first: at the head of their lanes they stand in the order they had. */
const giveBackAllOf = (state: MemoryState, leases: readonly LeaseRef[]) =>
  [...leases]
    .reverse()
    .map((lease) => giveBack(state, lease))
    .reverse();

function giveBack(state: MemoryState, lease: LeaseRef): 'ready' | 'lane' | 'stale' | 'cancelled' | 'gone' {
  if (!state.groups.get(lease.key)?.jobs.has(lease.jobId)) return 'gone';
  const job = held(state, lease);
  if (!job) return 'stale';
  return returnFlight(state, job);
}

function returnFlight(state: MemoryState, job: JobRecord): 'ready' | 'lane' | 'cancelled' {
  if (!isLive(job)) {
    bury(state, job);
    return 'cancelled';
  }
  flightToLane(state, job);
  return enterReadyInTurn(state, job) ? 'ready' : 'lane';
}

function giveBackAll(
  state: MemoryState,
  instanceId: string,
  max: number,
): { readonly returned: number; readonly more: boolean } {
  const mine = state.flights.items
    .filter(({ flight }) => flight?.instanceId === instanceId)
    .sort((a, b) => (comesBeforeByName(a, b) ? -1 : 1));
  // The last one first: at the head of their lanes they stand in this order.
  for (const job of mine.slice(0, max).reverse()) returnFlight(state, job);
  return { returned: Math.min(max, mine.length), more: mine.length > max };
}

function recover(state: MemoryState, randoms: readonly number[]): RecoverAnswer {
  const { maxOrphanCount } = state.config.reliableQueue;
  const dead: RecoverAnswer['dead'][number][] = [];
  let recovered = 0;
  for (const random of randoms) {
    const job = expired(state);
    if (!job) break;
    recovered += 1;
    if (!isLive(job)) {
      bury(state, job);
      continue;
    }
    const ranMs = state.nowMs - (job.flight?.sinceMs ?? state.nowMs);
    job.orphanCount += 1;
    const { code, message } = ERRORS.create('ORPHANED', { count: job.orphanCount });
    if (job.orphanCount > maxOrphanCount) {
      const { key, traceparent } = job.group;
      dead.push({ key, jobId: job.id, traceparent: job.traceparent ?? traceparent });
      const deadSignature = signatureOf(job.processorType, code, message);
      fail(state, job, { code, message }, { durationMs: ranMs, deadSignature });
      continue;
    }
    keepFailedTry(state, job, ranMs, { code, message });
    const delayMs = orphanBackoffMs(job.orphanCount, state.config.backpressure, random);
    enterNonReady(state, job, 'ORPHANED', delayMs, measured(state, ranMs));
  }
  return { recovered, dead, more: expired(state) !== undefined };
}

function expired(state: MemoryState): JobRecord | undefined {
  const job = state.flights.peek();
  return job?.flight && job.flight.leaseUntilMs <= state.nowMs ? job : undefined;
}
