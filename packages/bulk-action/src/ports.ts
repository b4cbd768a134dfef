import type { AggregationClaim, ResultSearch, StoredResult } from './aggregation.js';
import type {
  LeaseRef,
  RecoverAnswer,
  ReserveAnswer,
  ReserveRequest,
  SettleAnswer,
  Settlement,
} from './lease.js';
import type {
  DeadLetter,
  DeadLetterSignature,
  GroupEvent,
  GroupKey,
  GroupPatch,
  InstanceView,
  Page,
  TenantPatch,
} from './model.js';
import type { BackpressureDestination, GroupStatus, PriorityLevel } from './states.js';
import type { StoreViews } from './store-views.js';

/*
 * What the core needs of a store, split by who calls it. Rules for every adapter:
 * - each member is one atomic step; it reads and checks everything before it writes anything;
 * - time is the store's own, so all durations that leave it are relative (`…InMs`);
 * - a refusal is an answer, never a throw: the only thing thrown is `BACKEND_UNAVAILABLE`;
 * - every step is bounded by a number it is given, or by a constant of the adapter;
 * - every member may be called again after a lost answer: ids and tokens make the repeat harmless.
 */

/** A group as it is registered: ids checked, defaults in place. */
export interface GroupDefinition {
  readonly key: GroupKey;
  readonly tenant: string;
  readonly tenantId: string;
  readonly weight: number;
  readonly priorityLevel: PriorityLevel;
  readonly rps?: number;
  readonly burst?: number;
  readonly concurrency?: number;
  readonly timeoutMs: number;
  /** Milliseconds since 1970. */
  readonly deadline?: number;
  readonly traceparent: string;
}

/** A job as it is registered: id and payload checked. */
export interface NewJob {
  readonly id: string;
  readonly processorType: string;
  /** JSON. */
  readonly payload: string;
  readonly cost: number;
  /** What it counts in the fair order, where a function says so. */
  readonly charge?: number;
  readonly notBefore?: number;
  readonly deadline?: number;
  readonly traceparent?: string;
}

/** What became of a batch of new jobs. A refused batch leaves nothing behind. */
export type AddAnswer =
  | { readonly kind: 'added'; readonly added: number; readonly known: number; readonly registered: number }
  | { readonly kind: 'sealed'; readonly unknown: number }
  | {
      readonly kind: 'full';
      readonly scope: 'engine' | 'tenant';
      readonly queued: number;
      readonly max: number;
    };

/** The answer of a step that changes a group. */
export type GroupAnswer =
  | { readonly kind: 'done'; readonly status: GroupStatus; readonly changed: boolean }
  | { readonly kind: 'ended'; readonly status: GroupStatus }
  | { readonly kind: 'not-found' };

/** Changes groups and tenants; called by BulkActionService. */
export interface GroupStore {
  create(definition: GroupDefinition): Promise<'created' | 'known' | 'conflict'>;
  /**
   * Registers jobs; known ids are left alone.
   * @param definition - the group, made with this definition when it does not exist.
   * @param jobs - at most `ADD_BATCH_MAX`.
   * @param incoming - jobs of the whole call that are not stored yet, these included: refused early when they cannot fit.
   */
  add(definition: GroupDefinition, jobs: readonly NewJob[], incoming: number): Promise<AddAnswer>;
  seal(
    key: GroupKey,
    total?: number,
  ): Promise<GroupAnswer | { readonly kind: 'mismatch'; readonly registered: number }>;
  /** O(1); after the answer no job of the group starts. */
  cancel(key: GroupKey): Promise<GroupAnswer>;
  /** After the answer no job of the group starts until `resume`. */
  pause(key: GroupKey): Promise<GroupAnswer>;
  resume(key: GroupKey): Promise<GroupAnswer>;
  /** Congestion control begins anew with the group: nothing learnt, nothing counted. Moves no job. */
  forgetSlowness(key: GroupKey): Promise<GroupAnswer>;
  update(key: GroupKey, patch: GroupPatch): Promise<GroupAnswer>;
  /** Makes the tenant when it does not exist. */
  updateTenant(tenantId: string, patch: TenantPatch): Promise<void>;
}

/** How many jobs one `add` takes at most. */
export const ADD_BATCH_MAX = 1000;

/** What a look into the fair queue moved. */
export interface FetchAnswer {
  readonly ready: number;
  readonly nonReady: number;
  /** Refused by a cap, a limit or their deadline, left in place or failed. */
  readonly rejected: number;
  /** Whether ready could take more when the step ended. */
  readonly room: boolean;
  /** When it is worth looking again without a wake-up; absent: only a wake-up can help. */
  readonly nextInMs?: number;
}

/** What a look at the due jobs moved. */
export interface DispatchAnswer {
  /** Out of non-ready, and those of them straight into ready. */
  readonly moved: number;
  readonly ready: number;
  readonly skipped: boolean;
  readonly nextInMs?: number;
}

/** Why the gate refused, or `none`. */
export type AdmitReason =
  | 'NONE'
  | 'TURN'
  | 'PAUSED'
  | 'GROUP_CAP'
  | 'TENANT_CAP'
  | 'READY_FULL'
  | 'RATE_LIMITED'
  | 'DEADLINE_EXCEEDED'
  | 'CANCELLED'
  | 'NOT_DUE'
  | 'NOT_WAITING';

/** The gate's answer for one job. */
export interface Admission {
  readonly accepted: boolean;
  readonly destination: BackpressureDestination;
  readonly reason: AdmitReason;
}

/** The one gate into ready; called by Fetcher, Dispatcher and BackpressureService. */
export interface Gate {
  /** Fair queue → ready, at most `max`, as far as gate and ready bound allow. */
  fetch(max: number): Promise<FetchAnswer>;
  /** Due non-ready → ready or the head of its lane, at most `max`. */
  dispatch(max: number): Promise<DispatchAnswer>;
  /** One waiting job; undefined when there is no such job. */
  admit(key: GroupKey, jobId: string): Promise<Admission | undefined>;
  /** Whether a start of this cost had its tokens now, and when it will; spends nothing. */
  checkRate(
    key: GroupKey,
    cost: number,
  ): Promise<{ readonly allowed: boolean; readonly nextInMs: number } | undefined>;
}

/** Leases; called by the worker pool. */
export interface Leases {
  reserve(request: ReserveRequest): Promise<ReserveAnswer>;
  /** In the order asked. `lost`: somebody else has it or it was settled. `cancelled`: its round has ended. */
  renew(leases: readonly LeaseRef[]): Promise<readonly ('ok' | 'lost' | 'cancelled')[]>;
  /** In the order asked. */
  settle(settlements: readonly Settlement[]): Promise<readonly SettleAnswer[]>;
  /** Ends leases without a result: through the gate into ready, else to the head of the lane. Retry counts stay. */
  giveBack(
    leases: readonly LeaseRef[],
  ): Promise<readonly ('ready' | 'lane' | 'stale' | 'cancelled' | 'gone')[]>;
  /**
   * Takes expired leases away.
   * @param randoms - one number of [0, 1) for each lease to recover at most: the jitter of its back-off.
   */
  recover(randoms: readonly number[]): Promise<RecoverAnswer>;
  /** Gives back what this instance has in flight, at most `max`. */
  giveBackAll(
    instanceId: string,
    max: number,
  ): Promise<{ readonly returned: number; readonly more: boolean }>;
  /**
   * Which part of the store answers for a group, where there are several that may fail each by itself: a call for leases of one
   * part does not wait for another.
   */
  partOf?(key: GroupKey): number;
}

/** Removes what nobody needs any more, in bounded steps. */
export interface Upkeep {
  /** Entries of cancelled rounds, job records, groups and dead letters past their retention. */
  sweep(max: number): Promise<{ readonly swept: number; readonly more: boolean; readonly nextInMs?: number }>;
}

/** What a look at the groups came to. */
export interface LookAnswer {
  /** Ended as FAILED by this look: `GROUP_TIMEOUT` or `DEADLINE_EXCEEDED`. */
  readonly timedOut: readonly {
    readonly key: GroupKey;
    readonly code: string;
    readonly traceparent: string;
  }[];
  /** Groups looked at, those that have moved on meanwhile too. */
  readonly looked: number;
  /** Whether more are due now. */
  readonly more: boolean;
  /** When the next group is due; absent: none is. */
  readonly nextInMs?: number;
}

/** What a comparison of counters with entries came to. */
export interface ReconcileAnswer {
  readonly looked: number;
  /** Groups whose counters or entries were wrong, and are right now. Anything but 0 is a defect or somebody's hand. */
  readonly repaired: number;
  /** Where to go on; absent after the last group. */
  readonly cursor?: string;
}

/** Groups that would never end by themselves; called by the Watcher. */
export interface Watch {
  /**
   * Ends groups without progress for their `timeoutMs` and groups past their `deadline`: O(1) each, as `cancel` does. Progress
   * is registration, the first start of a job and every settlement; the time of a pause does not count. Rings 'aggregate' for an
   * aggregation older than `watcher.staleGroupThresholdMs` that nobody has taken up.
   * @param max - groups to look at.
   */
  look(max: number): Promise<LookAnswer>;
  /**
   * Compares groups that have not ended with their entries, in the order of their registration, and repairs them. Groups of
   * more than `RECONCILE_JOBS_MAX` jobs, and those whose ended rounds are still to be swept, are left alone.
   * @param max - groups to look at.
   * @param cursor - of the last answer; absent: from the first group on.
   */
  reconcile(max: number, cursor?: string): Promise<ReconcileAnswer>;
}

/** Groups of more jobs are not reconciled: one step would hold up everybody else. */
export const RECONCILE_JOBS_MAX = 1000;
/** How many numbers of arrival one reconciliation passes at most; most of an old engine belong to groups that are gone. */
export const RECONCILE_SPAN = 10_000;

/** Which dead letters; nothing given: all. */
export interface DeadLetterFilter {
  readonly key?: GroupKey | undefined;
  readonly jobId?: string | undefined;
  readonly signature?: string | undefined;
  /** The namespace. */
  readonly tenant?: string | undefined;
}

/** Jobs that failed for good; called by DeadLetterService. */
export interface DeadLetterStore {
  /** Newest first. */
  list(filter: DeadLetterFilter, limit: number, cursor?: string): Promise<Page<DeadLetter>>;
  /** The most frequent first. */
  signatures(
    filter: Pick<DeadLetterFilter, 'tenant' | 'key'>,
    limit: number,
  ): Promise<readonly DeadLetterSignature[]>;
  /** Back into the lanes with retry counts 0, at most `max`; an ended group opens its next round. */
  redrive(filter: DeadLetterFilter, max: number): Promise<{ readonly moved: number; readonly more: boolean }>;
  purge(filter: DeadLetterFilter, max: number): Promise<{ readonly moved: number; readonly more: boolean }>;
}

/**
 * Adds up the results of groups; called by AggregationRunner and AggregatorService. A token names one claim and fences
 * everybody else off; whoever holds it has a lock that expires. Where the group was cancelled, has timed out or belongs to
 * another token, the answer is `lost` and nothing has changed.
 */
export interface Aggregations {
  /**
   * Takes the aggregation that has been free for longest. The same token again gets the same one, while it holds it.
   * @param types - only those whose types are all among these; any without it. At most `AGGREGATION_LOOKS_MAX` are looked at.
   */
  claim(token: string, ttlMs: number, types?: readonly string[]): Promise<AggregationClaim>;
  /** Takes that of one group; undefined when the group does not aggregate. */
  claimGroup(key: GroupKey, token: string, ttlMs: number): Promise<AggregationClaim | undefined>;
  /** Holds the lock for `ttlMs` from now; with 0 it is given back, and somebody else is woken. False when it is lost. */
  renew(key: GroupKey, round: number, token: string, ttlMs: number): Promise<boolean>;
  /** Results of a group in the order of their settlement. */
  page(key: GroupKey, limit: number, cursor?: string): Promise<Page<StoredResult>>;
  /** Looks for the result of a job, among at most `max` results of its group from the newest (or the cursor) down. */
  find(key: GroupKey, jobId: string, max: number, cursor?: string): Promise<ResultSearch>;
  /**
   * Writes the result and ends the round as COMPLETED, in one step.
   * @param data - JSON.
   */
  finish(key: GroupKey, round: number, token: string, data?: string): Promise<'done' | 'lost'>;
  /** Counts a failure: free again after a pause, or FAILED as `AGGREGATION_FAILED` past `AGGREGATION_RETRIES`. */
  fail(key: GroupKey, round: number, token: string, message: string): Promise<'again' | 'failed' | 'lost'>;
}

/** What an instance says of itself with every heartbeat. */
export interface Heartbeat {
  readonly id: string;
  readonly startedAt: number;
  readonly slots: number;
  readonly waiting: number;
  readonly processorTypes: readonly string[];
  /** The resource that each type calls, where that is not its own name; what was said last counts for all instances. */
  readonly resources?: Readonly<Record<string, string>> | undefined;
}

/** Who is alive; an instance not heard of for `INSTANCE_TTL_MS` is not. */
export interface Instances {
  heartbeat(instance: Heartbeat): Promise<void>;
  leave(instanceId: string): Promise<void>;
  list(): Promise<readonly InstanceView[]>;
}

/** How long an instance counts as alive after its last word. */
export const INSTANCE_TTL_MS = 15_000;

/** How long the last answer of a silent instance is kept for a repeat. */
export const INSTANCE_KEPT_MS = 40 * INSTANCE_TTL_MS;

/** Effects that happen once; called by IdempotencyService. */
export interface IdempotencyStore {
  begin(
    key: string,
    token: string,
    leaseMs: number,
  ): Promise<
    | { readonly kind: 'run' }
    | { readonly kind: 'busy'; readonly retryInMs: number }
    | { readonly kind: 'done'; readonly result: string }
  >;
  /** False when the token no longer holds the lease. */
  renew(key: string, token: string, leaseMs: number): Promise<boolean>;
  finish(key: string, token: string, result: string, ttlMs: number): Promise<boolean>;
  release(key: string, token: string): Promise<void>;
}

/** fetch: a turn may be taken, or a rate has to be waited for. work: ready has jobs, or a turn may be taken. dispatch: an earlier due time. aggregate: a group's results wait to be added up. */
export type WakeUpKind = 'fetch' | 'work' | 'dispatch' | 'aggregate';

/** Hints; a lost one costs one interval. */
export interface WakeUps {
  /** @returns a function that ends the listening. */
  listen(kind: WakeUpKind, ring: () => void): () => void;
  /** Hands a wake-up on that came to somebody who has no use for it. */
  passOn(kind: WakeUpKind): void;
  /** @returns a function that ends the subscription. */
  subscribe(listener: (event: GroupEvent) => void): () => void;
}

/** All that the engine needs of a store. */
export interface BulkStore {
  readonly groups: GroupStore;
  readonly views: StoreViews;
  readonly gate: Gate;
  readonly leases: Leases;
  readonly upkeep: Upkeep;
  readonly watch: Watch;
  readonly deadLetters: DeadLetterStore;
  readonly aggregations: Aggregations;
  readonly instances: Instances;
  readonly once: IdempotencyStore;
  readonly wakeUps: WakeUps;
  /** Opens what the store needs. */
  start(): Promise<void>;
  /** Closes it; nothing may be called afterwards. */
  stop(): Promise<void>;
}

/** How many failed tries a job keeps. */
export const FAILED_TRIES_KEPT = 5;
