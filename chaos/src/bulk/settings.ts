import type { BulkActionConfig } from '@millrace/bulk-action';
import type { JobScript } from './plan.js';
import type { DeathsBrief } from './steps.js';

/** What every job of these scenarios is run by. */
export const PROCESSOR_TYPE = 'chaos';

/** What the jobs are run by whose speed is measured: no refusal of others slows them. */
export const PROBE_TYPE = 'chaos-probe';

/** What jobs are run by whose tries have no time; they have fewer of them, too. */
export const IMPATIENT_TYPE = 'chaos-impatient';
export const IMPATIENT_TIMEOUT_MS = 150;
export const IMPATIENT_RETRIES = 1;

/** Before the hash tag of every key, so that the scan for undeclared keys knows what is whose. */
export const KEY_PREFIX = 'chaos:';

/** Where Redis is: one server, or some nodes of a cluster. */
export type RedisPlace =
  | { readonly url: string }
  | { readonly nodes: readonly { readonly host: string; readonly port: number }[] };

/** What one worker process is told when it is started. */
export interface WorkerBrief {
  readonly redis: RedisPlace;
  readonly ledger: string;
  readonly config: BulkActionConfig;
  /** At which steps it kills itself; the results of groups are added up then, too. */
  readonly deaths?: DeathsBrief;
  /** Whether each settlement is sent twice, and an older one of the same job behind it. */
  readonly twiceTold?: boolean;
}

/** What one process that hands in work is told when it is started. */
export interface CallerBrief extends WorkerBrief {
  /** Calls it makes at once under each key. */
  readonly calls: number;
  /** Jobs of each call, and what each does. */
  readonly jobs: number;
  readonly script: JobScript;
}

/** What a job has to put up with. */
export interface JobLimits {
  /** Leases it may lose; far more than chance takes from an innocent one unless given. */
  readonly maxOrphanCount?: number;
  /** How long it waits when the called service has refused it. */
  readonly throttleBackoffMs?: number;
  /** How long its handler has to end when its signal aborts. */
  readonly abortGraceMs?: number;
}

/**
 * The configuration of all processes of a scenario: the lease of the issue in the full run, a shorter one in `npm test`,
 * where a scenario has five seconds.
 * @param scale - 1 for the full run.
 * @param slots - jobs one worker process runs at once.
 */
export const bulkConfig = (
  scale: number,
  slots: number,
  { maxOrphanCount = 50, throttleBackoffMs = 100, abortGraceMs }: JobLimits = {},
): BulkActionConfig => ({
  backpressure: { globalRps: 0, dispatchIntervalMs: 50, defaultBackoffMs: 100, maxBackoffMs: 1000 },
  congestion: { baseBackoffMs: throttleBackoffMs },
  workerPool: {
    workerCount: slots,
    fetchIntervalMs: 100,
    workerTimeoutSec: 1,
    maxRetryCount: MAX_RETRIES,
    ...(abortGraceMs !== undefined && { abortGraceMs }),
    // Shorter than most jobs: a worker that is stopped gives back what it runs.
    shutdownGracePeriodMs: 50,
  },
  reliableQueue: {
    ackTimeoutMs: leaseMs(scale),
    orphanRecoveryIntervalMs: leaseMs(scale) / 4,
    maxOrphanCount,
  },
});

/** How long a lease lasts. */
export const leaseMs = (scale: number): number => (scale < 1 ? 600 : 2000);

/** Retries of a job that fails each time. */
export const MAX_RETRIES = 2;
