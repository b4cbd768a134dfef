import type { GroupPatch, Moment, TenantPatch } from '../model.js';
import type { AddAnswer, GroupAnswer, GroupDefinition, GroupStore, NewJob } from '../ports.js';
import { type Added, addedHere, type Made, madeHere } from '../refusals.js';
import { fingerprintOf } from '../rules/fingerprint.js';
import { rescale } from '../rules/gcra.js';
import { hasEnded } from '../states.js';
import { completeIfDone, cutRound } from './ending.js';
import { bucketOf, refresh, refreshTenant, reweigh, unpark } from './fair-queue.js';
import { forgetSlowness } from './forgetting.js';
import { joinLane, joinNonReady } from './moves.js';
import { GroupRecord, JobRecord, type TenantRecord } from './records.js';
import type { MemoryState } from './state.js';
import { endQuietPause, noteProgress, watchGroup } from './watched.js';

/** Groups and tenants on the memory state. */
export const memoryGroups = (state: MemoryState): GroupStore => ({
  create: async (definition) =>
    madeHere(
      definition,
      state.step(() => create(state, definition)),
    ),
  add: async (definition, jobs, incoming) =>
    addedHere(
      definition,
      state.step(() => add(state, definition, jobs, incoming)),
    ),
  seal: async (key, total) => state.step(() => seal(state, key, total)),
  cancel: async (key) =>
    state.step(() => changeOpen(state, key, (group) => cutRound(state, group, 'CANCELLED', 'CANCELLED'))),
  pause: async (key) => state.step(() => changeOpen(state, key, (group) => setPaused(state, group, true))),
  resume: async (key) => state.step(() => changeOpen(state, key, (group) => setPaused(state, group, false))),
  forgetSlowness: async (key) => state.step(() => changeOpen(state, key, (group) => beginAnew(state, group))),
  update: async (key, patch) =>
    state.step(() => changeOpen(state, key, (group) => updateGroup(state, group, patch))),
  updateTenant: async (tenantId, patch) => state.step(() => updateTenant(state, tenantId, patch)),
});

/** See Shard. */
export function create(state: MemoryState, definition: GroupDefinition): Made {
  const known = state.groups.get(definition.key);
  if (known) return known.fingerprint === fingerprintOf(definition) ? 'known' : 'conflict';
  if (state.claims.has(definition.key)) return 'elsewhere';
  register(state, definition);
  return 'created';
}

function register(state: MemoryState, definition: GroupDefinition): GroupRecord {
  const { key, tenant, tenantId } = definition;
  const owner = state.tenantOf(tenantId);
  const group = new GroupRecord(definition, fingerprintOf(definition), owner, state.nextSeq(), state.wallMs);
  const standsForItself = tenant === '' && key === `/${tenantId}`;
  // Somebody has named this tenant: from now on it is one of several groups.
  if (owner.records === 0 && standsForItself) owner.own = group;
  else if (owner.own) owner.own = undefined;
  owner.records += 1;
  owner.openGroups += 1;
  state.groups.set(key, group);
  state.groupsBySeq.add(group);
  noteProgress(state, group);
  watchGroup(state, group);
  return group;
}

/** See Shard. */
export function add(
  state: MemoryState,
  definition: GroupDefinition,
  jobs: readonly NewJob[],
  incoming: number,
): Added {
  const known = state.groups.get(definition.key);
  if (!known && state.claims.has(definition.key)) return { kind: 'elsewhere' };
  const fresh = newOnes(jobs, known);
  if (known && fresh.length > 0 && (known.sealed || hasEnded(known.status)))
    return { kind: 'sealed', unknown: fresh.length };
  const tenantId = known?.owner.id ?? definition.tenantId;
  const full = fresh.length > 0 && refuseFull(state, tenantId, fresh.length, incoming - jobs.length);
  if (full) return full;
  const group = known ?? register(state, definition);
  for (const job of fresh) {
    const record = new JobRecord(group, job, state.wallMs);
    group.jobs.set(job.id, record);
    group.order.push(record);
    group.registered += 1;
    const delayMs = (job.notBefore ?? 0) - state.wallMs;
    if (delayMs > 0) joinNonReady(state, record, delayMs);
    else joinLane(state, record);
  }
  if (fresh.length > 0) noteProgress(state, group);
  return {
    kind: 'added',
    added: fresh.length,
    known: jobs.length - fresh.length,
    registered: group.registered,
  };
}

/** Jobs that are not registered yet, each id once. */
function newOnes(jobs: readonly NewJob[], known: GroupRecord | undefined): readonly NewJob[] {
  const ids = new Set<string>();
  return jobs.filter(({ id }) => !known?.jobs.has(id) && ids.size < ids.add(id).size);
}

/** Refuses before anything is written; jobs of the same call that are still to come must fit as well. */
function refuseFull(
  state: MemoryState,
  tenantId: string,
  fresh: number,
  later: number,
): AddAnswer | undefined {
  const { queuedJobsMax, tenantQueuedJobsMax } = state.config.limits;
  const wanted = fresh + Math.max(0, later);
  if (queuedJobsMax > 0 && state.pending + wanted > queuedJobsMax)
    return { kind: 'full', scope: 'engine', queued: state.pending, max: queuedJobsMax };
  const queued = state.tenants.get(tenantId)?.pending ?? 0;
  if (tenantQueuedJobsMax > 0 && queued + wanted > tenantQueuedJobsMax)
    return { kind: 'full', scope: 'tenant', queued, max: tenantQueuedJobsMax };
  return undefined;
}

function seal(
  state: MemoryState,
  key: string,
  total: number | undefined,
): GroupAnswer | { readonly kind: 'mismatch'; readonly registered: number } {
  const group = state.groups.get(key);
  if (!group) return { kind: 'not-found' };
  if (total !== undefined && total !== group.registered)
    return { kind: 'mismatch', registered: group.registered };
  if (group.sealed) return { kind: 'done', status: group.status, changed: false };
  if (hasEnded(group.status)) return { kind: 'ended', status: group.status };
  group.sealed = true;
  group.status = group.startedAt === undefined ? 'DISPATCHED' : 'RUNNING';
  completeIfDone(state, group);
  return { kind: 'done', status: group.status, changed: true };
}

/** Changes a group that has not ended; `change` says false when there was nothing to change. */
function changeOpen(state: MemoryState, key: string, change: (group: GroupRecord) => unknown): GroupAnswer {
  const group = state.groups.get(key);
  if (!group) return { kind: 'not-found' };
  if (hasEnded(group.status)) return { kind: 'ended', status: group.status };
  const changed = change(group) !== false;
  return { kind: 'done', status: group.status, changed };
}

/** Congestion control begins anew with a group. */
function beginAnew(state: MemoryState, group: GroupRecord): boolean {
  if (!forgetSlowness(group) && group.throttled === 0) return false;
  group.throttled = 0;
  group.stamps.throttledEpoch = 0;
  if (group.parkedAt >= 0) unpark(state, group);
  state.ring('fetch');
  return true;
}

function setPaused(state: MemoryState, group: GroupRecord, paused: boolean): boolean {
  if (group.paused === paused) return false;
  group.paused = paused;
  if (paused) group.pausedAt = state.nowMs;
  else endQuietPause(state, group);
  watchGroup(state, group);
  refresh(state, group);
  return true;
}

function updateGroup(state: MemoryState, group: GroupRecord, patch: GroupPatch): void {
  reweigh(state, group, group.owner, () => {
    if (patch.weight !== undefined) group.weight = patch.weight;
    if (patch.priorityLevel !== undefined) group.priorityLevel = patch.priorityLevel;
  });
  if (patch.timeoutMs !== undefined) group.timeoutMs = patch.timeoutMs;
  if (patch.deadline !== undefined)
    group.deadline = patch.deadline === null ? undefined : toMs(patch.deadline);
  watchGroup(state, group);
  updateLimits(state, group, patch);
  refresh(state, group);
}

const toMs = (moment: Moment): number => (typeof moment === 'number' ? moment : moment.getTime());

function updateTenant(state: MemoryState, tenantId: string, patch: TenantPatch): void {
  const tenant = state.tenantOf(tenantId);
  tenant.configured = true;
  reweigh(state, undefined, tenant, () => {
    if (patch.weight !== undefined) tenant.weight = patch.weight;
  });
  updateLimits(state, tenant, patch);
  refreshTenant(state, tenant);
}

/** New limits; the debt of a bucket stays what it was, in starts. What a limit held back is looked at again at once. */
function updateLimits(state: MemoryState, scope: GroupRecord | TenantRecord, patch: TenantPatch): void {
  const before = bucketOf(state, scope);
  if (patch.rps !== undefined) scope.rps = patch.rps ?? undefined;
  if (patch.burst !== undefined) scope.burst = patch.burst ?? undefined;
  if (patch.concurrency !== undefined) scope.concurrency = patch.concurrency ?? undefined;
  const after = bucketOf(state, scope);
  if (before && after && (after.rps !== before.rps || after.burst !== before.burst))
    scope.tatUs = rescale(before, state.nowUs, after.rps, after.burst);
  if (scope.parkedAt >= 0) unpark(state, scope);
  state.ring('fetch');
}
