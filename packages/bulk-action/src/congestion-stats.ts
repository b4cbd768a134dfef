import type { CongestionLevel } from './model.js';

/** A moment in the history of a rate. */
export interface CongestionPoint {
  readonly at: number;
  /** Jobs per second at that time. */
  readonly rate: number;
  /** Jobs per second that were allowed; null = no limit. */
  readonly limit: number | null;
  /** Throttled tries since the point before. */
  readonly throttles: number;
}

/** A moment in the history of a resource. */
export interface ResourcePoint extends CongestionPoint {
  /** Calls at once that were allowed; null = no limit. */
  readonly concurrency: number | null;
}

/** A moment in the history of a group. */
export interface GroupPoint extends CongestionPoint {
  readonly nonReadyCount: number;
  /** The last back-off of a throttled job. */
  readonly backoffMs: number;
}

/** What a store knows of a called service. */
export interface ResourceState {
  readonly resource: string;
  /** Calls that the service accepted in the last second; those under way count as accepted. */
  readonly rate: number;
  /** Calls per second that are allowed now, configured or learnt; null = no limit. */
  readonly limit: number | null;
  /** Calls at once that are allowed now, configured or learnt; null = no limit. */
  readonly concurrency: number | null;
  /** For how long nothing may call it, because it asked for that. */
  readonly frozenForMs: number;
  /** Calls, and those of them that it refused. */
  readonly starts: number;
  readonly throttles: number;
  /** Oldest first, as far back as `congestion.statsRetentionMs`. */
  readonly history: readonly ResourcePoint[];
}

/** What a store knows of how a group that has not ended is held back. */
export interface GroupSlowness {
  readonly groupId: string;
  /** Jobs settled per second. */
  readonly rate: number;
  /** Jobs per second that a called service leaves to this group alone; null = it is not held back alone. */
  readonly limit: number | null;
  readonly frozenForMs: number;
  readonly nonReadyCount: number;
  readonly lastBackoffMs: number;
  readonly throttles: number;
  /** Jobs that have ended. */
  readonly done: number;
  /** Oldest first; begins with the first throttle and goes with the end of the group. */
  readonly history: readonly GroupPoint[];
}

/** A called service, with what follows from its numbers. */
export interface ResourceCongestion extends ResourceState {
  /** Refused calls for each that was accepted. */
  readonly throttlesPerJob: number;
}

/** A group, with what follows from its numbers. */
export interface GroupCongestion extends Omit<GroupSlowness, 'done'> {
  readonly level: CongestionLevel;
  /** Throttled tries for each job that has ended. */
  readonly throttlesPerJob: number;
}
