import { orphanBackoffMs } from '../../../rules/backoff.js';
import { nameResources } from '../congestion/resources.js';
import { refresh } from '../fair/order.js';
import { Instance, type Job } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { endJob } from './end.js';
import { release } from './settle.js';
import { delayJob, requeueJob } from './wait.js';

/** An instance announces itself, or says what has changed. */
export interface InstanceSeen {
  readonly kind: 'instance';
  readonly id: string;
  readonly slots: number;
  readonly types: readonly string[];
  /** Resource that each type calls. A type without one is a resource of its own. */
  readonly resources?: { readonly [type: string]: string } | undefined;
}

/** Takes note of an instance. What is in flight there holds its slots. */
export function seeInstance(state: EngineState, { id, slots, types, resources }: InstanceSeen): void {
  nameResources(state, types, resources);
  const known = state.instances.get(id);
  if (!known) {
    addInstance(state, id, slots, types);
    return;
  }
  known.free += slots - known.slots;
  known.slots = slots;
  known.types = new Set(types);
}

function addInstance(state: EngineState, id: string, slots: number, types: readonly string[]): Instance {
  const instance = new Instance(id, slots, new Set(types));
  state.instances.set(id, instance);
  for (const group of state.groups.values())
    for (const job of group.inFlight.values()) {
      if (job.instanceId !== id) continue;
      instance.jobs.add(job);
      instance.free -= 1;
    }
  return instance;
}

/** An instance has died: what it ran is queued again. From its second orphaning on a job waits first. */
export function orphanJobs(state: EngineState, instanceId: string, random: () => number): void {
  const { jobs } = state.instances.get(instanceId) ?? addInstance(state, instanceId, 0, []);
  for (const job of jobs) {
    release(state, job);
    if (job.group.inFlight.get(job.position) === job) orphanJob(state, job, random);
    else refresh(state, job.group);
  }
  state.instances.delete(instanceId);
}

function orphanJob(state: EngineState, job: Job, random: () => number): void {
  const { maxOrphanCount } = state.config.reliableQueue;
  if (job.orphanCount >= maxOrphanCount) {
    endJob(state, job, 'FAILED', { durationMs: 0, code: 'ORPHANED' });
    return;
  }
  if (job.orphanCount === 0) {
    requeueJob(state, job, { attempt: job.attempt, orphans: 1 });
    return;
  }
  const delayMs = orphanBackoffMs(job.orphanCount + 1, state.config.backpressure, random());
  delayJob(state, job, { reason: 'ORPHANED', delayMs, retries: 0, orphans: 1 });
}
