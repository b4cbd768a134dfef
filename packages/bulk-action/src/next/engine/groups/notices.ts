import { decide } from '../changes/apply-change.js';
import { loadedBody } from '../fair/head.js';
import { runningAggregation } from '../run/aggregate.js';
import { greetAggregations } from '../run/assign-aggregations.js';
import { type InstanceSeen, instanceOf, seeInstance } from '../run/instances.js';
import type { Effect } from '../run/recall.js';
import { inFlightAt, post, postRecall, type Recalls, refOf } from '../run/recall.js';
import { release, settle } from '../run/settle.js';
import type { JobRef, PendingAnswer, RecallTarget } from '../state/message.js';
import type { EngineState } from '../state/state.js';
import { applyCommand, type Command, pausedScope, recallIn } from './commands.js';

/** A command with its asker, who gets an answer. A repeat has the same nonce. */
export interface Notice {
  readonly kind: 'notice';
  readonly instanceId: string;
  readonly nonce: number;
  readonly command: Command;
}

/** An instance has launched the handlers of these jobs. */
export interface Started {
  readonly kind: 'started';
  readonly instanceId: string;
  readonly jobs: readonly JobRef[];
}

/** An instance answers a recall: with the jobs that it will not launch, and with those that it has launched. */
export interface Recalled {
  readonly kind: 'recalled';
  readonly instanceId: string;
  readonly number: number;
  readonly returned: readonly JobRef[];
  readonly launched: readonly JobRef[];
}

/** An instance sees a new owner and says which jobs it holds, settled ones included that it has not reported. */
export interface Greeting extends Omit<InstanceSeen, 'kind'> {
  readonly kind: 'greeting';
  readonly jobs: readonly (JobRef & { readonly isLaunched: boolean })[];
}

/** Recall numbers of one commit. Those of different owners must not meet. */
const RECALLS_PER_COMMIT = 2 ** 20;

/** Carries out a command and answers once no job that it stops can start any more. */
export function receiveNotice(state: EngineState, { instanceId, nonce, command }: Notice): void {
  const known = state.shard.nonces.get(instanceId, nonce);
  const effect = known
    ? { result: known, recalls: recallAgain(state, command) }
    : applyCommand(state, command);
  const { result } = effect;
  if (!known) decide(state, { kind: 'answered', instanceId, nonce, result });
  sendRecalls(state, effect, { instanceId, answer: { kind: 'answer', nonce, result }, recalls: 0 });
}

/** Carries out a command without an answer. */
export function receiveCommand(state: EngineState, command: Command): void {
  sendRecalls(state, applyCommand(state, command));
}

/** Sends recalls. The answer goes out now if there are none. */
export function sendRecalls(state: EngineState, { recalls }: Partial<Effect>, pending?: PendingAnswer): void {
  for (const [instanceId, targets] of recalls ?? []) {
    const number = (state.seq + 1) * RECALLS_PER_COMMIT + state.recallsMade++;
    if (pending) {
      pending.recalls += 1;
      state.recalls.set(number, { instanceId, pending });
    }
    postRecall(state, instanceId, { kind: 'recall', number, targets });
  }
  if (pending?.recalls === 0) post(state, pending.instanceId, pending.answer);
}

/**
 * Recalls for a command that was carried out before, perhaps by another owner. What a cancelled job or group had in flight is not
 * known any more, so every other instance is asked.
 */
function recallAgain(state: EngineState, command: Command): Recalls {
  switch (command.kind) {
    case 'cancel-group':
      return fromAll(state, { groupId: command.groupId });
    case 'cancel-job':
      return fromAll(state, { groupId: command.groupId, position: command.position });
    case 'pause-group':
    case 'pause-tenant':
    case 'pause-resource':
    case 'pause-all': {
      const scope = pausedScope(state, command);
      return scope?.isPaused ? recallIn(state, scope) : new Map();
    }
    default:
      return new Map();
  }
}

function fromAll({ instances, ownId }: EngineState, target: RecallTarget): Recalls {
  const recalls: Recalls = new Map();
  for (const id of instances.keys()) if (id !== ownId) recalls.set(id, [target]);
  return recalls;
}

/** An instance reports what it has launched. */
export function receiveStarted(state: EngineState, { instanceId, jobs }: Started): void {
  for (const ref of jobs) {
    const job = inFlightAt(state, instanceId, ref);
    if (job) job.isLaunched = true;
  }
}

/** Takes in what an instance returns. */
export function receiveRecalled(state: EngineState, recalled: Recalled): void {
  const { instanceId, returned, number } = recalled;
  for (const { groupId, position, attempt } of returned)
    settle(state, instanceId, { groupId, position, attempt, durationMs: 0, outcome: { kind: 'returned' } });
  receiveStarted(state, { kind: 'started', instanceId, jobs: recalled.launched });
  if (state.recalls.get(number)?.instanceId === instanceId) endRecall(state, number);
}

/** Ends the recalls of a dead instance: it launches nothing any more. */
export function endRecallsOf(state: EngineState, instanceId: string): void {
  for (const [number, recall] of state.recalls)
    if (recall.instanceId === instanceId) endRecall(state, number);
}

function endRecall(state: EngineState, number: number): void {
  const { pending } = state.recalls.get(number) as { pending: PendingAnswer };
  state.recalls.delete(number);
  pending.recalls -= 1;
  if (pending.recalls === 0) post(state, pending.instanceId, pending.answer);
}

/**
 * Compares what an instance holds with what is in flight there. What it lacks is delivered again, what it holds without being in
 * flight there is aborted.
 */
export function receiveGreeting(state: EngineState, greeting: Greeting): void {
  const { id, jobs } = greeting;
  seeInstance(state, { ...greeting, kind: 'instance' });
  const held = new Set<unknown>();
  for (const ref of jobs) {
    const job = inFlightAt(state, id, ref);
    if (job) {
      job.isLaunched ||= ref.isLaunched;
      held.add(job);
    } else if (!runningAggregation(state.groups.get(ref.groupId), id, ref.attempt))
      post(state, id, { kind: 'abort', ...pickRef(ref) });
  }
  greetAggregations(state, id, jobs);
  const instance = instanceOf(state, id);
  for (const job of [...instance.jobs]) {
    if (held.has(job)) continue;
    const { groupId, position } = refOf(job);
    if (inFlightAt(state, id, refOf(job)) === job) state.undelivered.push(job);
    else if (!jobs.some((ref) => ref.groupId === groupId && ref.position === position)) release(state, job);
  }
}

const pickRef = ({ groupId, position, attempt }: JobRef): JobRef => ({ groupId, position, attempt });

/** Delivers jobs again whose bodies are loaded now. Returns whether there were any. */
export function redeliver(state: EngineState): boolean {
  let hasFound = false;
  state.undelivered = state.undelivered.filter((job) => {
    if (job.group.inFlight.get(job.position) !== job) return false;
    job.body ??= loadedBody(state, job.group, job.position);
    if (!job.body) return true;
    instanceOf(state, job.instanceId).outbox.push(job);
    hasFound = true;
    return false;
  });
  return hasFound;
}

/** Reports whether the owner's own instance may launch a job now. It was perhaps paused or cancelled since its commit. */
export function launch(state: EngineState, ref: JobRef): boolean {
  const job = inFlightAt(state, state.ownId, ref);
  if (!job || job.isLaunched) return false;
  job.isLaunched = true;
  return true;
}
