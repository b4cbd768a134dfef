import type { ServerRole } from '../server/settings.js';

/** How long a soak is, and how much happens in it. */
export interface SoakScale {
  /** Which processes there are. */
  readonly roles: readonly ServerRole[];
  /** From the first work to the last. */
  readonly durationMs: number;
  readonly sampleEveryMs: number;
  /** Between two groups of our own. */
  readonly groupEveryMs: number;
  readonly jobsPerGroup: readonly [number, number];
  /** Between two faults, whichever. */
  readonly faultEveryMs: number;
  /** How long Redis is frozen. */
  readonly frozenMs: number;
  readonly leaseMs: number;
  /** How long ended work is kept, so that what is kept levels off early. */
  readonly retentionMs: number;
  /** Of one demo; the next follows. */
  readonly demoSeconds: number;
  readonly whaleJobs: number;
  /** How soon after the last work all must have ended. */
  readonly doneWithinMs: number;
  /** Whether it lasts long enough for a word on what grows. */
  readonly isJudged: boolean;
}

const FULL_MS = 30 * 60_000;
/** Below that no worker lives long enough after the last time it was struck. */
const JUDGED_FROM_MS = 25 * 60_000;

/**
 * Half an hour in the full run, or its part; x.
 * @param scale - 1 for the full run.
 */
export const soakScale = (scale: number): SoakScale =>
  scale <= 0.05
    ? {
        roles: ['api', 'worker'],
        durationMs: 1500,
        sampleEveryMs: 250,
        groupEveryMs: 250,
        jobsPerGroup: [10, 20],
        faultEveryMs: 200,
        frozenMs: 200,
        leaseMs: 1200,
        retentionMs: 60_000,
        demoSeconds: 10,
        whaleJobs: 500,
        doneWithinMs: 30_000,
        isJudged: false,
      }
    : {
        roles: ['api', 'api', 'worker', 'worker'],
        durationMs: FULL_MS * scale,
        sampleEveryMs: 3000,
        groupEveryMs: 1000,
        jobsPerGroup: [20, 60],
        faultEveryMs: 8000,
        frozenMs: 2000,
        leaseMs: 5000,
        retentionMs: 45_000,
        demoSeconds: 60,
        whaleJobs: 20_000,
        doneWithinMs: 60_000,
        isJudged: FULL_MS * scale >= JUDGED_FROM_MS,
      };

/** Before the hash tag of every key of the engine. */
export const SOAK_PREFIX = 'soak:';

/** How long a process may take to end. */
export const SOAK_GRACE_MS = 4000;

/** What runs the jobs of our own groups. */
export const SOAK_PROCESSOR = 'soak.pay';

/** Jobs that one worker process runs at once. */
const SLOTS = 10;

/** The settings of one process, as its file has them. */
export const soakConfig = (
  process: {
    readonly role: ServerRole;
    readonly port: number;
    readonly app: string;
    readonly redisUrl: string;
    readonly databaseUrl: string;
  },
  { leaseMs, retentionMs }: SoakScale,
) => ({
  ...process,
  keyPrefix: SOAK_PREFIX,
  logLevel: 'error',
  gracePeriodMs: SOAK_GRACE_MS,
  limits: { requestsPerSecond: 0 },
  bulk: {
    limits: { jobRetentionMs: retentionMs },
    backpressure: { globalRps: 0, dispatchIntervalMs: 50, defaultBackoffMs: 100, maxBackoffMs: 1000 },
    congestion: { statsRetentionMs: retentionMs },
    workerPool: { workerCount: SLOTS, fetchIntervalMs: 100, workerTimeoutSec: 1 },
    aggregator: { resultRetentionMs: retentionMs },
    // Kills are nobody's fault: no job may become a dead letter by them.
    reliableQueue: {
      ackTimeoutMs: leaseMs,
      orphanRecoveryIntervalMs: Math.floor(leaseMs / 4),
      maxOrphanCount: 50,
      idempotencyTtlMs: retentionMs,
      deadLetterRetentionMs: retentionMs,
    },
    watcher: { intervalMs: 1000 },
  },
  outbox: { leaseMs, lostMax: 50, retentionMs },
  orchestrator: {
    leaseMs,
    retentionMs,
    idempotencyTtlMs: retentionMs,
    reaperIntervalMs: Math.floor(leaseMs / 4),
    finalizerIntervalMs: 500,
    watchIntervalMs: 500,
  },
  chat: { resultTtlMs: retentionMs },
});
