import type { GroupStatus, JobPlace, JobStatus, NonReadyReason, PriorityLevel } from './states.js';

/** The stored id of a group, `tenant/id`: see `formatScopedId`. */
export type GroupKey = string;

/** A point in time as a caller may give it: a Date, or milliseconds since 1970. */
export type Moment = Date | number;

/** One job as a caller hands it in. */
export interface JobInput {
  /** Known in its group already: the job is not registered again. Left out: made from the call's `requestId`. */
  readonly id?: string | undefined;
  /** Which processor runs it. */
  readonly processorType: string;
  /** Anything JSON can carry. */
  readonly payload?: unknown;
  /** What it counts in the fair order and in rate limits, a whole number (1). */
  readonly cost?: number | undefined;
  /** Not started before this. */
  readonly notBefore?: Moment | undefined;
  /** Not started after this: then it fails as `DEADLINE_EXCEEDED`. */
  readonly deadline?: Moment | undefined;
  /** Its own W3C trace context; its group's unless given. */
  readonly traceparent?: string | undefined;
}

/** One bulk action as a caller defines it. */
export interface GroupInput {
  /** Plain, or `tenant/id`. */
  readonly id: string;
  /** Whose namespace the id lives in ('' = none). */
  readonly tenant?: string | undefined;
  /** The fairness unit; the group's tenant unless given, and where that is '' the group itself. */
  readonly tenantId?: string | undefined;
  /** Its share beside the other groups of its tenant (1). */
  readonly weight?: number | undefined;
  /** Multiplies the weight: `high` by 8, `normal` by 4, `low` by 1 (`normal`). */
  readonly priorityLevel?: PriorityLevel | undefined;
  /** Starts per second. */
  readonly rps?: number | undefined;
  /** How many starts may come at once (max(1, rps / 10)). */
  readonly burst?: number | undefined;
  /** Most jobs of it that are ready or running at once. */
  readonly concurrency?: number | undefined;
  /** How long it may make no progress (`watcher.groupTimeoutMs`). */
  readonly timeoutMs?: number | undefined;
  /** When it stops being wanted. */
  readonly deadline?: Moment | undefined;
  /** W3C trace context of whoever hands it in. */
  readonly traceparent?: string | undefined;
}

/** What `updateGroup` may change; null takes a limit away. */
export interface GroupPatch {
  readonly weight?: number | undefined;
  readonly priorityLevel?: PriorityLevel | undefined;
  readonly rps?: number | null | undefined;
  readonly burst?: number | null | undefined;
  readonly concurrency?: number | null | undefined;
  readonly timeoutMs?: number | undefined;
  readonly deadline?: Moment | null | undefined;
}

/** What `updateTenant` may change; null takes a limit away. */
export interface TenantPatch {
  readonly weight?: number | undefined;
  readonly rps?: number | null | undefined;
  readonly burst?: number | null | undefined;
  readonly concurrency?: number | null | undefined;
}

/** One try that failed. */
export interface FailedTry {
  /** When it ended, milliseconds since 1970. */
  readonly at: number;
  /** How long it took. */
  readonly ms: number;
  readonly code: string;
  readonly message: string;
}

/** A job as it is now. */
export interface JobView {
  readonly id: string;
  /** As every method takes it: plain, or `tenant/id`. */
  readonly groupId: string;
  readonly tenant: string;
  readonly processorType: string;
  /** Gone once the job has succeeded. */
  readonly payload?: unknown;
  readonly status: JobStatus;
  readonly place: JobPlace;
  readonly retryCount: number;
  readonly orphanCount: number;
  /** Tries started so far. */
  readonly attempts: number;
  readonly cost: number;
  readonly createdAt: number;
  readonly notBefore?: number;
  readonly deadline?: number;
  /** The start of the last try. */
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** When it may go on, and why it waits: non-ready jobs only. */
  readonly dueAt?: number;
  readonly reason?: NonReadyReason;
  /** The last five failed tries, oldest first. */
  readonly failedTries: readonly FailedTry[];
  readonly traceparent: string;
}

/** The life and the counts of a group as stored; `GroupProgress` is made from it. */
export interface GroupView {
  /** As every method takes it: plain, or `tenant/id`. */
  readonly id: string;
  readonly tenant: string;
  readonly tenantId: string;
  readonly weight: number;
  readonly priorityLevel: PriorityLevel;
  readonly rps?: number;
  readonly burst?: number;
  readonly concurrency?: number;
  readonly timeoutMs: number;
  readonly deadline?: number;
  readonly traceparent: string;
  readonly status: GroupStatus;
  readonly sealed: boolean;
  readonly paused: boolean;
  readonly round: number;
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** Registration, first start or settlement, whichever was last. */
  readonly progressAt: number;
  readonly counts: GroupCounts;
  /** Settlements per second, measured over the last seconds. */
  readonly settledPerSecond: number;
  /** Tries that the called service throttled, and tries for which there was no token. */
  readonly throttled: number;
  readonly rateDenied: number;
  readonly lastBackoffMs: number;
}

/** done = success + failed + cancelled; done + pending + inFlight = registered; nonReady and ready are among pending. */
export interface GroupCounts {
  readonly registered: number;
  readonly success: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly pending: number;
  readonly inFlight: number;
  readonly nonReady: number;
  readonly ready: number;
}

/** How hard the called service holds a group back. */
export type CongestionLevel = 'NONE' | 'LOW' | 'MODERATE' | 'HIGH' | 'CRITICAL';

/** How far a group is. */
export interface GroupProgress {
  readonly total: number;
  readonly registered: number;
  readonly done: number;
  readonly success: number;
  readonly failed: number;
  readonly cancelled: number;
  /** All PENDING, `nonReady` among them. */
  readonly pending: number;
  readonly inFlight: number;
  readonly nonReady: number;
  readonly progressPercent: number;
  readonly status: GroupStatus;
  readonly round: number;
  /** When it will be done at the present speed; null while nothing is known. */
  readonly etaMs: number | null;
  readonly congestion: {
    readonly level: CongestionLevel;
    readonly nonReadyCount: number;
    readonly lastBackoffMs: number;
  };
}

/** How long the tries of a group took, in milliseconds. */
export interface DurationStatistics {
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Numbers of one name that the results of a group gave. */
export interface NumberStatistics {
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}

/** What came of a group in one round. */
export interface GroupResult {
  readonly groupId: string;
  readonly round: number;
  readonly status: GroupStatus;
  /** Why it failed; absent when it completed. */
  readonly code?: string;
  /** The same in words, where there is more to say. */
  readonly message?: string;
  readonly total: number;
  readonly success: number;
  readonly failed: number;
  readonly cancelled: number;
  /** success / (success + failed), 1 for an empty group. */
  readonly successRate: number;
  readonly averageDurationMs: number;
  readonly durations: DurationStatistics;
  /** Failed jobs by error code; of more than a hundred codes the rest under `OTHER_CODES`. */
  readonly failedByCode: Readonly<Record<string, number>>;
  /** Up to `aggregator.failedDetailsMaxCount`. */
  readonly failedJobs: readonly FailedJob[];
  /** What its aggregators made of the results: of one type its value, of several an object of values by type. */
  readonly data?: unknown;
  /** By the names that aggregators gave them. */
  readonly numbers?: Readonly<Record<string, NumberStatistics>>;
  /** Results that were too large to be kept, or are past their retention: `data` is without them. */
  readonly resultsDropped?: number;
  readonly startedAt?: number;
  readonly endedAt: number;
  readonly durationMs: number;
}

/** One failed job in a group's result. */
export interface FailedJob {
  readonly jobId: string;
  readonly code: string;
  readonly message: string;
}

/** A fairness unit as it is now. */
export interface TenantView {
  readonly id: string;
  readonly weight: number;
  readonly rps?: number;
  readonly burst?: number;
  readonly concurrency?: number;
  /** Groups that have not ended. */
  readonly groups: number;
  readonly pending: number;
  readonly inFlight: number;
  /** Cost served since the tenant is known, and per second over the last seconds. */
  readonly served: number;
  readonly servedPerSecond: number;
}

/** Who gets which share. */
export interface TenantShare extends TenantView {
  /** Part of what was served in the last seconds, 0 to 1. */
  readonly share: number;
  /** Part that its weight is entitled to among those who want something now, 0 to 1. */
  readonly fairShare: number;
}

/** The queues of the engine as they are now. */
export interface QueuesView {
  readonly tenants: number;
  /** Groups with waiting jobs, those of them that wait for a rate slot, and jobs in all lanes. */
  readonly groups: number;
  readonly parkedGroups: number;
  readonly lane: number;
  readonly ready: number;
  readonly readyBound: number;
  readonly nonReady: number;
  readonly nonReadyByReason: Readonly<Record<NonReadyReason, number>>;
  readonly inFlight: number;
  readonly deadLetters: number;
  /** Worker slots of live instances, and those of them that wait for a job. */
  readonly liveSlots: number;
  readonly waitingSlots: number;
  readonly startsPerSecond: number;
  /**
   * How long the job has waited that has waited longest of those that are first in line: the first of ready, the first that
   * is due in non-ready, and of each tenant that has a turn the first job of the group whose turn it is. 0 when nobody is.
   * Jobs behind them may be older, by what the fair order took from them; who is paused, at a cap or waits for a rate of its
   * own is in no line. Looked for among the first 32 tenants of a line: who has never been served is at its beginning.
   */
  readonly oldestWaitingMs: number;
  /** Starts per second that a resource is called with at most now, configured or learnt; one without a limit is not in it. */
  readonly congestionRates: Readonly<Record<string, number>>;
}

/** A job that failed for good after its retries, with a full copy of it. */
export interface DeadLetter {
  readonly job: JobView;
  readonly error: string;
  readonly code: string;
  /** Type, code and message with numbers, ids and quotes masked: 2,000 failures are 3 errors. */
  readonly signature: string;
  readonly failedAt: number;
  readonly retryCount: number;
}

/** Dead letters of one cause. */
export interface DeadLetterSignature {
  readonly signature: string;
  readonly count: number;
  /** The first and the last failure among those that are still there. */
  readonly firstFailedAt: number;
  readonly lastFailedAt: number;
  /** Of the last one; a signature has their beginnings. */
  readonly processorType: string;
  readonly code: string;
  /** The last one. */
  readonly sample: DeadLetterSample;
}

/** Which dead letter stands for others of its cause. */
export interface DeadLetterSample {
  /** Plain, or `tenant/id`. */
  readonly groupId: string;
  readonly jobId: string;
  readonly message: string;
}

/** A part of a list; ask again with `cursor` until there is none. Pages may be short. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly cursor?: string;
}

/** What the engine tells subscribers. Events are hints: the state is the truth. */
export interface GroupEvent {
  readonly type: 'group.started' | 'group.progress' | 'group.completed' | 'group.failed' | 'job.dead';
  readonly groupId: string;
  readonly tenant: string;
  readonly round: number;
  readonly status: GroupStatus;
  /** `job.dead` only. */
  readonly jobId?: string;
  readonly at: number;
}

/** A process that runs jobs. */
export interface InstanceView {
  readonly id: string;
  readonly startedAt: number;
  readonly slots: number;
  readonly waiting: number;
  readonly processorTypes: readonly string[];
  /** Milliseconds since it was last heard of. */
  readonly silentMs: number;
}
