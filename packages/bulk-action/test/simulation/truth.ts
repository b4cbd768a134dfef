import type { LeasedJob, SettleAnswer } from '../../src/lease.js';
import type { GroupPatch, TenantPatch } from '../../src/model.js';
import type { GroupDefinition, NewJob } from '../../src/ports.js';

/** What must hold; see 08-proof. The others: SEQ a repeated reserve, PAUSE no start after pause or cancel. */
export type Invariant =
  | 'I1'
  | 'I2'
  | 'I3'
  | 'I4'
  | 'I5'
  | 'I6'
  | 'I7'
  | 'I8'
  | 'I9'
  | 'I10'
  | 'I11'
  | 'I14'
  | 'SEQ'
  | 'PAUSE';

/** What did not hold. */
export interface Violation {
  readonly invariant: Invariant;
  readonly message: string;
}

/** Collects what did not hold; one run may break several promises. */
export class Violations {
  readonly list: Violation[] = [];
  readonly #time: () => number;

  constructor(time: () => number) {
    this.#time = time;
  }

  check(holds: boolean, invariant: Invariant, message: () => string): void {
    if (!holds) this.list.push({ invariant, message: `at ${this.#time()} ms: ${message()}` });
  }
}

/** How a lease ended, other than for good. */
export type LeaseEnd = 'retry' | 'throttled' | 'no processor' | 'given back' | 'lost' | 'cancelled';

/** What the answers of the store say of one job. */
export class TruthJob {
  readonly id: string;
  readonly group: TruthGroup;
  readonly given: NewJob;
  /** The lease that holds it now. */
  lease: { readonly token: number; readonly instanceId: string; untilMs: number } | undefined;
  lastToken = 0;
  lastAttempt = 0;
  /** Leases it had, each with a token of its own. */
  reserves = 0;
  /** How leases ended that did not end the job. */
  readonly ends: Record<LeaseEnd, number> = {
    retry: 0,
    throttled: 0,
    'no processor': 0,
    'given back': 0,
    lost: 0,
    cancelled: 0,
  };
  redrives = 0;
  round: number;
  /** Since the last redrive. */
  retries = 0;
  losses = 0;
  /** Terminal by an accepted settlement or by recovery; deadlines and cancelled rounds are not announced. */
  end: 'success' | 'failure' | 'dead' | undefined;
  /** Settlements that were accepted, by token. */
  readonly accepted = new Map<number, SettleAnswer>();
  readonly givenBack = new Set<number>();

  constructor(group: TruthGroup, given: NewJob) {
    this.id = given.id;
    this.group = group;
    this.given = given;
    this.round = group.round;
  }

  /** Whether its round ended without it: it never starts again. */
  get cut(): boolean {
    return this.group.cancelled || this.round !== this.group.round;
  }

  /** Enough to find it in a listing. */
  get name(): string {
    return `${this.group.key}#${this.id}`;
  }

  release(how: LeaseEnd): void {
    this.lease = undefined;
    this.ends[how] += 1;
    if (how === 'retry') this.retries += 1;
    if (how === 'lost') this.losses += 1;
  }

  redriven(): void {
    this.end = undefined;
    this.retries = 0;
    this.losses = 0;
    this.redrives += 1;
  }
}

/** Limits as they are now. */
export interface TruthLimits {
  rps: number | undefined;
  burst: number | undefined;
  concurrency: number | undefined;
}

/** What the answers of the store say of one group. */
export class TruthGroup {
  readonly key: string;
  readonly tenantId: string;
  readonly definition: GroupDefinition;
  readonly limits: TruthLimits;
  readonly jobs = new Map<string, TruthJob>();
  /** Whether it ever had a deadline: its jobs may have failed for it. */
  dated: boolean;
  paused = false;
  /** Jobs in ready at most while it is paused: none may be added. */
  readyMost = Number.POSITIVE_INFINITY;
  sealed = false;
  started = false;
  round = 1;
  /** Cancelled; redriving opens it again. */
  cancelled = false;
  /** Ended by time, in the round that `cancelled` speaks of. */
  timedOut = false;
  /** Its aggregation has failed for good in this round. */
  notAddedUp = false;
  /** The last first start of one of its jobs. */
  progressAt = 0;
  /** Was cancelled in some round: its jobs may be CANCELLED. */
  everCancelled = false;

  constructor(definition: GroupDefinition) {
    this.key = definition.key;
    this.tenantId = definition.tenantId;
    this.definition = definition;
    this.dated = definition.deadline !== undefined;
    const { rps, burst, concurrency } = definition;
    this.limits = { rps, burst, concurrency };
  }
}

/** A start, in the order of the store. */
export interface TruthStart {
  readonly job: TruthJob;
  /** Store time. */
  readonly at: number;
  readonly cost: number;
}

/** The world as the executed steps of the store made it: kept from questions and answers alone. */
export class Truth {
  readonly groups = new Map<string, TruthGroup>();
  readonly tenants = new Map<string, TruthLimits>();
  /** Jobs under a lease. */
  readonly leased = new Set<TruthJob>();
  readonly starts: TruthStart[] = [];

  job(key: string, jobId: string): TruthJob | undefined {
    return this.groups.get(key)?.jobs.get(jobId);
  }

  *jobs(): Iterable<TruthJob> {
    for (const group of this.groups.values()) yield* group.jobs.values();
  }

  group(definition: GroupDefinition): TruthGroup {
    const known = this.groups.get(definition.key);
    if (known) return known;
    const made = new TruthGroup(definition);
    this.groups.set(definition.key, made);
    return made;
  }

  add(definition: GroupDefinition, jobs: readonly NewJob[]): void {
    const group = this.group(definition);
    for (const job of jobs) if (!group.jobs.has(job.id)) group.jobs.set(job.id, new TruthJob(group, job));
  }

  tenant(id: string): TruthLimits {
    let limits = this.tenants.get(id);
    if (!limits) {
      limits = { rps: undefined, burst: undefined, concurrency: undefined };
      this.tenants.set(id, limits);
    }
    return limits;
  }

  lease(job: TruthJob, leased: LeasedJob, instanceId: string, at: number, leaseMs: number): void {
    job.lease = { token: leased.token, instanceId, untilMs: at + leaseMs };
    job.lastToken = leased.token;
    job.lastAttempt = leased.attempt;
    job.reserves += 1;
    this.leased.add(job);
    job.group.started = true;
    if (leased.attempt === 1) job.group.progressAt = at;
    this.starts.push({ job, at, cost: leased.cost });
  }

  release(job: TruthJob, how: LeaseEnd): void {
    job.release(how);
    this.leased.delete(job);
  }

  finish(job: TruthJob, end: NonNullable<TruthJob['end']>): void {
    job.lease = undefined;
    job.end = end;
    this.leased.delete(job);
  }

  /** Leases of a group or a tenant. */
  held(of: (job: TruthJob) => boolean): number {
    let count = 0;
    for (const job of this.leased) if (of(job)) count += 1;
    return count;
  }
}

/**
 * Changes limits as a patch says; null takes one away.
 * @returns whether a rate changed.
 */
export function patchLimits(limits: TruthLimits, patch: GroupPatch | TenantPatch): boolean {
  const { rps, burst } = limits;
  for (const name of ['rps', 'burst', 'concurrency'] as const) {
    const value = patch[name];
    if (value !== undefined) limits[name] = value ?? undefined;
  }
  return rps !== limits.rps || burst !== limits.burst;
}
