import type { GateName as FormerGateName } from '../../../rules/explain.js';
import { JobPlace } from '../../../states.js';
import { readyBound } from '../run/start.js';
import type { JobBody } from '../state/chunks.js';
import { addressOf, type Position } from '../state/position.js';
import type { Group, Resource, Tenant } from '../state/records.js';
import type { Rate, Scope } from '../state/scope.js';
import type { EngineState } from '../state/state.js';
import type { Ahead } from './ahead.js';
import type { Whereabouts } from './job-view.js';
import { learntOf, slotIn, slownessOf } from './limits-now.js';

/** What holds a job back. `NO_OWNER` is added where no process owns the shard. */
export type GateName = FormerGateName | 'TENANT_PAUSED' | 'ORDERED' | 'MIN_SHARE';

/** One thing that holds a job back. */
export interface GateView {
  readonly gate: GateName;
  /** Time until it opens, if only time opens it. */
  readonly opensInMs?: number;
  readonly detail: string;
}

/** A job, and what is known of it and of its place in the order. */
export interface Waiting {
  readonly state: EngineState;
  readonly group: Group;
  readonly position: Position;
  readonly found: Whereabouts;
  /** Undefined while its chunk is not at hand. */
  readonly body: JobBody | undefined;
  readonly resource: Resource | undefined;
  readonly ahead: Ahead;
}

/** Returns everything that must change before a job runs, in the order in which the job meets it. */
export function gatesOf(waiting: Waiting): readonly GateView[] {
  const { found } = waiting;
  if (found.place === JobPlace.DONE) return [endGate(waiting)];
  if (found.place === JobPlace.IN_FLIGHT) {
    const { instanceId = '', attempt = 0 } = found.job ?? {};
    return [{ gate: 'RUNNING', detail: `Attempt ${attempt} is in flight on instance ${instanceId}` }];
  }
  const before = [...pauses(waiting), ...delays(waiting), ...processors(waiting), ...frozen(waiting)];
  if (found.place === JobPlace.READY) return [...before, ...workers(waiting)];
  return [...before, ...caps(waiting), ...rates(waiting), ...turns(waiting), ...workers(waiting)];
}

function endGate({ found: { status }, group }: Waiting): GateView {
  const detail = status
    ? `The job has ended as ${status}`
    : `The job has ended; the group is ${group.status}`;
  return { gate: 'DONE', detail };
}

function pauses({ state, group, resource, found }: Waiting): GateView[] {
  const gates: GateView[] = [];
  const add = (gate: GateName, isClosed: boolean, detail: string) => {
    if (isClosed) gates.push({ gate, detail });
  };
  add('PAUSED', group.isPaused, 'The group is paused; resume it');
  add('TENANT_PAUSED', group.tenant.isPaused, `Tenant '${group.tenant.id}' is paused; resume it`);
  add('PAUSED', resource?.isPaused === true, `Resource '${resource?.name}' is paused; resume it`);
  add('PAUSED', state.shard.isPaused, 'All groups are paused; resume them');
  if (found.place !== JobPlace.READY) add('PAUSED', !state.isFetching, 'The Fetcher is stopped; start it');
  if (found.place === JobPlace.NON_READY)
    add('PAUSED', !state.isDispatching, 'The Dispatcher is stopped; start it');
  return gates;
}

/** Deadlines, due times and the order of an ordered group. */
function delays({ state, group, found, body }: Waiting): GateView[] {
  const { nowMs } = state;
  if (found.place === JobPlace.READY) return [];
  if (nowMs >= Math.min(body?.deadlineMs ?? Infinity, group.deadlineMs ?? Infinity))
    return [{ gate: 'DONE', detail: 'The deadline has passed; the job ends as FAILED at its turn' }];
  const gates: GateView[] = [];
  const backOff = (dueMs: number, reason: string) => {
    const opensInMs = dueMs - nowMs;
    if (opensInMs > 0)
      gates.push({ gate: 'BACK_OFF', opensInMs, detail: `${reason}, due in ${opensInMs} ms` });
  };
  const { job } = found;
  if (found.place === JobPlace.NON_READY && job && job.reason !== 'NO_PROCESSOR')
    backOff(job.dueMs, job.reason);
  if (group.notBeforeMs !== undefined) backOff(group.notBeforeMs, 'SCHEDULED');
  const others = group.held + group.delayed.size - (found.place === JobPlace.NON_READY ? 1 : 0);
  if (group.isOrdered && others > 0)
    gates.push({ gate: 'ORDERED', detail: 'The group runs one job at a time, and another job has its turn' });
  return gates;
}

function processors({ state, body, found: { job, place } }: Waiting): GateView[] {
  const isKnown = body
    ? slotsOf(state, body.type).instances > 0
    : place !== JobPlace.NON_READY || job?.reason !== 'NO_PROCESSOR';
  if (isKnown) return [];
  return [{ gate: 'NO_PROCESSOR', detail: `No live worker has processor '${body?.type ?? '(not loaded)'}'` }];
}

function frozen({ state, group, resource }: Waiting): GateView[] {
  const gates: GateView[] = [];
  const add = (gate: GateName, name: string | undefined, untilMs: number, scope: string) => {
    const opensInMs = untilMs - state.nowMs;
    if (opensInMs <= 0) return;
    gates.push({ gate, opensInMs, detail: `'${name}' asked ${scope} to pause for ${opensInMs} ms` });
  };
  add('GROUP_FROZEN', group.slow?.resource.name, slownessOf(state, group).frozenUntilMs, 'this group');
  if (resource) add('RESOURCE_FROZEN', resource.name, learntOf(state, resource).frozenUntilMs, 'all callers');
  return gates;
}

function caps({ state, group, resource }: Waiting): GateView[] {
  const gates: GateView[] = [];
  const add = (gate: GateName, { held }: Scope, most: number | undefined, scope: string) => {
    if (most === undefined || held < most) return;
    gates.push({ gate, detail: `Ready or running jobs of ${scope}: ${held}, cap ${most}` });
  };
  add('GROUP_CAP', group, group.concurrency, 'the group');
  add('TENANT_CAP', group.tenant, group.tenant.concurrency, `tenant '${group.tenant.id}'`);
  if (resource) {
    const learnt = learntOf(state, resource).concurrency ?? Infinity;
    const most = Math.min(resource.concurrency ?? Infinity, learnt);
    add('RESOURCE_CAP', resource, most, `resource '${resource.name}'`);
  }
  return gates;
}

function rates({ state, group, resource, body }: Waiting): GateView[] {
  const { nowUs } = state;
  const { tenant } = group;
  const cost = body?.cost ?? 1;
  const gates: GateView[] = [];
  const add = (gate: GateName, rate: Rate | undefined, { readyCost }: Scope, notBeforeUs = 0) => {
    if (!rate) return;
    const slotUs = Math.max(notBeforeUs, slotIn(rate, nowUs, cost, readyCost));
    if (slotUs <= nowUs) return;
    if (!isTimed(state, rate, cost, readyCost)) {
      gates.push({ gate, detail: `${rate.rps} per second; ready jobs have the next tokens` });
      return;
    }
    const opensInMs = Math.ceil((slotUs - nowUs) / 1000);
    gates.push({
      gate,
      opensInMs,
      detail: `${rate.rps} per second; the next token comes in ${opensInMs} ms`,
    });
  };
  const slow = slownessOf(state, group).rate;
  const parkedUs = ({ parkedAt, parkedUntilUs }: Scope) => (parkedAt >= 0 ? parkedUntilUs : 0);
  add('GROUP_RATE', group.rate, group, slow ? 0 : parkedUs(group));
  add('GROUP_SLOWED', slow, group, parkedUs(group));
  add('TENANT_RATE', tenant.rate, tenant, parkedUs(tenant));
  if (resource) {
    add('RESOURCE_RATE', resource.rate, resource);
    add('RESOURCE_RATE', learntOf(state, resource).rate, resource);
  }
  add('GLOBAL_RATE', state.shard.rate, state.shard);
  return gates;
}

/** Ready jobs spend their tokens when they start. The next token is known only if workers wait for them. */
const isTimed = (state: EngineState, { burst }: Rate, cost: number, readyCost: number): boolean =>
  readyCost <= burst - Math.min(cost, burst) || state.slots.free >= state.readyJobs;

function turns({ state, group, position, ahead }: Waiting): GateView[] {
  const { jobsAhead, groupsAhead, tenantsAhead } = ahead;
  const gates = shares(state, group);
  const bound = readyBound(state);
  if (state.readyJobs >= bound && bound > 0)
    gates.push({
      gate: 'READY_FULL',
      detail: `${state.readyJobs} ready jobs wait for workers, the most is ${bound}`,
    });
  if (jobsAhead + groupsAhead + tenantsAhead > 0) {
    const detail = `Ahead of it: ${counted(jobsAhead, 'job')} of its group, ${counted(groupsAhead, 'group')} of its tenant, ${counted(tenantsAhead, 'tenant')}`;
    gates.push({ gate: 'TURN', detail });
  } else if (!group.chunks.has(addressOf(position)))
    gates.push({ gate: 'TURN', detail: 'The job is being loaded' });
  return gates;
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Minimum shares of other tenants, and the maximum share of the group. */
function shares(state: EngineState, group: Group): GateView[] {
  const { live } = state.slots;
  const { maxShare } = state.config.fairQueue;
  const gates: GateView[] = [];
  // Part of its minimum that a tenant has; at least 1 means that it is not below.
  const part = ({ held, minShare }: Tenant) => (minShare > 0 ? held / (minShare * live) : 1);
  const own = part(group.tenant);
  let below = 0;
  for (const tenant of state.tenants.values())
    if (tenant.minShare > 0 && part(tenant) < Math.min(1, own) && canRun(tenant)) below += 1;
  if (below > 0)
    gates.push({
      gate: 'MIN_SHARE',
      detail: `Tenants below their minimum share come first: ${below}`,
    });
  const most = Math.ceil(maxShare * live);
  if (maxShare < 1 && most > 0 && group.held >= most && othersCanRun(state, group, most)) {
    const detail = `Ready or running jobs of the group: ${group.held}, maximum while other groups wait ${most}`;
    gates.push({ gate: 'MAX_SHARE', detail });
  }
  return gates;
}

const canRun = ({ free, seats }: Tenant): boolean =>
  free.fairAt >= 0 || [...seats.values()].some(({ fairAt }) => fairAt >= 0);

/** Reports whether a group with a smaller share is in a fair order. */
const othersCanRun = (state: EngineState, group: Group, most: number): boolean =>
  [state.shard.free, ...[...state.limited].map(({ line }) => line)].some(({ seats }) =>
    seats.items.some(({ groups }) => groups.items.some((other) => other !== group && other.held < most)),
  );

function workers({ state, body, found }: Waiting): GateView[] {
  const { instances, live, free } = slotsOf(state, body?.type);
  const isReady = found.place === JobPlace.READY;
  const before = isReady && found.job ? state.ready.indexOf(found.job) : 0;
  if (instances === 0 || free > before) return [];
  const type = body ? `that run '${body.type}'` : 'that are alive';
  if (live === 0) return [{ gate: 'WORKER', detail: `The instances ${type} have no slots` }];
  const jobs = isReady ? `, ${counted(before, 'ready job')} ahead of it` : '';
  return [{ gate: 'WORKER', detail: `${free} of ${live} slots of the instances ${type} are free${jobs}` }];
}

/** Counts the live instances that have a processor, or all of them, and their slots. */
function slotsOf(
  { instances }: EngineState,
  type: string | undefined,
): { instances: number; live: number; free: number } {
  const slots = { instances: 0, live: 0, free: 0 };
  for (const instance of instances.values()) {
    if (type !== undefined && !instance.types.has(type)) continue;
    slots.instances += 1;
    slots.live += instance.slots;
    slots.free += Math.max(0, instance.free);
  }
  return slots;
}
