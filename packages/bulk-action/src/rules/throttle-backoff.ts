import type { CongestionLevel } from '../model.js';

/** The delays of the section `congestion`. */
export interface ThrottleBounds {
  readonly baseBackoffMs: number;
  readonly maxBackoffMs: number;
}

/** What a throttled job's wait is decided from. */
export interface ThrottleFacts {
  /** Jobs of its group in non-ready. */
  readonly nonReadyCount: number;
  /** The group's present share in jobs per second. */
  readonly groupRps: number;
  /** What the service asked for. */
  readonly retryAfterMs?: number | undefined;
  /** Of [0, 1). */
  readonly random: number;
}

/** How long a throttled job waits. */
export interface ThrottleBackoff {
  /** By the rule or as asked for: what the level of congestion is read from. */
  readonly backoffMs: number;
  /** With the spread: what the job really waits. */
  readonly delayMs: number;
}

/** The part of the wait that is added at random: those refused together must not come back together. */
const SPREAD = 0.5;

/**
 * How long a throttled job waits: as long as its group needs to serve those who wait already, or as long as the service asked
 * for. The spread is added, because earlier would be refused again; so it may pass maxBackoffMs by half.
 * @param facts - see ThrottleFacts.
 * @param bounds - first and longest wait.
 * @returns whole milliseconds.
 */
export function throttleBackoff(facts: ThrottleFacts, bounds: ThrottleBounds): ThrottleBackoff {
  const backoffMs = facts.retryAfterMs === undefined ? byRule(facts, bounds) : Math.ceil(facts.retryAfterMs);
  return { backoffMs, delayMs: Math.ceil(backoffMs * (1 + SPREAD * facts.random)) };
}

function byRule({ nonReadyCount, groupRps }: ThrottleFacts, bounds: ThrottleBounds): number {
  const seconds = Math.floor(nonReadyCount / Math.max(1, groupRps));
  return Math.min(bounds.maxBackoffMs, bounds.baseBackoffMs + seconds * 1000);
}

/**
 * How hard the service holds a group back.
 * @param backoffMs - the last back-off of the group; 0 = none.
 * @param baseBackoffMs - the configured first one.
 */
export function levelOf(backoffMs: number, baseBackoffMs: number): CongestionLevel {
  // A base of 0 must not make every wait critical.
  const times = backoffMs / Math.max(1, baseBackoffMs);
  if (times <= 1) return 'NONE';
  if (times < 3) return 'LOW';
  if (times < 10) return 'MODERATE';
  return times < 30 ? 'HIGH' : 'CRITICAL';
}
