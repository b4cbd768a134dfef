import { orphanBackoffMs } from '../../../rules/backoff.js';
import { nameResources } from '../congestion/resources.js';
import { loadedBody } from '../fair/head.js';
import { refresh } from '../fair/order.js';
import { keepAttempt } from '../results/attempts.js';
import { fitsEnd } from '../results/job-end.js';
import { Instance, type Job } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { endJob, errorOf, failAggregation } from './end.js';
import { onInstancesChanged } from './processors.js';
import { release } from './settle.js';
import { delayJob, requeueJob } from './wait.js';

const DIED = 'The instance that ran it died';

/** An instance announces itself, or says what has changed. */
export interface InstanceSeen {
  readonly kind: 'instance';
  readonly id: string;
  readonly slots: number;
  readonly types: readonly string[];
  /** Types of its aggregators. */
  readonly aggregators?: readonly string[] | undefined;
  /** Resource that each type calls. A type without one is a resource of its own. */
  readonly resources?: { readonly [type: string]: string } | undefined;
}

/** Takes note of an instance. What is in flight there holds its slots. */
export function seeInstance(
  state: EngineState,
  { id, slots, types, aggregators, resources }: InstanceSeen,
): void {
  nameResources(state, types, resources);
  const known = instanceOf(state, id);
  known.free += slots - known.slots;
  known.slots = slots;
  known.types = new Set(types);
  known.aggregators = new Set(aggregators);
  onInstancesChanged(state);
}

/** Returns an instance; adds it without slots if it has not announced itself yet. */
export function instanceOf(state: EngineState, id: string): Instance {
  let instance = state.instances.get(id);
  if (!instance) {
    instance = new Instance(id, 0, new Set());
    state.instances.set(id, instance);
  }
  return instance;
}

/** An instance has died: what it ran is queued again. From its second orphaning on a job waits first. */
export function orphanJobs(state: EngineState, instanceId: string, random: () => number): void {
  const { jobs, aggregations } = instanceOf(state, instanceId);
  for (const job of jobs) {
    release(state, job);
    if (job.group.inFlight.get(job.position) === job) orphanJob(state, job, random);
    else refresh(state, job.group);
  }
  for (const group of aggregations)
    if (group.status === 'AGGREGATING' && group.kept?.aggregation?.instanceId === instanceId)
      failAggregation(state, group, DIED);
  state.instances.delete(instanceId);
  onInstancesChanged(state);
}

function orphanJob(state: EngineState, job: Job, random: () => number): void {
  const { maxOrphanCount } = state.config.reliableQueue;
  keepAttempt(state, job, state.nowMs - job.startedMs, { code: 'ORPHANED', message: DIED });
  if (job.orphanCount >= maxOrphanCount) {
    endOrphan(state, job);
    return;
  }
  if (job.orphanCount === 0) {
    requeueJob(state, job, { attempt: job.attempt, orphans: 1 });
    return;
  }
  const delayMs = orphanBackoffMs(job.orphanCount + 1, state.config.backpressure, random());
  delayJob(state, job, { reason: 'ORPHANED', delayMs, retries: 0, orphans: 1 });
}

/** A job that kills its instances becomes a dead letter: now if its body is loaded, else at its next turn. */
function endOrphan(state: EngineState, job: Job): void {
  const { group, position } = job;
  job.body ??= loadedBody(state, group, position);
  if (job.body && fitsEnd(state, job.body.payload))
    endJob(state, job, 'FAILED', { durationMs: 0, error: errorOf('ORPHANED'), isDead: true });
  else requeueJob(state, job, { attempt: job.attempt, orphans: 1 });
}
