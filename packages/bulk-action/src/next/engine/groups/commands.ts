import { hasEnded } from '../../../states.js';
import { decide } from '../changes/apply-change.js';
import { updateLimits } from '../congestion/limits.js';
import { forgetCongestion } from '../congestion/points.js';
import { refresh, refreshTenant, unpark } from '../fair/order.js';
import { undoTurns } from '../fair/turn.js';
import { cutRound } from '../run/end.js';
import { abortJobs, DONE, type Effect, ENDED, NOT_FOUND, type Recalls, recallJobs } from '../run/recall.js';
import { watchGroup } from '../run/watch.js';
import { Group, type Job, Resource, Tenant } from '../state/records.js';
import type { Scope } from '../state/scope.js';
import type { EngineState } from '../state/state.js';
import { cancelJob, type JobCommand, runJobNow } from './job-commands.js';
import { tenantOf } from './submit.js';
import {
  type GroupUpdate,
  type ScopeUpdate,
  type TenantUpdate,
  updateGroup,
  updateRates,
  updateTenant,
} from './update.js';

/** A request to change a job, a group, a tenant, a resource or the shard. */
export type Command =
  | GroupCommand
  | Pause
  | { readonly kind: 'update-tenant'; readonly tenantId: string; readonly update: TenantUpdate }
  | { readonly kind: 'update-resource'; readonly name: string; readonly update: ServiceUpdate }
  | { readonly kind: 'update-global'; readonly update: ServiceUpdate };

type GroupCommand =
  | { readonly kind: 'cancel-group'; readonly groupId: string }
  | { readonly kind: 'forget-congestion'; readonly groupId: string }
  | { readonly kind: 'update-group'; readonly groupId: string; readonly update: GroupUpdate }
  | JobCommand;

/** Pauses or resumes. Nothing that is paused starts; what runs goes on. */
export type Pause = { readonly isPaused: boolean } & (
  | { readonly kind: 'pause-group'; readonly groupId: string }
  | { readonly kind: 'pause-tenant'; readonly tenantId: string }
  | { readonly kind: 'pause-resource'; readonly name: string }
  | { readonly kind: 'pause-all' }
);

/** New limits of a resource, or of everything. */
type ServiceUpdate = ScopeUpdate & { readonly isPaused?: boolean | undefined };

/** Carries out a command. One that names nothing, or something that has ended, changes nothing. */
export function applyCommand(state: EngineState, command: Command): Effect {
  switch (command.kind) {
    case 'pause-group':
    case 'pause-tenant':
    case 'pause-resource':
    case 'pause-all': {
      const scope = pausedScope(state, command);
      if (!scope) return NOT_FOUND;
      if (scope instanceof Group && hasEnded(scope.status)) return ENDED;
      return pauseScope(state, scope, command.isPaused);
    }
    case 'update-tenant':
      return updateTenant(state, tenantOf(state, command.tenantId), command.update);
    case 'update-global':
      return updateService(state, state.shard, command.update);
    case 'update-resource': {
      const resource = state.resources.get(command.name);
      return resource ? updateService(state, resource, command.update) : NOT_FOUND;
    }
    default:
      return applyToGroup(state, command);
  }
}

/** Returns what a command pauses or resumes. A tenant need not have jobs yet. */
export function pausedScope(state: EngineState, command: Pause): Scope | undefined {
  switch (command.kind) {
    case 'pause-group':
      return state.groups.get(command.groupId);
    case 'pause-tenant':
      return tenantOf(state, command.tenantId);
    case 'pause-resource':
      return state.resources.get(command.name);
    case 'pause-all':
      return state.shard;
  }
}

function applyToGroup(state: EngineState, command: GroupCommand): Effect {
  const group = state.groups.get(command.groupId);
  if (!group) return NOT_FOUND;
  if (hasEnded(group.status)) return ENDED;
  switch (command.kind) {
    case 'cancel-group':
      return { ...DONE, recalls: cutGroup(state, group, 'CANCELLED', 'CANCELLED') };
    case 'forget-congestion':
      forgetCongestion(state, group);
      if (group.parkedAt >= 0) unpark(state, group);
      return DONE;
    case 'update-group':
      return updateGroup(state, group, command.update);
    case 'cancel-job':
      return cancelJob(state, group, command.position);
    case 'run-job':
      return runJobNow(state, group, command.position);
  }
}

/** Ends the round of a group before its jobs have ended. Its attempts are aborted. Returns what must not be launched any more. */
export function cutGroup(
  state: EngineState,
  group: Group,
  status: 'FAILED' | 'CANCELLED',
  code: string,
): Recalls {
  const recalls = abortJobs(state, group.inFlight.values());
  cutRound(state, group, status, code);
  return recalls;
}

function updateService(state: EngineState, scope: Scope, update: ServiceUpdate): Effect {
  // Ready jobs have set no tokens of a new rate aside.
  undoTurns(state, readyIn(state, scope));
  updateRates(state, scope, update);
  if (scope instanceof Resource) updateLimits(state, scope);
  return update.isPaused === undefined ? DONE : pauseScope(state, scope, update.isPaused);
}

function pauseScope(state: EngineState, scope: Scope, isPaused: boolean): Effect {
  if (scope.isPaused !== isPaused) decide(state, { kind: 'paused', scope, isPaused, atUs: state.nowUs });
  if (isPaused) undoTurns(state, readyIn(state, scope));
  if (scope instanceof Group) {
    watchGroup(state, scope);
    refresh(state, scope);
  } else if (scope instanceof Tenant) refreshTenant(state, scope);
  else if (scope instanceof Resource) updateLimits(state, scope);
  return isPaused ? { ...DONE, recalls: recallIn(state, scope) } : DONE;
}

/** Recalls the jobs of a scope that have not been launched. */
export const recallIn = (state: EngineState, scope: Scope): Recalls =>
  recallJobs(state, jobsInFlight(state, scope));

function readyIn(state: EngineState, scope: Scope): readonly Job[] {
  return scope instanceof Group ? scope.ready : state.ready.filter((job) => isIn(job, scope));
}

function jobsInFlight({ instances }: EngineState, scope: Scope): Iterable<Job> {
  if (scope instanceof Group) return scope.inFlight.values();
  const jobs: Job[] = [];
  for (const instance of instances.values())
    for (const job of instance.jobs)
      if (isIn(job, scope) && job.group.inFlight.get(job.position) === job) jobs.push(job);
  return jobs;
}

/** Reports whether a job belongs to a tenant or resource. Every job belongs to the shard. */
function isIn({ group, resource }: Job, scope: Scope): boolean {
  if (scope instanceof Tenant) return group.tenant === scope;
  return scope instanceof Resource ? resource === scope : true;
}
