import {
  type LeaseRef,
  type RecoverAnswer,
  type ReserveAnswer,
  type ReserveRequest,
  type SettleAnswer,
  type Settlement,
} from '../../src/lease.js';
import type { GroupPatch, TenantPatch } from '../../src/model.js';
import {
  type AddAnswer,
  type BulkStore,
  type GroupAnswer,
  type GroupDefinition,
  type Heartbeat,
  INSTANCE_TTL_MS,
  type LookAnswer,
  type NewJob,
  type ReconcileAnswer,
} from '../../src/ports.js';
import { AGGREGATION_OUTCOMES, AggregationCheck } from './aggregation-check.js';
import { brief } from './brief.js';
import type { Execute } from './faulty-store.js';
import { RateCheck } from './rate-check.js';
import type { SimProcess } from './scheduler.js';
import { SettleCheck } from './settle-check.js';
import { patchLimits, type TruthJob } from './truth.js';
import { WatchCheck } from './watch-check.js';
import type { WitnessParts } from './witness-parts.js';

type Look = (process: SimProcess, args: readonly unknown[], answer: unknown) => void | Promise<void>;

/** Answers that some seed must have met: a refusal that never comes is not tested. */
export const OUTCOMES = [
  'settle accepted',
  'settle stale',
  'settle cancelled',
  'renew ok',
  'renew lost',
  'renew cancelled',
  'give-back ready',
  'give-back lane',
  'give-back stale',
  'give-back cancelled',
  'lease lost',
  'orphan dead',
  'job redriven',
  'next round',
  'token denied',
  'reserve repeated',
  'ended as GROUP_TIMEOUT',
  'ended as DEADLINE_EXCEEDED',
  'reconciled',
  ...AGGREGATION_OUTCOMES,
] as const;

/**
 * Stands between the network and the store: executes each step, keeps the truth up to date from the question and the
 * answer alone, and checks at once what can be checked at a step (I4, I5, I7, pause and cancel, repeated reserves).
 */
export class Witness {
  readonly #parts: WitnessParts;
  readonly #settling: SettleCheck;
  readonly #watching: WatchCheck;
  readonly #adding: AggregationCheck;
  readonly #global: RateCheck;
  readonly #rates = new Map<string, RateCheck>();
  readonly #asked = new Map<string, { readonly seq: number; readonly tokens: ReadonlySet<number> }>();
  readonly #heard = new Map<string, number>();
  readonly #looks: Readonly<Record<string, Look>>;
  /** Whether the store's wall clock went back: dates say nothing then. */
  clockWentBack = false;

  constructor(parts: WitnessParts) {
    this.#parts = parts;
    this.#settling = new SettleCheck(parts);
    this.#watching = new WatchCheck(parts);
    this.#adding = new AggregationCheck(parts);
    this.#global = new RateCheck('the engine', parts.violations);
    this.#looks = this.#allLooks();
  }

  readonly execute: Execute = async (process, member, args) => {
    const { store, scheduler, violations } = this.#parts;
    const [port, name] = member.split('.') as [keyof BulkStore, string];
    const target = store[port] as unknown as Record<string, (...all: readonly unknown[]) => Promise<unknown>>;
    if (member === 'leases.reserve') this.#forgetSilent();
    if (member === 'leases.settle') await this.#settling.before(args[0] as readonly Settlement[]);
    let answer: unknown;
    try {
      answer = await (target[name] as (...all: readonly unknown[]) => Promise<unknown>).apply(target, [
        ...args,
      ]);
    } catch (error) {
      violations.check(false, 'I8', () => `${member} threw ${error}, a refusal is an answer`);
      throw error;
    }
    scheduler.log.write(`  ${process.name} ${member} = ${brief(answer)}`);
    await this.#looks[member]?.(process, args, answer);
    return answer;
  };

  #allLooks(): Readonly<Record<string, Look>> {
    const { truth } = this.#parts;
    const cancelled: Look = (_process, [key], answer) => {
      const group = truth.groups.get(key as string);
      if (!group || (answer as GroupAnswer).kind !== 'done') return;
      group.cancelled = true;
      group.everCancelled = true;
    };
    const paused =
      (is: boolean): Look =>
      (_process, [key], answer) => {
        const group = truth.groups.get(key as string);
        if (!group || (answer as GroupAnswer).kind !== 'done') return;
        if (is !== group.paused) group.readyMost = Number.POSITIVE_INFINITY;
        group.paused = is;
      };
    const sealed: Look = (_process, [key], answer) => {
      const group = truth.groups.get(key as string);
      if (group && (answer as GroupAnswer).kind === 'done') group.sealed = true;
    };
    const filled: Look = () => this.#readyFilled();
    return {
      'groups.create': (_process, [definition], answer) => {
        if (answer === 'created') truth.group(definition as GroupDefinition);
      },
      'groups.add': (_process, [definition, jobs], answer) => {
        if ((answer as AddAnswer).kind === 'added')
          truth.add(definition as GroupDefinition, jobs as readonly NewJob[]);
      },
      'groups.cancel': cancelled,
      'groups.seal': sealed,
      'groups.pause': paused(true),
      'groups.resume': paused(false),
      'groups.update': (_process, [key, patch], answer) =>
        this.#updated(key as string, patch as GroupPatch, answer as GroupAnswer),
      'groups.updateTenant': (_process, [id, patch]) => {
        if (patchLimits(truth.tenant(id as string), patch as TenantPatch))
          this.#rateOf(`tenant ${id}`).reset();
      },
      'gate.fetch': filled,
      'gate.dispatch': filled,
      'gate.admit': filled,
      'leases.reserve': (_process, [request], answer) =>
        this.#reserved(request as ReserveRequest, answer as ReserveAnswer),
      'leases.settle': (_process, [settlements], answers) =>
        this.#settling.after(settlements as readonly Settlement[], answers as readonly SettleAnswer[]),
      'leases.renew': (_process, [leases], answers) =>
        this.#renewed(leases as readonly LeaseRef[], answers as readonly string[]),
      'leases.giveBack': (_process, [leases], answers) =>
        this.#givenBack(leases as readonly LeaseRef[], answers as readonly string[]),
      'leases.recover': (_process, _args, answer) => this.#recovered(answer as RecoverAnswer),
      'leases.giveBackAll': (_process, [instanceId]) =>
        this.#freed((job) => {
          if (job.lease?.instanceId !== instanceId) return;
          truth.release(job, job.cut ? 'cancelled' : 'given back');
        }),
      'upkeep.sweep': () =>
        this.#freed((job) => {
          this.#parts.violations.check(job.group.everCancelled, 'I8', () => `a sweep took ${job.name} away`);
          truth.release(job, 'cancelled');
        }),
      'watch.look': (_process, _args, answer) => this.#watching.looked(answer as LookAnswer),
      'watch.reconcile': (_process, _args, answer) => this.#watching.reconciled(answer as ReconcileAnswer),
      'aggregations.finish': (_process, args, answer) => this.#adding.finished(args, answer),
      'aggregations.fail': (_process, args, answer) => this.#adding.failed(args, answer),
      'instances.heartbeat': (_process, [heartbeat]) => {
        this.#heard.set((heartbeat as Heartbeat).id, this.#parts.scheduler.time);
      },
      'instances.leave': (_process, [id]) => {
        this.#asked.delete(id as string);
      },
      'deadLetters.redrive': (_process, _args, answer) =>
        (answer as { readonly moved: number }).moved > 0 ? this.#redriven() : undefined,
      'deadLetters.purge': (_process, _args, answer) =>
        (answer as { readonly moved: number }).moved > 0 ? this.#purged() : undefined,
    };
  }

  /** The store forgets those it has not heard of for long, and their last answer with them. */
  #forgetSilent(): void {
    const silentSince = this.#parts.scheduler.time - INSTANCE_TTL_MS;
    for (const [id, at] of this.#heard) if (at <= silentSince) this.#asked.delete(id);
  }

  #updated(key: string, patch: GroupPatch, answer: GroupAnswer): void {
    const group = this.#parts.truth.groups.get(key);
    if (!group || answer.kind !== 'done') return;
    if (patchLimits(group.limits, patch)) this.#rateOf(`group ${key}`).reset();
    if (patch.deadline) group.dated = true;
  }

  /** The gate lets nothing of a paused group into ready. */
  async #readyFilled(): Promise<void> {
    const { truth, store, violations } = this.#parts;
    for (const group of truth.groups.values()) {
      if (!group.paused) continue;
      const ready = (await store.views.group(group.key))?.counts.ready ?? 0;
      violations.check(
        ready <= group.readyMost,
        'PAUSE',
        () => `${group.key} is paused and has ${ready} ready instead of at most ${group.readyMost}`,
      );
      group.readyMost = ready;
    }
  }

  #reserved({ instanceId, seq }: ReserveRequest, { jobs, rateDenied }: ReserveAnswer): void {
    const { truth, violations } = this.#parts;
    const asked = this.#asked.get(instanceId);
    this.#parts.tally.count('token denied', rateDenied);
    if (asked && asked.seq >= seq) {
      this.#parts.tally.count('reserve repeated');
      violations.check(
        jobs.every(({ token }) => asked.seq === seq && asked.tokens.has(token)),
        'SEQ',
        () => `${instanceId} asked again with seq ${seq} and got other jobs`,
      );
    } else this.#asked.set(instanceId, { seq, tokens: new Set(jobs.map(({ token }) => token)) });
    this.#heard.set(instanceId, this.#parts.scheduler.time);
    for (const leased of jobs) {
      const job = truth.job(leased.key, leased.jobId);
      violations.check(!!job, 'I8', () => `${leased.key}#${leased.jobId} started and was never added`);
      if (!job || leased.token <= job.lastToken) continue;
      this.#checkStart(job, leased.retryCount, leased.attempt);
      const { time } = this.#parts.scheduler;
      truth.lease(job, leased, instanceId, time, this.#parts.config.reliableQueue.ackTimeoutMs);
      this.#countStart(job);
    }
  }

  #checkStart(job: TruthJob, retryCount: number, attempt: number): void {
    const { truth, violations, clock } = this.#parts;
    const { group } = job;
    violations.check(!job.lease, 'I4', () => `${job.name} got a second lease beside ${job.lease?.token}`);
    violations.check(!job.end, 'I2', () => `${job.name} started again after ${job.end}`);
    violations.check(!group.paused, 'PAUSE', () => `${job.name} started while its group is paused`);
    violations.check(!job.cut, 'PAUSE', () => `${job.name} started after its group was cancelled`);
    violations.check(
      retryCount === job.retries,
      'I3',
      () => `${job.name} has retryCount ${retryCount} after ${job.retries} retries`,
    );
    violations.check(
      attempt > job.lastAttempt,
      'I3',
      () => `${job.name} repeats the number ${attempt} of a try`,
    );
    const { concurrency } = group.limits;
    const groupHeld = truth.held((other) => other.group === group);
    violations.check(
      concurrency === undefined || groupHeld < concurrency,
      'I5',
      () => `${job.name} started beside ${groupHeld} of its group, the cap is ${concurrency}`,
    );
    const tenantCap = truth.tenants.get(group.tenantId)?.concurrency;
    const tenantHeld = truth.held((other) => other.group.tenantId === group.tenantId);
    violations.check(
      tenantCap === undefined || tenantHeld < tenantCap,
      'I5',
      () => `${job.name} started beside ${tenantHeld} of its tenant, the cap is ${tenantCap}`,
    );
    const { notBefore, deadline } = job.given;
    violations.check(
      deadline === undefined || clock.now() < deadline,
      'I8',
      () => `${job.name} started ${clock.now() - (deadline ?? 0)} ms after its deadline`,
    );
    violations.check(
      this.clockWentBack || notBefore === undefined || clock.now() >= notBefore,
      'I8',
      () => `${job.name} started ${(notBefore ?? 0) - clock.now()} ms before its notBefore`,
    );
  }

  #countStart(job: TruthJob): void {
    const { truth, config, scheduler } = this.#parts;
    const { group, given } = job;
    const { rps, burst } = group.limits;
    const tenant = truth.tenants.get(group.tenantId);
    const { globalRps, burst: globalBurst } = config.backpressure;
    this.#rateOf(`group ${group.key}`).start(scheduler.time, given.cost, rps, burst);
    this.#rateOf(`tenant ${group.tenantId}`).start(scheduler.time, given.cost, tenant?.rps, tenant?.burst);
    this.#global.start(scheduler.time, given.cost, globalRps, globalBurst);
  }

  #rateOf(name: string): RateCheck {
    let rate = this.#rates.get(name);
    if (!rate) {
      rate = new RateCheck(name, this.#parts.violations);
      this.#rates.set(name, rate);
    }
    return rate;
  }

  #renewed(leases: readonly LeaseRef[], answers: readonly string[]): void {
    const { truth, violations, scheduler, config } = this.#parts;
    for (const [index, { key, jobId, token }] of leases.entries()) {
      const job = truth.job(key, jobId);
      const lease = job?.lease?.token === token ? job.lease : undefined;
      this.#parts.tally.count(`renew ${answers[index]}`);
      const expired = lease !== undefined && lease.untilMs <= scheduler.time;
      violations.check(
        answers[index] === 'ok' ? !!lease : answers[index] === 'cancelled' || !lease || expired,
        'I4',
        () => `renew of ${key}#${jobId} with token ${token} answered ${answers[index]}`,
      );
      if (lease && answers[index] === 'ok')
        lease.untilMs = scheduler.time + config.reliableQueue.ackTimeoutMs;
    }
  }

  #givenBack(leases: readonly LeaseRef[], answers: readonly string[]): void {
    const { truth, violations } = this.#parts;
    for (const [index, { key, jobId, token }] of leases.entries()) {
      const job = truth.job(key, jobId);
      if (!job) continue;
      const answer = answers[index] as string;
      this.#parts.tally.count(`give-back ${answer}`);
      const holds = job.lease?.token === token;
      const taken = answer === 'ready' || answer === 'lane';
      violations.check(
        holds ? answer !== 'stale' && answer !== 'gone' : !taken || job.givenBack.has(token),
        'I4',
        () => `give-back of ${job.name} with token ${token} answered ${answer}`,
      );
      if (!holds || !(taken || answer === 'cancelled')) continue;
      job.givenBack.add(token);
      truth.release(job, taken ? 'given back' : 'cancelled');
    }
  }

  async #recovered({ dead }: RecoverAnswer): Promise<void> {
    const { truth, violations, scheduler, config, tally } = this.#parts;
    tally.count('orphan dead', dead.length);
    await this.#freed((job) => {
      violations.check(
        (job.lease?.untilMs ?? 0) <= scheduler.time,
        'I3',
        () =>
          `${job.name} was recovered ${(job.lease?.untilMs ?? 0) - scheduler.time} ms before its lease ended`,
      );
      tally.count('lease lost');
      truth.release(job, job.cut ? 'cancelled' : 'lost');
    });
    for (const { key, jobId } of dead) {
      const job = truth.job(key, jobId);
      if (!job) continue;
      violations.check(
        job.losses > config.reliableQueue.maxOrphanCount,
        'I3',
        () => `${job.name} is dead as ORPHANED after ${job.losses} lost leases`,
      );
      truth.finish(job, 'dead');
    }
  }

  /** Finds the leases that a step has ended without naming them. */
  async #freed(ended: (job: TruthJob) => void): Promise<void> {
    const { truth, store } = this.#parts;
    for (const job of [...truth.leased]) {
      const view = await store.views.job(job.group.key, job.id);
      if (view?.place !== 'IN_FLIGHT') ended(job);
    }
  }

  async #purged(): Promise<void> {
    const { truth, store } = this.#parts;
    const { items } = await store.deadLetters.list({}, 1000);
    const left = new Set(items.map(({ job }) => `/${job.groupId}#${job.id}`));
    for (const job of truth.jobs()) if (job.end === 'dead' && !left.has(job.name)) job.end = 'failure';
  }

  async #redriven(): Promise<void> {
    const { truth, store, tally } = this.#parts;
    for (const group of truth.groups.values()) {
      const view = await store.views.group(group.key);
      if (!view || view.round === group.round) continue;
      // What held the last round does not hold this one.
      tally.count('next round');
      group.round = view.round;
      group.paused = false;
      group.cancelled = false;
      group.timedOut = false;
      group.notAddedUp = false;
    }
    for (const job of truth.jobs()) {
      if (job.end !== 'dead') continue;
      const view = await store.views.job(job.group.key, job.id);
      if (!view || view.status === 'FAILED') continue;
      tally.count('job redriven');
      job.redriven();
      job.round = job.group.round;
    }
  }
}
