import { nextSlotUs } from '@millrace/foundation';
import type { ResourceConfig } from '../../../config-sections.js';
import type { GroupPoint, ResourcePoint } from '../../../congestion-stats.js';
import type { AttributionStamps, AttributionState, TrialState } from '../../../rules/attribution.js';
import { newAttribution, newStamps } from '../../../rules/attribution.js';
import { type CongestionState, newCongestion } from '../../../rules/congestion.js';
import { type Histogram, newHistogram } from '../../../rules/histogram.js';
import { newRateWindow, type RateWindow } from '../../../rules/rate-window.js';
import { newVegas, type VegasState } from '../../../rules/vegas.js';
import { type GroupStatus, hasEnded, type NonReadyReason, type PriorityLevel } from '../../../states.js';
import type { Chunk, ChunkOutcomes, JobBody } from './chunks.js';
import { FairOrder } from './fair-order.js';
import { History } from './history.js';
import type { Kept } from './kept.js';
import { type ChunkAddress, chunkAddress, firstPosition, type Position } from './position.js';
import { type Rate, Scope } from './scope.js';

/**
 * A virtual time of start-time fair queueing: V of an order, or the finish tag F of a tenant or group. `live` includes ready
 * jobs, `stored` only started ones: a new owner queues ready jobs again, and their turns were never stored. Counts as 0 in
 * any other epoch.
 */
export interface VirtualTime {
  live: number;
  stored: number;
  epoch: number;
}

/** Returns the virtual time of an order or of a member that was never served. */
export const newTime = (): VirtualTime => ({ live: 0, stored: 0, epoch: 0 });

/**
 * An order of tenants with a virtual time of its own: one for jobs that call no limited resource, and one for each limited
 * resource. A resource's capacity is shared by weight, and tenants that wait for it delay no others.
 */
export class FairLine {
  readonly resource: Resource | undefined;
  /** Set if only jobs of this type stand here: not every instance has it. Tags of such a line are not stored. */
  readonly type: string | undefined;
  readonly clock = newTime();
  readonly seats: FairOrder<Seat> = new FairOrder();

  constructor(resource?: Resource, type?: string) {
    this.resource = resource;
    this.type = type;
  }
}

/** A tenant in one line, with the order of those of its groups that wait there. */
export class Seat {
  readonly tenant: Tenant;
  readonly line: FairLine;
  readonly tag = newTime();
  readonly clock = newTime();
  readonly groups: FairOrder<Group> = new FairOrder();
  start = 0;
  fairAt = -1;

  constructor(tenant: Tenant, line: FairLine) {
    this.tenant = tenant;
    this.line = line;
  }

  get number(): number {
    return this.tenant.number;
  }
}

/** A service that processors call: its configured limits, and those learnt from its refusals. */
export class Resource extends Scope {
  readonly name: string;
  readonly settings: ResourceConfig;
  readonly line: FairLine = new FairLine(this);
  readonly congestion: CongestionState = newCongestion();
  readonly attribution: AttributionState = newAttribution();
  /** Only with `adaptiveConcurrency`. */
  readonly vegas: VegasState | undefined;
  /** The learnt rate, with a bucket of its own beside that of the configured one. */
  learnt: Rate | undefined;
  learntConcurrency: number | undefined;
  /** End of the pause that it requires. Nothing calls it before. */
  frozenUntilMs = 0;
  /** True if anything limits its jobs now. */
  isLimited = false;
  /** Calls, and those of them that it refused. */
  starts = 0;
  throttles = 0;
  /** Refusals of calls that began after the last cut of the rate. */
  evidence = 0;
  /** How often refusals of some groups turned out to concern all: groups slowed before are free again. */
  flips = 0;
  readonly history = new History<ResourcePoint>();

  constructor(number: number, name: string, settings: ResourceConfig) {
    super(number);
    this.name = name;
    this.settings = settings;
    this.concurrency = settings.concurrency;
    this.vegas = settings.adaptiveConcurrency ? newVegas() : undefined;
  }

  override get hasRoom(): boolean {
    return super.hasRoom && (this.learntConcurrency === undefined || this.held < this.learntConcurrency);
  }

  override slotUs(nowUs: number, cost: number): number {
    const slotUs = Math.max(super.slotUs(nowUs, cost), this.frozenUntilMs * 1000);
    return this.learnt ? Math.max(slotUs, nextSlotUs(this.learnt, nowUs, cost, this.readyCost)) : slotUs;
  }
}

/** The unit of fairness between customers. */
export class Tenant extends Scope {
  readonly id: string;
  readonly free: Seat;
  readonly seats = new Map<Resource, Seat>();
  /** Its seats in the lines of processor types. */
  typeSeats: Map<FairLine, Seat> | undefined;
  /** Mean charge of its turns, and its place among tenants with a minimum: the part that it holds, and its start tag. */
  meanCharge = 1;
  minimumPart = 0;
  minimumStart = 0;
  minimumTurn = 0;
  minimumAt = -1;
  /** Part of the live slots that it may always have, 0 to 1. */
  minShare = 0;
  /** True once its weight or limits were set: it then outlives its groups. */
  isConfigured = false;
  /** Groups that have not ended, and their jobs that wait. Kept by `applyChange`. */
  openGroups = 0;
  pending = 0;
  inFlight = 0;
  /** Cost of all starts. */
  served = 0;
  /** Group that had no token of the tenant's rate for its first job, while the tenant is parked. */
  parkedFor: Group | undefined;
  readonly servedWindow: RateWindow = newRateWindow();

  constructor(number: number, id: string, line: FairLine) {
    super(number);
    this.id = id;
    this.free = new Seat(this, line);
  }

  /** Returns its seat in the line of a limited resource. */
  seatAt(resource: Resource): Seat {
    let seat = this.seats.get(resource);
    if (!seat) {
      seat = new Seat(this, resource.line);
      this.seats.set(resource, seat);
    }
    return seat;
  }
}

/** The tag of a group in the line of a limited resource. Most groups have none or one: a chain takes less than a map. */
export interface AwayTag {
  readonly resource: Resource;
  readonly tag: VirtualTime;
  readonly next: AwayTag | undefined;
}

/** A group that one service slows alone. */
export interface Slowness {
  resource: Resource;
  /** `resource.flips` when it began. */
  flips: number;
  readonly congestion: CongestionState;
  /** Undefined while it is only frozen. */
  rate: Rate | undefined;
  frozenUntilMs: number;
}

/** The jobs of one priority in a group. */
export class Queue {
  readonly priority: number;
  /** The first position that was neither started nor ended in turn. */
  next: Position;
  /** The first position that was not announced. */
  tail: Position;
  /** Chunks announced after `next` had passed them: they come first. */
  readonly late: ChunkAddress[] = [];
  /** The next position to become ready. */
  cursor: Position;
  /** Loaded chunks from the cursor on, in order. */
  readonly loaded: Chunk[] = [];
  /** True while it waits for its next chunks. */
  isAsked = false;
  /** Chunks announced since then, and the position up to which there are none behind those loaded. */
  announced: ChunkAddress[] | undefined;
  searched: Position = 0;
  /** Jobs of the newest chunk, of loaded chunks, and of the smallest window. */
  chunkJobs = 1;
  loadedJobs = 0;
  window = 0;

  constructor(priority: number) {
    this.priority = priority;
    const start = firstPosition(chunkAddress(priority, 0));
    this.next = start;
    this.tail = start;
    this.cursor = start;
  }
}

/** One bulk action. */
export class Group extends Scope {
  /** The stored id, `tenant/id`. */
  readonly id: string;
  readonly tenant: Tenant;
  readonly createdMs: number;
  priorityLevel: PriorityLevel = 'normal';
  /** True for a group that must be sealed to end; an open group ends when its jobs have been done for a while. */
  isSealable = false;
  isSealed = false;
  isOrdered = false;
  timeoutMs = 0;
  deadlineMs: number | undefined;
  notBeforeMs: number | undefined;
  status: GroupStatus = 'CREATED';
  code: string | undefined;
  round = 1;
  startedMs: number | undefined;
  endedMs: number | undefined;
  progressMs: number;
  /** Counters of this round. */
  registered = 0;
  success = 0;
  failed = 0;
  cancelled = 0;
  /** Jobs that were acknowledged while the round was being cut. They are CANCELLED and not part of the result. */
  late = 0;
  throttled = 0;
  rateDenied = 0;
  lastBackoffMs = 0;
  readonly durations: Histogram = newHistogram();
  /** Failed jobs by code; undefined before the first failure. */
  codes: Map<string, number> | undefined;
  /** Its tag among jobs that call no limited resource, and those in the lines of limited resources. */
  readonly tag = newTime();
  away: AwayTag | undefined;
  readonly queues: (Queue | undefined)[] = [];
  readonly inFlight = new Map<Position, Job>();
  /** Jobs that take the group's next turns: due retries, orphans, jobs given back. */
  readonly front: Job[] = [];
  readonly delayed = new Map<Position, Job>();
  readonly outcomes = new Map<ChunkAddress, ChunkOutcomes>();
  /** Undefined as long as its jobs leave nothing. */
  kept: Kept | undefined;
  /** Time of the last progress event, and whether another one is due. */
  progressEventMs = 0;
  isProgressDue = false;
  /** Jobs that their queue passes over: cancelled, or taken to the front. */
  readonly skipped = new Set<Position>();
  /** Ready jobs, in the order of their turns. */
  readonly ready: Job[] = [];
  /** Loaded chunks with jobs that have not ended. */
  readonly chunks = new Map<ChunkAddress, Chunk>();
  /** The job that has its next turn; undefined while there is none, or while its chunk is not loaded. */
  head: Job | undefined;
  /** The job or queue whose chunk has to be loaded before the head is known. */
  missing: Position | Queue | undefined;
  /** Chunks that were requested by their address. */
  asked: Set<ChunkAddress> | undefined;
  /** Processor type that its head lacks, while too many of its jobs wait for one in non-ready. */
  lacking: string | undefined;
  /** True while it stands in the order with a job that is not loaded. */
  isBlind = false;
  /** Its tag in the line of the processor type where it stood last. */
  byType: { readonly line: FairLine; readonly tag: VirtualTime } | undefined;
  seat: Seat | undefined;
  start = 0;
  fairAt = -1;
  watchMs = 0;
  watchAt = -1;
  /** Mean duration of its attempts, for the charge by time. */
  estimateMs: number | undefined;
  slow: Slowness | undefined;
  readonly stamps: AttributionStamps = newStamps();
  trial: TrialState | undefined;
  /** From its first throttled attempt on. */
  history: History<GroupPoint> | undefined;
  readonly settledWindow: RateWindow = newRateWindow();

  constructor(number: number, id: string, tenant: Tenant, createdMs: number) {
    super(number);
    this.id = id;
    this.tenant = tenant;
    this.createdMs = createdMs;
    this.progressMs = createdMs;
  }

  /** Returns the queue of a priority; makes it if it is new. */
  queueOf(priority: number): Queue {
    this.queues[priority] ??= new Queue(priority);
    return this.queues[priority];
  }

  /** Jobs of this round that have ended. */
  get done(): number {
    return this.success + this.failed + this.cancelled;
  }

  /** Jobs of this round that wait, wherever they are. */
  get pending(): number {
    return hasEnded(this.status) ? 0 : this.registered - this.done - this.inFlight.size;
  }
}

/** What a job was charged at its turn. */
export interface Turn {
  /** The seat whose tags are stored. */
  readonly seat: Seat;
  typeSeat?: Seat | undefined;
  readonly charge: number;
  /** Start tags of the group, the seat and the tenant's free seat. */
  readonly groupStart: number;
  readonly seatStart: number;
  readonly freeStart: number;
  /** True if it was due to the minimum of the tenant. */
  readonly isMinimum: boolean;
}

/** A process that runs jobs. */
export class Instance {
  readonly id: string;
  slots: number;
  free: number;
  types: ReadonlySet<string>;
  readonly jobs = new Set<Job>();
  /** The job it runs that may be what kills processes. */
  suspect: Job | undefined;
  /** Jobs to deliver with the next commit. */
  outbox: Job[] = [];
  /** Groups whose results it adds up. */
  readonly aggregations = new Set<Group>();
  aggregators: ReadonlySet<string> = new Set();

  constructor(id: string, slots: number, types: ReadonlySet<string>) {
    this.id = id;
    this.slots = slots;
    this.free = slots;
    this.types = types;
  }
}

/** A job whose turn has come, or that waits outside its queue. Jobs in a queue are positions only. */
export class Job {
  readonly group: Group;
  readonly position: Position;
  place: 'FRONT' | 'READY' | 'IN_FLIGHT' | 'DELAYED' = 'FRONT';
  /** Number of the last attempt, from 1. */
  attempt = 0;
  retryCount = 0;
  orphanCount = 0;
  /** From its chunk. Undefined while that is not loaded. */
  body: JobBody | undefined;
  /** From its turn to its end. */
  turn: Turn | undefined;
  /** True if it became ready from the front of its group. */
  isFromFront = false;
  /** Resource that it calls. */
  resource: Resource | undefined;
  instanceId = '';
  startedUs = 0;
  /** Cost of its start. */
  cost = 0;
  /** True once its instance has launched its handler, as far as the owner knows. */
  isLaunched = false;
  dueMs = 0;
  reason: NonReadyReason = 'SCHEDULED';
  delayAt = -1;
  /** When it had its turn. */
  readyMs: number | undefined;
  /** The gate that held it longest, and for how long. */
  gate: string | undefined;
  gateMs = 0;

  constructor(group: Group, position: Position) {
    this.group = group;
    this.position = position;
  }

  get startedMs(): number {
    return Math.floor(this.startedUs / 1000);
  }
}
