import type { ResourceConfig } from '../config-sections.js';
import type { GroupPoint, ResourcePoint } from '../congestion-stats.js';
import type { SettleAnswer } from '../lease.js';
import type { FailedJob, FailedTry, GroupResult } from '../model.js';
import type { GroupDefinition, NewJob } from '../ports.js';
import {
  type AttributionStamps,
  type AttributionState,
  newAttribution,
  newStamps,
  type TrialState,
} from '../rules/attribution.js';
import { type CongestionState, newCongestion } from '../rules/congestion.js';
import type { FailureCodes } from '../rules/failure-codes.js';
import { type Histogram, newHistogram } from '../rules/histogram.js';
import { newRateWindow, type RateWindow } from '../rules/rate-window.js';
import type { FairClock, FairTag } from '../rules/sfq.js';
import { newVegas, type VegasState } from '../rules/vegas.js';
import type { GroupStatus, JobPlace, NonReadyReason, PriorityLevel } from '../states.js';
import { Deque } from './deque.js';
import type { AggregationLock, Gathered } from './gathered.js';
import { History } from './history.js';
import { IndexedHeap } from './indexed-heap.js';

/** Who comes first in a fair order: the least start tag, then who arrived first. */
const byStart = <T extends { start: number; seq: number }>(a: T, b: T): boolean =>
  a.start < b.start || (a.start === b.start && a.seq < b.seq);

/** An order of the fair queue. */
export type FairHeap<T extends { start: number; seq: number; fairAt: number }> = IndexedHeap<T, 'fairAt'>;

/** An empty order. */
export const fairHeap = <T extends { start: number; seq: number; fairAt: number }>(): FairHeap<T> =>
  new IndexedHeap<T, 'fairAt'>('fairAt', byStart);

/**
 * An order of tenants with a virtual time of its own: one for all whose work is held back by nothing that is called, and
 * one for each resource that is limited. What a limited resource lets through is shared by weight, and who waits for it
 * holds nobody else back.
 */
export interface FairLine {
  readonly clock: FairClock;
  readonly seats: FairHeap<Seat>;
  /** Absent: the line of those who wait for no limited resource. */
  readonly resource?: ResourceRecord;
}

/** A tenant in one line, with the order of those of its groups that wait there. */
export class Seat {
  readonly tenant: TenantRecord;
  readonly line: FairLine;
  readonly tag: FairTag = { finish: 0, epoch: 0 };
  /** The start tag while it is in the line. */
  start = 0;
  fairAt = -1;
  /** Of the order of its groups. */
  readonly clock: FairClock = { virtual: 0, epoch: 1 };
  readonly groups: FairHeap<GroupRecord> = fairHeap();

  constructor(tenant: TenantRecord, line: FairLine) {
    this.tenant = tenant;
    this.line = line;
  }

  get seq(): number {
    return this.tenant.seq;
  }
}

/** A service that processors call, with what is configured and what was learnt of it. */
export class ResourceRecord implements FairLine {
  readonly name: string;
  readonly settings: ResourceConfig;
  readonly clock: FairClock = { virtual: 0, epoch: 1 };
  readonly seats: FairHeap<Seat> = fairHeap();
  readonly congestion: CongestionState = newCongestion();
  readonly attribution: AttributionState = newAttribution();
  /** Only with `adaptiveConcurrency`. */
  readonly vegas: VegasState | undefined;
  /** The limits of this moment: what is configured, or less. */
  rps: number | undefined;
  readonly burst: undefined;
  concurrency: number | undefined;
  /** The rate that was learnt, while there is one, and until when nothing may start. */
  learntRps: number | undefined;
  frozenUntilMs = 0;
  /** Whether anything holds its jobs back. */
  limited: boolean;
  tatUs = 0;
  /** Cost in ready, and jobs in ready and in flight. */
  readyCost = 0;
  held = 0;
  /** Calls, and those that were refused, since the store was opened. */
  starts = 0;
  throttles = 0;
  /** Refusals of calls that began after the last cut. */
  evidence = 0;
  /** How often refusals of some groups were found to be everybody's: who was slowed alone before is free again. */
  flips = 0;
  readonly history = new History<ResourcePoint>();

  constructor(name: string, settings: ResourceConfig) {
    this.name = name;
    this.settings = settings;
    this.rps = settings.rps;
    this.concurrency = settings.concurrency;
    if (settings.adaptiveConcurrency) this.vegas = newVegas();
    this.limited = this.limitedForGood;
  }

  get resource(): this {
    return this;
  }

  /** Whether it has a line of its own whatever is learnt. */
  get limitedForGood(): boolean {
    const { rps, concurrency, adaptiveConcurrency, initialRps } = this.settings;
    return (
      rps !== undefined || concurrency !== undefined || adaptiveConcurrency === true || (initialRps ?? 0) > 0
    );
  }
}

/** What a group that a service holds back on its own keeps of it. */
export interface Slowness {
  /** The resource that was the cause, and how often it had been found to be everybody's until then. */
  by: string;
  flips: number;
  readonly congestion: CongestionState;
  /** The rate of this moment; undefined while it is only frozen. */
  rps: number | undefined;
  frozenUntilMs: number;
  tatUs: number;
}

/** What groups and tenants have in common: a weight, limits, and what they hold. */
abstract class Scope {
  /** Arrival: ties go to whoever came first. */
  readonly seq: number;
  weight = 1;
  rps: number | undefined;
  burst: number | undefined;
  concurrency: number | undefined;
  /** When its next rate slot is, while it is parked for it. */
  parkedUntilUs = 0;
  parkedAt = -1;
  tatUs = 0;
  /** Cost in ready: tokens that are as good as spent. */
  readyCost = 0;
  /** Jobs in ready and in flight: each holds a cap slot. */
  held = 0;
  /** Those of them in flight. */
  running = 0;

  constructor(seq: number) {
    this.seq = seq;
  }

  /** Decides between two of one time, as the text does in a sorted set of Redis. */
  abstract get name(): string;
}

/** The unit of fairness between customers. */
export class TenantRecord extends Scope {
  readonly id: string;
  /** The one group it stands for, when nobody has named a tenant. */
  own: GroupRecord | undefined;
  /** Whether somebody has set its weight or limits: then it outlives its groups. */
  configured = false;
  /** Its seat where no limited resource is waited for, and those in the lines of limited resources. */
  readonly free: Seat;
  readonly seats = new Map<ResourceRecord, Seat>();
  /** Whose first job had no token, while the tenant is parked. */
  parkedFor: GroupRecord | undefined;
  /** Groups with a record, and those that have not ended. */
  records = 0;
  openGroups = 0;
  laneJobs = 0;
  pending = 0;
  inFlight = 0;
  served = 0;
  readonly servedWindow: RateWindow = newRateWindow();

  constructor(id: string, seq: number, line: FairLine) {
    super(seq);
    this.id = id;
    this.free = new Seat(this, line);
  }

  /** Its seat in the line of a limited resource. */
  seatIn(resource: ResourceRecord): Seat {
    let seat = this.seats.get(resource);
    if (!seat) {
      seat = new Seat(this, resource);
      this.seats.set(resource, seat);
    }
    return seat;
  }

  get name(): string {
    return `t:${this.id}`;
  }
}

/** One bulk action. */
export class GroupRecord extends Scope {
  readonly key: string;
  /** What the names of its jobs begin with; no such beginning is the beginning of another, since a key has one '/'. */
  readonly prefix: string;
  readonly tenant: string;
  readonly owner: TenantRecord;
  /** The definition as first given: tells a repeat from a conflict. */
  readonly fingerprint: string;
  readonly traceparent: string;
  readonly createdAt: number;
  priorityLevel: PriorityLevel;
  timeoutMs: number;
  deadline: number | undefined;
  status: GroupStatus = 'CREATED';
  code: string | undefined;
  sealed = false;
  paused = false;
  pausedAt = 0;
  round = 1;
  startedAt: number | undefined;
  endedAt: number | undefined;
  /** The same by the store's time, for retention. */
  endedMs = 0;
  progressAt: number;
  /** The same by the store's time, and from when on a group that was paused since counts as quiet. */
  progressMs = 0;
  quietFromMs = 0;
  /** When the watcher looks at it next. */
  lookMs = 0;
  lookAt = -1;
  /** What the called service holds it back by, alone; and when it was last counted as active or throttled. */
  slow: Slowness | undefined;
  /** From its first throttle to its end. */
  history: History<GroupPoint> | undefined;
  readonly stamps: AttributionStamps = newStamps();
  trial: TrialState | undefined;
  /** Where it stands, while it is in a fair order: the start tag there. */
  seat: Seat | undefined;
  start = 0;
  fairAt = -1;
  /** Its tag in the free line of its tenant, and in the line of a limited resource where it stood last. */
  readonly tag: FairTag = { finish: 0, epoch: 0 };
  away: { readonly seat: Seat; readonly tag: FairTag } | undefined;
  lane = new Deque<JobRecord>();
  jobs: Map<string, JobRecord> = new Map();
  /** In the order of registration, for listings. */
  order: JobRecord[] = [];
  registered = 0;
  success = 0;
  failed = 0;
  cancelled = 0;
  pending = 0;
  inFlight = 0;
  nonReady = 0;
  ready = 0;
  /** Made with the first failure: most groups have none, and there may be 100,000 of them. */
  failedByCode: FailureCodes | undefined;
  failedJobs: FailedJob[] = [];
  readonly durations: Histogram = newHistogram();
  /** Mean time of its tries, for the charge by time. */
  estimateMs: number | undefined;
  throttled = 0;
  rateDenied = 0;
  lastBackoffMs = 0;
  readonly settledWindow: RateWindow = newRateWindow();
  progressEventAt = Number.NEGATIVE_INFINITY;
  /** One for each round that has ended, the last one last. */
  readonly results: GroupResult[] = [];
  /** What its jobs have left for its aggregation, over all rounds. */
  gathered: Gathered | undefined;
  /** The lock on it, while the group is AGGREGATING. */
  aggregation: AggregationLock | undefined;
  aggregationAt = -1;
  /** The last answer of its round to an aggregation: a repeat gets the same. */
  aggregated: { readonly token: string; readonly answer: 'done' | 'again' | 'failed' } | undefined;
  deadLetters = 0;
  /** Sweeps of ended rounds that are still to be done. */
  graves = 0;
  expiryAt = -1;
  expiresMs = 0;

  constructor(
    definition: GroupDefinition,
    fingerprint: string,
    owner: TenantRecord,
    seq: number,
    at: number,
  ) {
    super(seq);
    this.key = definition.key;
    this.prefix = `${definition.key}/`;
    this.tenant = definition.tenant;
    this.owner = owner;
    this.fingerprint = fingerprint;
    this.traceparent = definition.traceparent;
    this.weight = definition.weight;
    this.priorityLevel = definition.priorityLevel;
    this.rps = definition.rps;
    this.burst = definition.burst;
    this.concurrency = definition.concurrency;
    this.timeoutMs = definition.timeoutMs;
    this.deadline = definition.deadline;
    this.createdAt = at;
    this.progressAt = at;
  }

  get name(): string {
    return `g:${this.key}`;
  }
}

/** What a job was charged when it entered ready; there exactly while it holds a cap slot. */
export interface Hold {
  readonly charged: number;
  /** Whose turn it was, in which epochs. */
  readonly seat: Seat;
  readonly groupEpoch: number;
  readonly seatEpoch: number;
  readonly freeEpoch: number;
}

/** A lease; there exactly while the job is in flight. */
export interface Flight {
  readonly instanceId: string;
  /** Whether it counts as a suspect of its instance. */
  readonly suspect: boolean;
  leaseUntilMs: number;
  readonly sinceMs: number;
}

/** One job. */
export class JobRecord {
  readonly id: string;
  readonly group: GroupRecord;
  readonly processorType: string;
  readonly cost: number;
  readonly charge: number | undefined;
  readonly notBefore: number | undefined;
  readonly deadline: number | undefined;
  readonly traceparent: string | undefined;
  readonly createdAt: number;
  payload: string | undefined;
  place: JobPlace = 'LANE';
  /** The round it belongs to; when that has ended without it, it is cancelled. */
  round: number;
  outcome: 'COMPLETED' | 'FAILED' | 'CANCELLED' | undefined;
  retryCount = 0;
  orphanCount = 0;
  attempts = 0;
  /** Of the present lease, else of the last one. */
  token = 0;
  /** The last settlement that was accepted, and its answer: a repeat gets the same. */
  settledToken = 0;
  settled: SettleAnswer | undefined;
  hold: Hold | undefined;
  flight: Flight | undefined;
  /** Since when it could run. */
  waitingSinceMs = 0;
  startedAt: number | undefined;
  endedAt: number | undefined;
  dueMs = 0;
  reason: NonReadyReason | undefined;
  failedTries: FailedTry[] | undefined;
  heapAt = -1;

  constructor(group: GroupRecord, job: NewJob, at: number) {
    this.id = job.id;
    this.group = group;
    this.processorType = job.processorType;
    this.cost = job.cost;
    this.charge = job.charge;
    this.notBefore = job.notBefore;
    this.deadline = job.deadline;
    this.traceparent = job.traceparent;
    this.payload = job.payload;
    this.createdAt = at;
    this.round = group.round;
  }
}

/** Decides between two jobs of one time as their full names would, without making them: it is asked very often. */
export const comesBeforeByName = (a: JobRecord, b: JobRecord): boolean =>
  a.group === b.group ? a.id < b.id : a.group.prefix < b.group.prefix;
