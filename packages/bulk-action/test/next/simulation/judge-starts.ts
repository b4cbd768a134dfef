import { defaultBurst } from '@millrace/foundation';
import type { JobStarted, LimitsSet, Paused } from '../../../src/next/engine/state/change.js';
import { queueOf } from '../../../src/next/engine/state/position.js';
import { Group, Resource, Tenant } from '../../../src/next/engine/state/records.js';
import type { Scope } from '../../../src/next/engine/state/scope.js';
import { hasEnded } from '../../../src/states.js';
import type { Invariant, Step, Violations } from './trace.js';
import { nameOf, type Truth, type TruthGroup, type TruthJob, type TruthScope } from './truth.js';

const WINDOW_US = 1_000_000;

interface Spent {
  readonly job: TruthJob;
  readonly atUs: number;
  readonly cost: number;
}

/** Judges each start: the job may run, now and there, within every cap and every rate, in the order of its group. */
export class StartJudge {
  /** Starts of the last second, under each rate. */
  readonly #windows = new Map<TruthScope, Spent[]>();
  #lastUs = 0;

  constructor(
    private readonly truth: Truth,
    private readonly violations: Violations,
  ) {}

  judge(job: TruthJob, change: JobStarted, { input, nowUs }: Step): void {
    const { group } = job;
    this.#mayRun(job, nowUs / 1000);
    this.#fits(job, change);
    if (input.kind === 'commit' && input.readyBefore === 0) this.#keepsOrder(job);
    this.#check(
      change.attempt === job.attempt + 1,
      'I4',
      job,
      () => `starts attempt ${change.attempt} after ${job.attempt}`,
    );
    job.starts += 1;
    const most = 1 + job.retries + job.orphans + job.returns + job.throttles;
    this.#check(
      job.starts <= most,
      'I3',
      job,
      () => `starts ${job.starts} times, at most ${most} are allowed`,
    );
    job.place = 'IN_FLIGHT';
    job.attempt = change.attempt;
    job.instanceId = change.instanceId;
    if (group.status === 'CREATED' || group.status === 'DISPATCHED') group.status = 'RUNNING';
    for (const scope of this.truth.scopesOf(job)) {
      scope.inFlight.add(job);
      this.#spend(scope, job, change.atUs);
    }
    this.truth.instances.get(change.instanceId)?.inFlight.add(job);
  }

  /** A pause or a limit has changed: what was spent under the old one does not count against the new one. */
  changed(change: Paused | LimitsSet): void {
    const scope = this.#scopeOf(change.scope);
    if (change.kind === 'paused') {
      scope.isPaused = change.isPaused;
      return;
    }
    const { weight, rps, burst, concurrency } = change;
    Object.assign(scope, { weight, rps, burst, concurrency });
    this.#windows.delete(scope);
  }

  /** A job was given back before it ran, and its tokens with it. */
  returned(job: TruthJob): void {
    for (const scope of this.truth.scopesOf(job)) {
      const window = this.#windows.get(scope) ?? [];
      const at = window.findLastIndex((spent) => spent.job === job);
      if (at >= 0) window.splice(at, 1);
    }
  }

  #scopeOf(scope: Scope): TruthScope {
    if (scope instanceof Group) return this.truth.groups.get(scope.id) as TruthGroup;
    if (scope instanceof Tenant) return this.truth.tenant(scope.id);
    if (scope instanceof Resource) return this.truth.resource(scope.name);
    return this.truth.shard;
  }

  #check(holds: boolean, invariant: Invariant, job: TruthJob, message: () => string): void {
    this.violations.check(holds, invariant, () => `${nameOf(job)} ${message()}`);
  }

  #mayRun(job: TruthJob, nowMs: number): void {
    const { group, body } = job;
    const { deadlineMs = Infinity, notBeforeMs = 0 } = group.settings;
    const waits = job.place === 'QUEUED' || job.place === 'FRONT';
    this.#check(waits, 'I2', job, () => `starts while it is ${job.place}`);
    this.#check(!hasEnded(group.status), 'I5', job, () => `starts after its group is ${group.status}`);
    for (const scope of this.truth.scopesOf(job))
      this.#check(!scope.isPaused, 'I5', job, () => `starts while its ${scope.name} is paused`);
    const mustWait = nowMs < Math.max(notBeforeMs, job.dueMs ?? 0);
    const isLate = nowMs >= Math.min(deadlineMs, body.deadlineMs ?? Infinity);
    this.#check(
      !mustWait && !isLate,
      'I5',
      job,
      () => `starts at ${nowMs} ms, too ${isLate ? 'late' : 'early'}`,
    );
  }

  #fits(job: TruthJob, { instanceId, cost }: JobStarted): void {
    const { body } = job;
    this.#check(cost === body.cost, 'I7', job, () => `costs ${cost}, not ${body.cost}`);
    for (const { name, inFlight, concurrency = Infinity } of this.truth.scopesOf(job))
      this.#check(inFlight.size < concurrency, 'I5', job, () => `is one more than ${concurrency} of ${name}`);
    const instance = this.truth.instances.get(instanceId);
    const hasSlot =
      !!instance && instance.inFlight.size < instance.slots && instance.types.includes(body.type);
    this.#check(hasSlot, 'I5', job, () => `starts on ${instanceId}, which has no slot for it`);
  }

  /** The front goes first, suspects excepted, then the queue of the highest priority, in order of registration. An ordered group runs one job at a time. */
  #keepsOrder(job: TruthJob): void {
    const { group, position } = job;
    const isFirst = (other: TruthJob) =>
      other.place === 'QUEUED'
        ? queueOf(other.position) > queueOf(position) ||
          (queueOf(other.position) === queueOf(position) && other.position < position)
        : other.place === 'FRONT' && other.orphans < 2;
    const holds = (other: TruthJob) =>
      (job.place === 'QUEUED' && isFirst(other)) ||
      (group.settings.isOrdered &&
        other.place !== 'ENDED' &&
        (other.position < position || other.place === 'IN_FLIGHT'));
    for (const other of group.jobs.values())
      if (other !== job && other.place !== 'SUBMITTED' && holds(other))
        this.#check(false, 'I5', job, () => `starts before ${nameOf(other)}, which is ${other.place}`);
  }

  /** In every sliding second the cost of starts is at most rate + max(burst, cost). */
  #spend(scope: TruthScope, job: TruthJob, atUs: number): void {
    if (atUs < this.#lastUs) this.#windows.clear();
    this.#lastUs = atUs;
    const { rps, burst = defaultBurst(rps ?? 1) } = scope;
    if (!rps) return;
    const window = this.#windows.get(scope) ?? [];
    this.#windows.set(scope, window);
    window.push({ job, atUs, cost: job.body.cost });
    while ((window[0]?.atUs ?? atUs) <= atUs - WINDOW_US) window.shift();
    const sum = window.reduce((total, { cost }) => total + cost, 0);
    const most = rps + Math.max(burst, ...window.map(({ cost }) => cost));
    this.#check(
      sum <= most,
      'I7',
      job,
      () => `makes ${sum} within a second of ${scope.name}, at most ${most} are allowed`,
    );
  }
}

/** Reports whether a group could start a job now if a slot is free. No rate, cap or suspicion holds it back. */
export function isRunnable(truth: Truth, group: TruthGroup, nowMs: number): boolean {
  const { settings, status } = group;
  if (hasEnded(status) || (settings.notBeforeMs ?? 0) > nowMs) return false;
  let waits = false;
  for (const job of group.jobs.values()) {
    const { place, orphans } = job;
    if (place === 'ENDED' || place === 'SUBMITTED') continue;
    if (orphans > 1 || (settings.isOrdered && (place === 'IN_FLIGHT' || place === 'DELAYED'))) return false;
    for (const { isPaused, rps, concurrency } of truth.scopesOf(job))
      if (isPaused || rps || concurrency !== undefined) return false;
    waits ||= place === 'QUEUED' || place === 'FRONT';
  }
  return waits;
}
