/** What one process of the server is told when it is started. */
export interface ServerBrief {
  /** The command line that it runs. */
  readonly program: string;
  /** Its file of settings. */
  readonly config: string;
  readonly ledger: string;
  /** Where it says whether it is ready. */
  readonly port: number;
}

/** Who answers requests, and who runs the work. */
export type ServerRole = 'api' | 'worker';

/** How much of everything a run has. */
export interface ServerScale {
  readonly campaigns: number;
  /** Customers of a campaign, least and most. */
  readonly customers: readonly [number, number];
  /** In which time they all come. */
  readonly arrivalMs: number;
  /** How long a lease lasts. */
  readonly leaseMs: number;
  /** From one kill, when everybody is there again, to the next. */
  readonly killEveryMs: number;
  /** So many different processes at least. */
  readonly victimsMin: number;
  readonly loseReplyEveryMs: number;
  /** How soon after the last fault all must have ended. */
  readonly doneWithinMs: number;
}

/**
 * Minutes of many campaigns in the full run; in `npm test` a handful, and one kill of each role.
 * @param scale - 1 for the full run.
 */
export const serverScale = (scale: number): ServerScale =>
  scale < 1
    ? {
        campaigns: 8,
        customers: [30, 120],
        arrivalMs: 2500,
        leaseMs: 1200,
        killEveryMs: 800,
        victimsMin: 2,
        loseReplyEveryMs: 200,
        doneWithinMs: 40_000,
      }
    : {
        campaigns: 60,
        customers: [50, 400],
        arrivalMs: 90_000,
        leaseMs: 2500,
        killEveryMs: 2000,
        victimsMin: 4,
        loseReplyEveryMs: 500,
        doneWithinMs: 40_000,
      };

/** Before the hash tag of every key of the engine. */
export const KEY_PREFIX = 'chaos:';

/** How long a process may take to end. */
export const GRACE_MS = 4000;

/** Mails that one worker process sends at once. */
const SLOTS = 8;

/**
 * The settings of one process, as its file has them.
 * @param scale - leases, short enough that what a dead process held is taken over within a scenario.
 */
export const configOf = (
  process: {
    readonly role: ServerRole;
    readonly port: number;
    readonly app: string;
    readonly redisUrl: string;
    readonly databaseUrl: string;
  },
  { leaseMs }: ServerScale,
) => ({
  ...process,
  keyPrefix: KEY_PREFIX,
  logLevel: 'warn',
  gracePeriodMs: GRACE_MS,
  limits: { requestsPerSecond: 0 },
  bulk: {
    backpressure: { globalRps: 0, dispatchIntervalMs: 50, defaultBackoffMs: 100, maxBackoffMs: 1000 },
    workerPool: { workerCount: SLOTS, fetchIntervalMs: 100, workerTimeoutSec: 1 },
    // Kills are nobody's fault: no mail may become a dead letter by them.
    reliableQueue: {
      ackTimeoutMs: leaseMs,
      orphanRecoveryIntervalMs: Math.floor(leaseMs / 4),
      maxOrphanCount: 50,
    },
    watcher: { intervalMs: 500 },
  },
  outbox: { leaseMs, lostMax: 50 },
  orchestrator: {
    leaseMs,
    reaperIntervalMs: Math.floor(leaseMs / 4),
    finalizerIntervalMs: 300,
    watchIntervalMs: 300,
  },
});
