import type { Clock } from '@millrace/foundation';
import type { ResourceConfig } from '../config-sections.js';
import { type LeaseRef } from '../lease.js';
import type { GroupEvent } from '../model.js';
import type { ResolvedBulkActionConfig } from '../options.js';
import { type Heartbeat, INSTANCE_TTL_MS, type WakeUpKind } from '../ports.js';
import { groupIdOf } from '../rules/ids.js';
import { newRateWindow, type RateWindow, ratePerSecond } from '../rules/rate-window.js';
import { readyBound } from '../rules/ready-bound.js';
import type { NonReadyReason } from '../states.js';
import { ClaimRecords } from './claim-records.js';
import { DeadRecords } from './dead-records.js';
import { Deque } from './deque.js';
import { GroupsByArrival } from './groups-by-arrival.js';
import { IndexedHeap } from './indexed-heap.js';
import {
  comesBeforeByName,
  type FairLine,
  fairHeap,
  type GroupRecord,
  type JobRecord,
  ResourceRecord,
  TenantRecord,
} from './records.js';

/** A process that was heard of. */
export interface InstanceRecord extends Heartbeat {
  slots: number;
  waiting: number;
  seenMs: number;
  /** The last request for jobs and its answer, so that a repeat gets the same. */
  seq: number;
  answer: readonly LeaseRef[];
  /** Jobs it runs that were lost often: it gets one such at a time. */
  suspects: number;
}

/** The jobs of a round that ended without them, still to be marked. */
export interface Grave {
  readonly group: GroupRecord;
  readonly round: number;
  readonly order: readonly JobRecord[];
  at: number;
}

type Reasons = Record<NonReadyReason, number>;

/** All that the memory store holds. One step runs at a time and to its end: that makes each atomic. */
export class MemoryState {
  readonly config: ResolvedBulkActionConfig;
  readonly #clock: Clock;
  readonly #anchorMs: number;
  /**
   * The store's time. It moves with the monotonic clock, so that setting the machine's clock freezes no lease, no limit
   * and no back-off; only what callers gave as a date is compared with `wallMs`.
   */
  nowUs = 0;
  nowMs = 0;
  wallMs = 0;

  readonly groups = new Map<string, GroupRecord>();
  readonly groupsBySeq = new GroupsByArrival();
  readonly tenants = new Map<string, TenantRecord>();
  /** The line of those who wait for no limited resource; what is served in other lines counts in it too. */
  readonly free: FairLine = { clock: { virtual: 0, epoch: 1 }, seats: fairHeap() };
  readonly resources = new Map<string, ResourceRecord>();
  /** Those of them that hold something back, or did: those with a line of their own. */
  readonly limited = new Set<ResourceRecord>();
  /** Which resource a processor type calls, where that is not its own name. */
  readonly resourceNames = new Map<string, string>();
  readonly parked = new IndexedHeap<TenantRecord | GroupRecord, 'parkedAt'>(
    'parkedAt',
    (a, b) => a.parkedUntilUs < b.parkedUntilUs || (a.parkedUntilUs === b.parkedUntilUs && a.name < b.name),
  );
  readonly ready = new Deque<JobRecord>();
  readonly nonReady = new IndexedHeap<JobRecord, 'heapAt'>(
    'heapAt',
    (a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && comesBeforeByName(a, b)),
  );
  readonly flights = new IndexedHeap<JobRecord, 'heapAt'>('heapAt', (a, b) => {
    const difference = leaseEnd(a) - leaseEnd(b);
    return difference < 0 || (difference === 0 && comesBeforeByName(a, b));
  });
  readonly expiries = new IndexedHeap<GroupRecord, 'expiryAt'>(
    'expiryAt',
    (a, b) => a.expiresMs < b.expiresMs || (a.expiresMs === b.expiresMs && a.name < b.name),
  );
  /** Groups that have not ended, by the next look of the watcher. */
  readonly watched = new IndexedHeap<GroupRecord, 'lookAt'>(
    'lookAt',
    (a, b) => a.lookMs < b.lookMs || (a.lookMs === b.lookMs && a.key < b.key),
  );
  /** Groups that are AGGREGATING, by the time from which their results may be claimed; and who holds which. */
  readonly aggregations = new IndexedHeap<GroupRecord, 'aggregationAt'>('aggregationAt', (a, b) => {
    const difference = (a.aggregation?.freeMs ?? 0) - (b.aggregation?.freeMs ?? 0);
    return difference < 0 || (difference === 0 && a.key < b.key);
  });
  readonly aggregationTokens = new Map<string, GroupRecord>();
  readonly graves: Grave[] = [];
  readonly deadLetters = new DeadRecords();
  readonly instances = new Map<string, InstanceRecord>();
  /** Of groups whose home this store is and that live in another one. */
  readonly claims = new ClaimRecords();
  readonly nonReadyByReason: Reasons = {
    RATE_LIMITED: 0,
    API_THROTTLED: 0,
    TRANSIENT_ERROR: 0,
    SCHEDULED: 0,
    NO_PROCESSOR: 0,
    ORPHANED: 0,
  };
  readonly starts: RateWindow = newRateWindow();
  /** Somebody was parked while nobody waited for a job, and no Fetcher knows until when. */
  parkingUntold = false;
  readyJobs = 0;
  laneJobs = 0;
  /** Groups with a job in their lane. */
  laneGroups = 0;
  held = 0;
  /** PENDING jobs of groups that have not ended. */
  pending = 0;
  tatUs = 0;
  readyCost = 0;
  /** Mean time of all tries, for the charge by time of a group that has had none. */
  estimateMs = 100;
  #seq = 0;
  #token = 0;
  readonly #rings = new Set<WakeUpKind>();
  #turnAnnounced = false;
  readonly #events: GroupEvent[] = [];
  readonly #bells: Record<WakeUpKind, Set<() => void>> = {
    fetch: new Set(),
    work: new Set(),
    dispatch: new Set(),
    aggregate: new Set(),
  };
  readonly #listeners = new Set<(event: GroupEvent) => void>();

  constructor(config: ResolvedBulkActionConfig, clock: Clock) {
    this.config = config;
    this.#clock = clock;
    this.#anchorMs = clock.now() - clock.monotonicMs();
    for (const [name, settings] of Object.entries(config.resources)) this.#newResource(name, settings);
  }

  /** Runs one atomic step: reads the time once, and tells listeners when all of it is done. */
  step<T>(run: () => T): T {
    this.nowUs = Math.floor((this.#anchorMs + this.#clock.monotonicMs()) * 1000);
    this.nowMs = Math.floor(this.nowUs / 1000);
    this.wallMs = Math.floor(this.#clock.now());
    const answer = run();
    this.#flush();
    return answer;
  }

  /** The last number of arrival that was given. */
  get lastSeq(): number {
    return this.#seq;
  }

  /** The next number of arrival. */
  nextSeq(): number {
    return ++this.#seq;
  }

  /** The next fencing token. */
  nextToken(): number {
    return ++this.#token;
  }

  /** Wakes whoever listens, when the step is done. */
  ring(kind: WakeUpKind): void {
    this.#rings.add(kind);
  }

  /** When the step is done, wakes who may take a turn: workers that wait, and the Fetcher when that is not enough of them. */
  announceTurn(): void {
    this.#turnAnnounced = true;
  }

  /**
   * Takes a wake-up back, and what was announced: the caller of this step has done the work, or knows when to do it.
   * @returns whether there was one.
   */
  unring(kind: WakeUpKind): boolean {
    this.#turnAnnounced = false;
    return this.#rings.delete(kind);
  }

  /** Wakes the Fetcher when it does not know the next slot of those who are parked: a worker waits for it now. */
  tellOfParking(): void {
    if (this.parkingUntold) this.ring('fetch');
    this.parkingUntold = false;
  }

  /** Tells subscribers, when the step is done. */
  tell(type: GroupEvent['type'], group: GroupRecord, jobId?: string): void {
    if (this.#listeners.size === 0) return;
    this.#events.push({
      type,
      groupId: groupIdOf(group.key),
      tenant: group.tenant,
      round: group.round,
      status: group.status,
      ...(jobId !== undefined && { jobId }),
      at: this.wallMs,
    });
  }

  /** See WakeUps.listen. */
  listen(kind: WakeUpKind, bell: () => void): () => void {
    // A function of its own: the same bell given twice is two listeners.
    const ring = () => bell();
    this.#bells[kind].add(ring);
    return () => void this.#bells[kind].delete(ring);
  }

  /** See WakeUps.subscribe. */
  subscribe(listener: (event: GroupEvent) => void): () => void {
    const tell = (event: GroupEvent) => listener(event);
    this.#listeners.add(tell);
    return () => void this.#listeners.delete(tell);
  }

  /** The tenant of this id, made when it is not known. */
  tenantOf(id: string): TenantRecord {
    let tenant = this.tenants.get(id);
    if (!tenant) {
      tenant = new TenantRecord(id, this.nextSeq(), this.free);
      this.tenants.set(id, tenant);
    }
    return tenant;
  }

  /** What a job calls, when its processor was heard of or the resource is configured; made when it is new. */
  resourceCalled({ processorType }: JobRecord): ResourceRecord | undefined {
    if (!this.config.congestion.enabled) return undefined;
    const name = this.resourceNames.get(processorType) ?? processorType;
    const known = this.resources.get(name);
    if (known || !this.resourceNames.has(processorType)) return known;
    return this.#newResource(name, {});
  }

  #newResource(name: string, settings: ResourceConfig): ResourceRecord {
    const { initialRps } = this.config.congestion;
    const resource = new ResourceRecord(name, { ...(initialRps > 0 && { initialRps }), ...settings });
    this.resources.set(name, resource);
    if (resource.limited) this.limited.add(resource);
    return resource;
  }

  /** What a job calls, when that is known as a resource. */
  resourceOf({ processorType }: JobRecord): ResourceRecord | undefined {
    return this.resources.get(this.resourceNames.get(processorType) ?? processorType);
  }

  /** Whether anybody stands in a fair order. */
  mayTurn(): boolean {
    if (this.free.seats.size > 0) return true;
    for (const { seats } of this.limited) if (seats.size > 0) return true;
    return false;
  }

  /** Worker slots of the instances that are alive. */
  slots(): { readonly live: number; readonly waiting: number } {
    let live = 0;
    let waiting = 0;
    for (const instance of this.instances.values()) {
      if (this.nowMs - instance.seenMs >= INSTANCE_TTL_MS) continue;
      live += instance.slots;
      waiting += instance.waiting;
    }
    return { live, waiting };
  }

  /** How many jobs ready may hold now. */
  readyBound(): number {
    const { live, waiting } = this.slots();
    return readyBound({
      liveSlots: live,
      waitingSlots: waiting,
      startsPerSecond: ratePerSecond(this.starts, this.nowMs),
      inFlight: this.flights.size,
      readyHorizonMs: this.config.backpressure.readyHorizonMs,
      fetchBatchSize: this.config.workerPool.fetchBatchSize,
      readyQueueMaxSize: this.config.backpressure.readyQueueMaxSize,
    });
  }

  #wakeForTurn(): void {
    if (!this.#turnAnnounced) return;
    this.#turnAnnounced = false;
    const { waiting } = this.slots();
    if (waiting > 0) this.ring('work');
    if (this.laneJobs > waiting && this.readyJobs < this.readyBound()) this.ring('fetch');
  }

  #flush(): void {
    this.#wakeForTurn();
    for (const kind of this.#rings) for (const bell of this.#bells[kind]) quietly(bell);
    this.#rings.clear();
    for (const event of this.#events.splice(0)) {
      for (const listener of this.#listeners) quietly(() => listener(event));
    }
  }
}

/** Hints: a listener that fails must not fail the step that has already happened. */
function quietly(tell: () => void): void {
  try {
    tell();
  } catch {}
}

const leaseEnd = (job: JobRecord): number => job.flight?.leaseUntilMs ?? 0;
