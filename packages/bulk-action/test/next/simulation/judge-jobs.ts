import type { AttemptOutcome, Settlement } from '../../../src/next/engine/run/settle.js';
import type { Change, JobDelayed, JobEnded, JobRequeued } from '../../../src/next/engine/state/change.js';
import type { EngineConfig } from '../../../src/next/engine/state/config.js';
import { firstPosition, type Position } from '../../../src/next/engine/state/position.js';
import type { Group } from '../../../src/next/engine/state/records.js';
import { Recorded } from '../../../src/next/engine/state/scope.js';
import { hasEnded } from '../../../src/states.js';
import type { StartJudge } from './judge-starts.js';
import type { Step, Violations } from './trace.js';
import { nameOf, type Truth, type TruthGroup, type TruthJob, type TruthScope } from './truth.js';

type JobChange = JobEnded | JobDelayed | JobRequeued;

const isOfJob = (change: Change): change is JobChange =>
  change.kind === 'ended' || change.kind === 'delayed' || change.kind === 'requeued';

/** Reports whether a change is what an outcome has to cause. */
const ANSWERS: {
  readonly [K in AttemptOutcome['kind']]: (change: JobChange, job: TruthJob, retriesMax: number) => boolean;
} = {
  success: (change) => change.kind === 'ended' && change.outcome === 'COMPLETED',
  failure: (change) => change.kind === 'ended' && change.outcome === 'FAILED',
  retry: (change, job, retriesMax) =>
    change.kind === 'delayed' ||
    (change.kind === 'ended' && change.outcome === 'FAILED' && job.retries >= retriesMax),
  throttled: (change) => change.kind === 'delayed' && change.reason === 'API_THROTTLED',
  returned: (change, job) => change.kind === 'requeued' && change.attempt === job.attempt - 1,
};

/**
 * Judges what an engine decides: every change has a cause in the input, and every input has its effect, exactly once. Keeps
 * the truth by what is durable.
 */
export class JobJudge {
  /** Changes of the step that no input has explained yet. */
  #left: Change[] = [];
  #step: Step | undefined;

  constructor(
    private readonly truth: Truth,
    private readonly config: EngineConfig,
    private readonly starts: StartJudge,
    private readonly violations: Violations,
  ) {}

  judge(step: Step): void {
    this.#step = step;
    this.#left = [...step.changes];
    const { input } = step;
    if (input.kind === 'settle') this.#settle(input.instanceId, input.settlement);
    else if (input.kind === 'buried') for (const id of input.instanceIds) this.#bury(id);
    else if (input.kind === 'entry') this.#entry(input.entry);
    for (let change = this.#left.shift(); change; change = this.#left.shift()) {
      if (isOfJob(change)) this.#unprompted(change);
      this.#apply(change);
    }
  }

  #check(...[holds, invariant, message]: Parameters<Violations['check']>): void {
    this.violations.check(holds, invariant, () => `${message()}, after ${told(this.#step?.input)}`);
  }

  #entry(entry: Extract<Step['input'], { kind: 'entry' }>['entry']): void {
    if (entry.kind === 'settled')
      for (const settlement of entry.settlements) this.#settle(entry.instanceId, settlement);
    else if (entry.kind === 'instance') {
      const { id, slots, types } = entry;
      const known = this.truth.instances.get(id);
      if (known) Object.assign(known, { slots, types });
      else this.truth.instances.set(id, { slots, types, inFlight: new Set() });
    } else if (entry.kind === 'submit') this.#submitted(entry);
    else if (entry.kind === 'pause-group') this.#paused(entry.groupId, entry.isPaused);
    else if (entry.kind === 'pause-tenant')
      this.#pausedAll(this.truth.tenant(entry.tenantId), entry.isPaused);
    else if (entry.kind === 'pause-resource')
      this.#pausedAll(this.truth.resource(entry.name), entry.isPaused);
    else if (entry.kind === 'pause-all') this.#pausedAll(this.truth.shard, entry.isPaused);
    else if (entry.kind === 'cancel-group') this.#cancelled(entry.groupId);
  }

  #submitted({
    groupId,
    chunks,
    isSealed,
  }: {
    groupId: string;
    chunks: readonly { address: number }[];
    isSealed: boolean;
  }): void {
    const announced = this.#left.filter(({ kind }) => kind === 'announced');
    this.#check(
      announced.length === chunks.length,
      'I1',
      () => `${chunks.length} chunks of ${groupId} were announced ${announced.length} times`,
    );
    const group = this.truth.groups.get(groupId);
    const seals = this.#left.some(({ kind }) => kind === 'sealed');
    this.#check(
      !isSealed || seals || !!group?.isSealed || hasEnded(group?.status ?? 'CREATED'),
      'I1',
      () => `${groupId} was not sealed`,
    );
  }

  #paused(groupId: string, isPaused: boolean): void {
    const group = this.truth.groups.get(groupId);
    if (!group || hasEnded(group.status)) return;
    this.#applyUntil(() => false);
    this.#check(
      group.isPaused === isPaused,
      'I5',
      () => `${groupId} is ${group.isPaused ? '' : 'not '}paused`,
    );
  }

  #pausedAll(scope: TruthScope, isPaused: boolean): void {
    this.#applyUntil(() => false);
    this.#check(
      scope.isPaused === isPaused,
      'I5',
      () => `${scope.name} is ${scope.isPaused ? '' : 'not '}paused`,
    );
  }

  #cancelled(groupId: string): void {
    const group = this.truth.groups.get(groupId);
    if (!group || hasEnded(group.status)) return;
    this.#applyUntil(() => false);
    this.#check(group.status === 'CANCELLED', 'I5', () => `${groupId} is ${group.status}`);
  }

  /** A settlement counts exactly if the job is in flight with this attempt on this instance. */
  #settle(instanceId: string, { groupId, position, attempt, outcome }: Settlement): void {
    const job = this.truth.groups.get(groupId)?.jobs.get(position);
    if (job?.place !== 'IN_FLIGHT' || job.attempt !== attempt || job.instanceId !== instanceId) return;
    const change = this.#next();
    const answers =
      change &&
      isFor(change, job) &&
      ANSWERS[outcome.kind](change, job, this.config.workerPool.maxRetryCount);
    this.#check(
      !!answers,
      'I2',
      () => `${nameOf(job)} settled as ${outcome.kind}, and the change is ${change && told(change)}`,
    );
    if (!change) return;
    if (outcome.kind === 'retry') job[outcome.spendsRetry ? 'retries' : 'throttles'] += 1;
    if (outcome.kind === 'throttled') job.throttles += 1;
    if (outcome.kind === 'returned') job.returns += 1;
    this.#apply(change);
  }

  /** What a dead instance ran waits again, or is dead after too many such deaths. */
  #bury(instanceId: string): void {
    const running = this.truth.instances.get(instanceId)?.inFlight ?? new Set();
    for (let left = running.size; left > 0; left--) {
      const change = this.#next();
      const job = [...running].find((each) => change && isFor(change, each));
      this.#check(
        !!job,
        'I10',
        () => `${left} jobs of ${instanceId} were orphaned, and the change is ${change && told(change)}`,
      );
      if (!job || !change) return;
      const isDead = job.orphans >= this.config.reliableQueue.maxOrphanCount;
      const expected = isDead ? 'ended' : job.orphans === 0 ? 'requeued' : 'delayed';
      this.#check(
        change.kind === expected,
        'I3',
        () => `orphan ${job.orphans + 1} of ${nameOf(job)} is ${change.kind}, not ${expected}`,
      );
      job.orphans += 1;
      this.#apply(change);
    }
    this.truth.instances.delete(instanceId);
  }

  /** A change that no settlement and no death explains. */
  #unprompted(change: JobChange): void {
    const job = this.#jobOf(change.group, change.position);
    if (!job) return;
    const nowMs = (this.#step as Step).nowUs / 1000;
    const name = () => `${told(change)} of ${nameOf(job)}, which is ${job.place}`;
    const { input } = this.#step as Step;
    const command = input.kind === 'entry' && 'position' in input.entry ? input.entry : undefined;
    if (command && command.groupId === job.group.id && command.position === job.position) {
      const { kind } = command;
      const fits =
        kind === 'cancel-job'
          ? change.kind === 'ended' && change.outcome === 'CANCELLED'
          : change.kind === 'requeued';
      this.#check(fits, 'I4', name);
      // A caller may have a job run before its time.
      return;
    }
    if (change.kind === 'ended') {
      const deadlineMs = Math.min(job.body.deadlineMs ?? Infinity, job.group.settings.deadlineMs ?? Infinity);
      const isLate = change.code === 'DEADLINE_EXCEEDED' && nowMs >= deadlineMs;
      const waits = job.place === 'QUEUED' || job.place === 'FRONT';
      this.#check(waits && isLate, 'I4', name);
    } else if (change.kind === 'requeued')
      this.#check(job.place === 'DELAYED' && job.delayedUntilMs <= nowMs, 'I4', name);
    else this.#check(false, 'I4', name);
  }

  /** Applies changes until one is about a job, and takes that out. */
  #next(): JobChange | undefined {
    return this.#applyUntil(isOfJob) as JobChange | undefined;
  }

  #applyUntil(isWanted: (change: Change) => boolean): Change | undefined {
    for (let change = this.#left.shift(); change; change = this.#left.shift()) {
      if (isWanted(change)) return change;
      this.#apply(change);
    }
    return undefined;
  }

  #jobOf({ id }: Group, position: Position): TruthJob | undefined {
    const job = this.truth.groups.get(id)?.jobs.get(position);
    this.#check(!!job, 'I8', () => `${id} has no job at ${position}`);
    return job;
  }

  #apply(change: Change): void {
    switch (change.kind) {
      case 'started': {
        const job = this.#jobOf(change.group, change.position);
        if (job) this.starts.judge(job, change, this.#step as Step);
        return;
      }
      case 'ended':
      case 'delayed':
      case 'requeued': {
        const job = this.#jobOf(change.group, change.position);
        if (job) this.#leave(job, change);
        return;
      }
      case 'announced':
        this.#announced(change.group, firstPosition(change.address), change.jobs);
        return;
      case 'dropped':
        this.#dropped(change.group, firstPosition(change.address));
        return;
      case 'sealed':
        (this.truth.groups.get(change.group.id) as TruthGroup).isSealed = true;
        return;
      case 'moved':
        this.#moved(this.truth.groups.get(change.group.id) as TruthGroup, change);
        return;
      case 'settings': {
        const group = this.truth.groups.get(change.group.id) as TruthGroup;
        group.settings = { ...group.settings, deadlineMs: change.deadlineMs };
        return;
      }
      case 'paused':
      case 'limits':
        this.starts.changed(change);
    }
  }

  #leave(job: TruthJob, change: JobChange): void {
    this.#check(job.place !== 'ENDED', 'I2', () => `${nameOf(job)} has ended, then comes ${told(change)}`);
    this.truth.land(job);
    if (change.kind === 'ended') {
      job.place = 'ENDED';
      job.outcome = change.outcome;
      job.group.ends[change.outcome] += 1;
      return;
    }
    if (change.attempt < job.attempt) this.starts.returned(job);
    job.place = change.kind === 'delayed' ? 'DELAYED' : 'FRONT';
    job.attempt = change.attempt;
    if (change.kind === 'delayed') job.delayedUntilMs = change.dueMs;
    const { retryCount, orphanCount } = change;
    this.#check(
      retryCount === job.retries && orphanCount === job.orphans,
      'I3',
      () =>
        `${nameOf(job)} counts ${retryCount} retries and ${orphanCount} orphanings, not ${job.retries} and ${job.orphans}`,
    );
  }

  #announced({ id }: Group, first: Position, jobs: number): void {
    const group = this.truth.groups.get(id) as TruthGroup;
    const isLate = hasEnded(group.status);
    for (let position = first; position < first + jobs; position++) {
      const job = group.jobs.get(position);
      this.#check(
        job?.place === 'SUBMITTED',
        'I2',
        () => `${id} announces ${position}, which is ${job?.place}`,
      );
      if (!job) continue;
      job.place = 'QUEUED';
      if (!isLate) continue;
      // The round was cut while the submit was on its way: its jobs end with it, beside the result.
      job.place = 'ENDED';
      job.outcome = 'CANCELLED';
    }
    if (isLate) return;
    group.registered += jobs;
  }

  #dropped({ id }: Group, first: Position): void {
    const group = this.truth.groups.get(id) as TruthGroup;
    for (let position = first, job = group.jobs.get(first); job; job = group.jobs.get(++position))
      if (position < first + 64)
        this.#check(job.place === 'ENDED', 'I1', () => `The chunk of ${nameOf(job as TruthJob)} is dropped`);
  }

  #moved(group: TruthGroup, { status, round }: { status: TruthGroup['status']; round: number }): void {
    const ends = () => group.ends.COMPLETED + group.ends.FAILED + group.ends.CANCELLED;
    if (round > group.round) {
      group.round = round;
      group.registered -= ends();
      Object.assign(group.ends, { COMPLETED: 0, FAILED: 0, CANCELLED: 0 });
    }
    group.status = status;
    if (!hasEnded(status)) return;
    group.isPaused = false;
    if (status === 'COMPLETED') {
      const isDone = ends() === group.registered && (group.isSealed || !group.settings.isSealable);
      this.#check(isDone, 'I8', () => `${group.id} completes with ${ends()} of ${group.registered} jobs`);
      return;
    }
    group.wasCut = true;
    for (const job of group.jobs.values()) {
      if (job.place === 'ENDED' || job.place === 'SUBMITTED') continue;
      this.truth.land(job);
      job.place = 'ENDED';
      job.outcome = 'CANCELLED';
      group.ends.CANCELLED += 1;
    }
  }
}

const isFor = ({ group, position }: JobChange, job: TruthJob): boolean =>
  group.id === job.group.id && position === job.position;

/** Describes an input or a change in one line. */
export const told = (value: unknown): string =>
  JSON.stringify(value, (key, part) => {
    if (part instanceof Map || part instanceof Set || key === 'settings') return undefined;
    return part instanceof Recorded ? `${'id' in part ? part.id : part.number}` : part;
  });
