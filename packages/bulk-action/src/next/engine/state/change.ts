import type { GroupStatus, NonReadyReason, PriorityLevel } from '../../../states.js';
import type { Aggregation, EndKept } from './kept.js';
import type { CommandResult } from './message.js';
import type { ChunkAddress, Position } from './position.js';
import type { Group, Resource, Tenant } from './records.js';
import type { Scope } from './scope.js';

/**
 * Everything durable changes by one of these, and by nothing else. The engine applies a change when it decides it, and writes it
 * into the note of the next commit. A new owner applies the same changes, read from the notes, by the same function.
 *
 * ```
 *   decide ──▶ change ──┬──▶ applyChange(state)          a new owner:  note ──▶ change ──▶ applyChange(state)
 *                       └──▶ note of the next commit
 * ```
 * Times, charges and start tags stand in the change: an application reads no clock and no order.
 */
export type Change =
  | ResourceAdded
  | TenantAdded
  | GroupAdded
  | ChunkAnnounced
  | ChunkFronted
  | JobStarted
  | JobEnded
  | JobRequeued
  | JobDelayed
  | ChunkDropped
  | JobsRedriven
  | GroupReopened
  | LettersReturned
  | LettersGone
  | AggregationMoved
  | GroupSealed
  | GroupMoved
  | Paused
  | LimitsSet
  | GroupSet
  | CongestionForgotten
  | NoticeAnswered
  | ClockJumped
  | EpochEnded;

export interface ResourceAdded {
  readonly kind: 'resource';
  readonly number: number;
  readonly name: string;
}

export interface TenantAdded {
  readonly kind: 'tenant';
  readonly number: number;
  readonly id: string;
}

/** A group as its caller defined it. */
export interface GroupSettings {
  readonly weight: number;
  readonly priorityLevel: PriorityLevel;
  readonly rps?: number | undefined;
  readonly burst?: number | undefined;
  readonly concurrency?: number | undefined;
  readonly timeoutMs: number;
  readonly deadlineMs?: number | undefined;
  readonly notBeforeMs?: number | undefined;
  readonly isOrdered: boolean;
  readonly isSealable: boolean;
}

export interface GroupAdded {
  readonly kind: 'group';
  readonly number: number;
  readonly id: string;
  readonly tenant: Tenant;
  readonly settings: GroupSettings;
  readonly atUs: number;
}

/** Jobs are in the journal, and their group knows how many. */
export interface ChunkAnnounced {
  readonly kind: 'announced';
  readonly group: Group;
  readonly address: ChunkAddress;
  readonly jobs: number;
  /** True if the queue has passed it: it comes to the front once it is loaded. */
  readonly isLate: boolean;
  readonly atUs: number;
}

/** The jobs of a late chunk go to the front of their group. */
export interface ChunkFronted {
  readonly kind: 'fronted';
  readonly group: Group;
  readonly address: ChunkAddress;
  readonly jobs: number;
}

/** An attempt of a job begins on an instance. */
export interface JobStarted {
  readonly kind: 'started';
  readonly group: Group;
  readonly position: Position;
  readonly attempt: number;
  readonly instanceId: string;
  readonly cost: number;
  readonly charge: number;
  readonly resource: Resource | undefined;
  /** True if its turn came in the line of that resource. */
  readonly isLimited: boolean;
  /** True if the turn was due to the tenant's minimum, before its place in the order: the virtual time stays. */
  readonly isMinimum: boolean;
  /** Start tags of the group, of its seat and of the tenant's free seat. */
  readonly groupStart: number;
  readonly seatStart: number;
  readonly freeStart: number;
  readonly atUs: number;
}

/** What a turn was charged too little, with `charge: 'time'`. */
export interface ChargeCorrection {
  readonly by: number;
  /** The limited resource in whose line the turn was. */
  readonly resource: Resource | undefined;
}

export type JobOutcome = 'COMPLETED' | 'FAILED' | 'CANCELLED';

/** A job ends, in flight or waiting. */
export interface JobEnded {
  readonly kind: 'ended';
  readonly group: Group;
  readonly position: Position;
  readonly outcome: JobOutcome;
  /** Of the attempt that ended it, in milliseconds; undefined if there was none. */
  readonly durationMs: number | undefined;
  readonly correction: ChargeCorrection | undefined;
  /** Of a failure. */
  readonly code: string | undefined;
  /** Undefined for a job that leaves nothing. */
  readonly kept: EndKept | undefined;
  readonly atUs: number;
}

/** Tokens of a start that did not happen. */
export interface Refund {
  readonly cost: number;
  readonly startedUs: number;
  readonly resource: Resource | undefined;
}

/** A job goes to the front of its group. */
export interface JobRequeued {
  readonly kind: 'requeued';
  readonly group: Group;
  readonly position: Position;
  readonly attempt: number;
  readonly retryCount: number;
  readonly orphanCount: number;
  readonly correction: ChargeCorrection | undefined;
  readonly refund: Refund | undefined;
  /** True if it passes all others of its group. */
  readonly isFirst: boolean;
}

/** A job waits outside its queue until it is due. */
export interface JobDelayed extends Omit<JobRequeued, 'kind' | 'refund' | 'isFirst'> {
  readonly kind: 'delayed';
  readonly dueMs: number;
  readonly reason: NonReadyReason;
  /** Backoff of a throttled job, for the level of congestion. */
  readonly backoffMs: number | undefined;
  /** Resource that refused the attempt. */
  readonly throttledBy: Resource | undefined;
}

/** How services held a group back is forgotten. */
export interface CongestionForgotten {
  readonly kind: 'forgotten';
  readonly group: Group;
}

/** All jobs of a chunk have ended, and its bodies go. */
export interface ChunkDropped {
  readonly kind: 'dropped';
  readonly group: Group;
  readonly address: ChunkAddress;
}

/** Jobs of dead letters are queued again in a new chunk, and their letters go. */
export interface JobsRedriven {
  readonly kind: 'redriven';
  readonly group: Group;
  readonly address: ChunkAddress;
  /** Jobs that the round counted as failed or cancelled, and jobs that it did not count. */
  readonly failed: number;
  readonly cancelled: number;
  readonly added: number;
  /** How often each code was counted for the failed ones. */
  readonly codes: readonly (readonly [code: string, count: number])[];
  /** Jobs whose details were stored. */
  readonly details: number;
  readonly atUs: number;
}

/** The next round of a sealable group that has ended begins, with the counters of the last one. */
export interface GroupReopened {
  readonly kind: 'reopened';
  readonly group: Group;
  readonly atUs: number;
}

/** Redriven jobs of a chunk that did not end before their round was cut are dead letters again. */
export interface LettersReturned {
  readonly kind: 'letters-returned';
  readonly group: Group;
  readonly address: ChunkAddress;
  readonly letters: number;
}

/** The journal has deleted letters: purged, past their retention, or beyond `deadLettersMax`. */
export interface LettersGone {
  readonly kind: 'letters-gone';
  /** Undefined if the group is not known any more. */
  readonly group: Group | undefined;
  readonly letters: number;
}

/** The aggregation of a round waits, runs or waits again. */
export interface AggregationMoved extends Readonly<Aggregation> {
  readonly kind: 'aggregation';
  readonly group: Group;
}

export interface GroupSealed {
  readonly kind: 'sealed';
  readonly group: Group;
}

/** The status of a group changes. */
export interface GroupMoved {
  readonly kind: 'moved';
  readonly group: Group;
  readonly status: GroupStatus;
  readonly code: string | undefined;
  readonly round: number;
  readonly atUs: number;
}

export interface Paused {
  readonly kind: 'paused';
  readonly scope: Scope;
  readonly isPaused: boolean;
  readonly atUs: number;
}

/** New limits of the shard, a resource, a tenant or a group. */
export interface LimitsSet {
  readonly kind: 'limits';
  readonly scope: Scope;
  readonly weight: number;
  readonly rps: number | undefined;
  readonly burst: number | undefined;
  readonly concurrency: number | undefined;
  /** Of a tenant. */
  readonly minShare: number;
  /** Stored virtual time of the order of the tenant or group. */
  readonly virtual: number;
  readonly atUs: number;
}

/** Settings of a group other than its limits. */
export interface GroupSet {
  readonly kind: 'settings';
  readonly group: Group;
  readonly priorityLevel: PriorityLevel;
  readonly virtual: number;
  readonly timeoutMs: number;
  readonly deadlineMs: number | undefined;
}

/** A notice was carried out: a repeat of it gets the same result. */
export interface NoticeAnswered {
  readonly kind: 'answered';
  readonly instanceId: string;
  readonly nonce: number;
  readonly result: CommandResult;
}

/** The store's clock has jumped. */
export interface ClockJumped {
  readonly kind: 'clock';
  /** After the jump. */
  readonly atUs: number;
  readonly deltaUs: number;
}

export interface EpochEnded {
  readonly kind: 'epoch';
}
