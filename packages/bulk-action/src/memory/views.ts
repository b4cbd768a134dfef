import type { GroupView, JobView, Page, QueuesView, TenantShare, TenantView } from '../model.js';
import { INSTANCE_TTL_MS } from '../ports.js';
import type { ExplainFacts, ScopeFacts } from '../rules/explain.js';
import { largestShares } from '../rules/fair-share.js';
import { groupIdOf } from '../rules/ids.js';
import { ratePerSecond } from '../rules/rate-window.js';
import { startTag } from '../rules/sfq.js';
import { plainCursor } from '../rules/shard-pages.js';
import type { MarkedPage } from '../shard-port.js';
import type { JobStatus } from '../states.js';
import type { GroupFilter, StoreViews } from '../store-views.js';
import { slowBucket } from './congestion.js';
import { resourceStates, slownessOf } from './congestion-history.js';
import { bucketOf, globalBucket, slotOf, tenantWeight } from './fair-queue.js';
import { isLive } from './moves.js';
import type { FairHeap, GroupRecord, JobRecord, TenantRecord } from './records.js';
import type { MemoryState } from './state.js';

/** Records looked at for one page: a filter that matches little gives short pages, not long steps. */
const SCAN_MAX = 10_000;
/** Tenants of a line that are looked at for the one that has waited longest. */
const LINE_LOOKS = 32;

/** Views of the memory state. */
export const memoryViews = (state: MemoryState): StoreViews => ({
  group: async (key) =>
    state.step(() => {
      const group = state.groups.get(key);
      return group && groupView(state, group);
    }),
  result: async (key, round) => state.step(() => resultOf(state.groups.get(key), round)),
  job: async (key, jobId) =>
    state.step(() => {
      const job = state.groups.get(key)?.jobs.get(jobId);
      return job && jobView(state, job);
    }),
  async groups(filter, limit, cursor) {
    const { marks: _, ...page } = state.step(() => listGroups(state, filter, limit, cursor));
    return page;
  },
  activeGroups: async (limit) => state.step(() => activeGroups(state, limit)),
  jobs: async (key, { state: status }, limit, cursor) =>
    state.step(() => listJobs(state, state.groups.get(key), status, limit, cursor)),
  tenant: async (tenantId) =>
    state.step(() => {
      const tenant = state.tenants.get(tenantId);
      return tenant && tenantView(state, tenant);
    }),
  fairness: async (limit) => state.step(() => fairness(state, limit)),
  queues: async () => state.step(() => queues(state)),
  resources: async () => state.step(() => resourceStates(state)),
  slowness: async (key) => state.step(() => slownessOf(state, state.groups.get(key))),
  explain: async (key, jobId) =>
    state.step(() => {
      const job = state.groups.get(key)?.jobs.get(jobId);
      return job && factsOf(state, job);
    }),
});

/** What a caller sees of a job. */
function statusOf(job: JobRecord): JobStatus {
  if (job.outcome) return job.outcome;
  if (!isLive(job)) return 'CANCELLED';
  return job.place === 'IN_FLIGHT' ? 'PROCESSING' : 'PENDING';
}

function limitsOf({ rps, burst, concurrency }: GroupRecord | TenantRecord) {
  return {
    ...(rps !== undefined && { rps }),
    ...(burst !== undefined && { burst }),
    ...(concurrency !== undefined && { concurrency }),
  };
}

function groupView(state: MemoryState, group: GroupRecord): GroupView {
  const { deadline, startedAt, endedAt } = group;
  const { registered, success, failed, cancelled, pending, inFlight, nonReady, ready } = group;
  return {
    id: groupIdOf(group.key),
    tenant: group.tenant,
    tenantId: group.owner.id,
    weight: group.weight,
    priorityLevel: group.priorityLevel,
    ...limitsOf(group),
    timeoutMs: group.timeoutMs,
    ...(deadline !== undefined && { deadline }),
    traceparent: group.traceparent,
    status: group.status,
    sealed: group.sealed,
    paused: group.paused,
    round: group.round,
    createdAt: group.createdAt,
    ...(startedAt !== undefined && { startedAt }),
    ...(endedAt !== undefined && { endedAt }),
    progressAt: group.progressAt,
    counts: { registered, success, failed, cancelled, pending, inFlight, nonReady, ready },
    settledPerSecond: ratePerSecond(group.settledWindow, state.nowMs),
    throttled: group.throttled,
    rateDenied: group.rateDenied,
    lastBackoffMs: group.lastBackoffMs,
  };
}

function resultOf(group: GroupRecord | undefined, round: number | undefined) {
  if (round === undefined) return group?.results.at(-1);
  return group?.results.find((result) => result.round === round);
}

function jobView(state: MemoryState, job: JobRecord): JobView {
  const { notBefore, deadline, startedAt, endedAt, reason, payload } = job;
  return {
    id: job.id,
    groupId: groupIdOf(job.group.key),
    tenant: job.group.tenant,
    processorType: job.processorType,
    ...(payload !== undefined && readPayload(payload)),
    status: statusOf(job),
    place: job.place,
    retryCount: job.retryCount,
    orphanCount: job.orphanCount,
    attempts: job.attempts,
    cost: job.cost,
    createdAt: job.createdAt,
    ...(notBefore !== undefined && { notBefore }),
    ...(deadline !== undefined && { deadline }),
    ...(startedAt !== undefined && { startedAt }),
    ...(endedAt !== undefined && { endedAt }),
    ...(job.place === 'NON_READY' && { dueAt: state.wallMs + job.dueMs - state.nowMs }),
    ...(job.place === 'NON_READY' && reason !== undefined && { reason }),
    failedTries: job.failedTries ?? [],
    traceparent: job.traceparent ?? job.group.traceparent,
  };
}

/** A payload that cannot be read is left out: the job can still be looked at. */
export function readPayload(payload: string): { payload?: unknown } {
  try {
    return { payload: JSON.parse(payload) };
  } catch {
    return {};
  }
}

/** Newest first: by number of arrival, from the cursor down. */
export function listGroups(
  state: MemoryState,
  filter: GroupFilter,
  limit: number,
  cursor: string | undefined,
): MarkedPage<GroupView> {
  const items: GroupView[] = [];
  const marks: string[] = [];
  const matches = (group: GroupRecord) =>
    (filter.tenant === undefined || group.tenant === filter.tenant) &&
    (filter.tenantId === undefined || group.owner.id === filter.tenantId) &&
    (filter.status === undefined || group.status === filter.status);
  let looks = SCAN_MAX;
  for (const group of state.groupsBySeq.downFrom(Number(plainCursor(cursor) ?? state.lastSeq))) {
    const behind = String(group.seq - 1);
    if (matches(group)) {
      items.push(groupView(state, group));
      marks.push(behind);
    }
    looks -= 1;
    if (items.length < limit && looks > 0) continue;
    return { items, marks, ...(group.seq > 1 && { cursor: behind }) };
  }
  return { items, marks };
}

/** Those that the watcher looks at last come first. */
const activeGroups = (state: MemoryState, limit: number): readonly GroupView[] =>
  [...state.watched.items]
    .sort((a, b) => b.lookMs - a.lookMs || (a.key < b.key ? 1 : -1))
    .slice(0, limit)
    .map((group) => groupView(state, group));

function listJobs(
  state: MemoryState,
  group: GroupRecord | undefined,
  status: JobStatus | undefined,
  limit: number,
  cursor: string | undefined,
): Page<JobView> {
  const order = group?.order ?? [];
  const items: JobView[] = [];
  let at = Number(plainCursor(cursor) ?? 0);
  for (let looks = SCAN_MAX; at < order.length && items.length < limit && looks > 0; at++, looks--) {
    const job = order[at] as JobRecord;
    if (status === undefined || statusOf(job) === status) items.push(jobView(state, job));
  }
  return { items, ...(at < order.length && { cursor: String(at) }) };
}

function tenantView(state: MemoryState, tenant: TenantRecord): TenantView {
  return {
    id: tenant.id,
    weight: tenantWeight(state, tenant),
    ...limitsOf(tenant),
    groups: tenant.openGroups,
    pending: tenant.pending,
    inFlight: tenant.inFlight,
    served: tenant.served,
    servedPerSecond: ratePerSecond(tenant.servedWindow, state.nowMs),
  };
}

function fairness(state: MemoryState, limit: number): readonly TenantShare[] {
  const busy = [...state.tenants.values()]
    .map((tenant) => tenantView(state, tenant))
    .filter(({ pending, inFlight, servedPerSecond }) => pending + inFlight + servedPerSecond > 0);
  return largestShares(busy, limit);
}

/** Of every resource that has a limit, configured or learnt. */
function congestionRates(state: MemoryState): Readonly<Record<string, number>> {
  const limits = [...state.resources.values()].flatMap(({ name, rps }) =>
    rps === undefined ? [] : [[name, rps] as const],
  );
  return Object.fromEntries(limits);
}

function queues(state: MemoryState): QueuesView {
  const { live, waiting } = state.slots();
  let parkedGroups = 0;
  for (const scope of state.parked.items) if ('lane' in scope) parkedGroups += 1;
  return {
    tenants: state.tenants.size,
    groups: state.laneGroups,
    parkedGroups,
    lane: state.laneJobs,
    ready: state.readyJobs,
    readyBound: state.readyBound(),
    nonReady: state.nonReady.size,
    nonReadyByReason: { ...state.nonReadyByReason },
    inFlight: state.flights.size,
    deadLetters: state.deadLetters.size,
    liveSlots: live,
    waitingSlots: waiting,
    congestionRates: congestionRates(state),
    startsPerSecond: ratePerSecond(state.starts, state.nowMs),
    oldestWaitingMs: oldestWaitingMs(state),
  };
}

/** See QueuesView; O(ready). */
function oldestWaitingMs(state: MemoryState): number {
  let sinceMs = state.nowMs;
  const look = (since: number) => {
    sinceMs = Math.min(sinceMs, since);
  };
  const [ready] = state.ready.filter((job) => job.place === 'READY' && mayStart(job));
  if (ready) look(ready.waitingSinceMs);
  const due = state.nonReady.peek();
  if (due && mayStart(due)) look(due.dueMs);
  for (const { seats } of [state.free, ...state.limited]) {
    for (const { groups } of seats.first(LINE_LOOKS)) {
      const first = groups.peek()?.lane.peek();
      if (first) look(first.waitingSinceMs);
    }
  }
  return state.nowMs - sinceMs;
}

const mayStart = (job: JobRecord): boolean => isLive(job) && !job.group.paused;

function scopeFacts(state: MemoryState, scope: GroupRecord | TenantRecord): ScopeFacts {
  const bucket = bucketOf(state, scope);
  const { held, running, concurrency, readyCost } = scope;
  return {
    held,
    running,
    readyCost,
    ...(concurrency !== undefined && { concurrency }),
    ...(bucket && { bucket }),
  };
}

function slowFacts(state: MemoryState, group: GroupRecord): Pick<ExplainFacts['group'], 'slow'> {
  if (!group.slow) return {};
  const bucket = slowBucket(state, group);
  const frozenForMs = Math.max(0, group.slow.frozenUntilMs - state.nowMs);
  return { slow: { frozenForMs, ...(bucket && { bucket }) } };
}

function resourceFacts(state: MemoryState, job: JobRecord): Pick<ExplainFacts, 'resource'> {
  const resource = state.resourceOf(job);
  if (!resource) return {};
  const { name, held, concurrency, readyCost } = resource;
  const bucket = bucketOf(state, resource);
  const limits = { ...(concurrency !== undefined && { concurrency }), ...(bucket && { bucket }) };
  const frozenForMs = Math.max(0, resource.frozenUntilMs - state.nowMs);
  return { resource: { name, held, readyCost, frozenForMs, ...limits } };
}

function factsOf(state: MemoryState, job: JobRecord): ExplainFacts {
  const { group } = job;
  const tenant = group.owner;
  const bucket = globalBucket(state);
  const { payload: _, ...view } = jobView(state, job);
  const seat = group.seat ?? tenant.free;
  const groupStart = group.seat ? group.start : startTag(seat.clock, group.tag);
  const seatStart = seat.fairAt >= 0 ? seat.start : startTag(seat.line.clock, seat.tag);
  return {
    nowUs: state.nowUs,
    job: view,
    group: {
      ...scopeFacts(state, group),
      status: group.status,
      paused: group.paused,
      ...slowFacts(state, group),
    },
    tenant: scopeFacts(state, tenant),
    global: { readyCost: state.readyCost, ...(bucket && { bucket }) },
    ...resourceFacts(state, job),
    overShare: isOverShare(state, group),
    jobsAhead: job.place === 'LANE' && isLive(job) ? Math.max(0, group.lane.indexOf(job)) : 0,
    groupsAhead: countAhead(seat.groups, group, groupStart),
    tenantsAhead: countAhead(seat.line.seats, seat, seatStart),
    readyAhead: job.place === 'READY' ? Math.max(0, state.ready.indexOf(job)) : state.readyJobs,
    readyBound: state.readyBound(),
    waitingSlots: state.slots().waiting,
    startsPerSecond: ratePerSecond(state.starts, state.nowMs),
    groupSettledPerSecond: ratePerSecond(group.settledWindow, state.nowMs),
    processorKnown: isProcessorKnown(state, job.processorType),
    dueInMs: Math.max(0, job.dueMs - state.nowMs),
  };
}

/** Whether the gate passes this group over: no worker waits for more, or somebody who holds less can run. */
function isOverShare(state: MemoryState, group: GroupRecord): boolean {
  const most = Math.ceil(state.config.fairQueue.maxShare * state.slots().live);
  if (state.config.fairQueue.maxShare >= 1 || most === 0 || group.held < most) return false;
  if (state.readyJobs >= state.slots().waiting) return true;
  return [state.free, ...state.limited].some(({ seats }) =>
    seats.items.some(({ groups }) =>
      groups.items.some((other) => other.held < group.held && hasTokens(state, other)),
    ),
  );
}

function hasTokens(state: MemoryState, group: GroupRecord): boolean {
  const { cost } = group.lane.peek() ?? { cost: 1 };
  const { owner: tenant } = group;
  return [
    slotOf(state, bucketOf(state, group), cost, group.readyCost),
    slotOf(state, bucketOf(state, tenant), cost, tenant.readyCost),
    slotOf(state, globalBucket(state), cost, state.readyCost),
  ].every((slotUs) => slotUs <= state.nowUs);
}

function countAhead<T extends { start: number; seq: number; fairAt: number }>(
  heap: FairHeap<T>,
  me: T,
  start: number,
): number {
  let count = 0;
  for (const other of heap.items) {
    if (other !== me && (other.start < start || (other.start === start && other.seq < me.seq))) count += 1;
  }
  return count;
}

function isProcessorKnown(state: MemoryState, type: string): boolean {
  for (const { seenMs, processorTypes } of state.instances.values()) {
    if (state.nowMs - seenMs < INSTANCE_TTL_MS && processorTypes.includes(type)) return true;
  }
  return false;
}
