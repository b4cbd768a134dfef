import type { CommandResult, Message, RecallTarget } from '../state/message.js';
import type { Position } from '../state/position.js';
import type { Job } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { release, returnJob } from './settle.js';

/** Adds a message to the next delivery of an instance. */
export function post(state: EngineState, instanceId: string, message: Message): void {
  const messages = state.mail.get(instanceId);
  if (messages) messages.push(message);
  else state.mail.set(instanceId, [message]);
}

/** Adds a recall in front of all messages: an abort of the same job must find it launched or returned. */
export function postRecall(state: EngineState, instanceId: string, recall: Message): void {
  state.mail.set(instanceId, [recall, ...(state.mail.get(instanceId) ?? [])]);
}

/** Instances that must answer a recall, with what they must not launch any more. */
export type Recalls = Map<string, RecallTarget[]>;

/** What a command has done, and the instances that have to return jobs before it is answered. */
export interface Effect {
  readonly result: CommandResult;
  readonly recalls?: Recalls;
}

export const DONE: Effect = { result: { kind: 'done' } };
export const NOT_FOUND: Effect = { result: { kind: 'not-found' } };
export const ENDED: Effect = { result: { kind: 'ended' } };

/**
 * Takes back jobs that were delivered and have not been launched. The owner's own instance returns them at once: it asks before
 * each launch. Others have to be asked.
 */
export function recallJobs(state: EngineState, jobs: Iterable<Job>): Recalls {
  const recalls: Recalls = new Map();
  for (const job of [...jobs]) {
    if (job.isLaunched) continue;
    if (job.instanceId === state.ownId) returnJob(state, job, true);
    else addTarget(recalls, job);
  }
  return recalls;
}

/**
 * Stops jobs in flight that are about to end without their attempts. Those of the owner's own instance that have not been
 * launched leave their slots at once. Others get an abort, and those that may not have been launched a recall as well.
 */
export function abortJobs(state: EngineState, jobs: Iterable<Job>): Recalls {
  const recalls: Recalls = new Map();
  for (const job of jobs) {
    const isOwn = job.instanceId === state.ownId;
    if (isOwn && !job.isLaunched) release(state, job);
    else post(state, job.instanceId, { kind: 'abort', ...refOf(job) });
    if (!isOwn && !job.isLaunched) addTarget(recalls, job);
  }
  return recalls;
}

export const refOf = ({ group, position, attempt }: Job) => ({ groupId: group.id, position, attempt });

function addTarget(recalls: Recalls, { instanceId, group, position }: Job): void {
  const targets = recalls.get(instanceId);
  const target = { groupId: group.id, position };
  if (targets) targets.push(target);
  else recalls.set(instanceId, [target]);
}

/** Returns the job in flight that an instance means, or undefined if this attempt is not in flight there. */
export function inFlightAt(
  state: EngineState,
  instanceId: string,
  ref: { readonly groupId: string; readonly position: Position; readonly attempt: number },
): Job | undefined {
  const job = state.groups.get(ref.groupId)?.inFlight.get(ref.position);
  return job?.attempt === ref.attempt && job.instanceId === instanceId ? job : undefined;
}
