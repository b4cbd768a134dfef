import { amount, duration } from '../../show/amounts.js';
import { type Finding, finding } from '../finding.js';

/** The ranges of "Tuning" in docs/operations.md. */
const FETCH_INTERVAL_MS = { least: 100, most: 500 } as const;
const FETCH_BATCHES_PER_WORKER = { least: 2, most: 5 } as const;

/** The settings that are tuned. */
export interface TunedSettings {
  readonly workerCount: number;
  readonly fetchIntervalMs: number;
  readonly fetchBatchSize: number;
  readonly jobTimeoutMs: number;
  /** What a process gets from SIGTERM to its end. */
  readonly gracePeriodMs: number;
  /** What jobs get of it. */
  readonly shutdownGracePeriodMs: number;
  /** When the process ends, whatever still runs. */
  readonly exitMs: number;
}

/** Judges settings that are plainly out of range; what is in range is not told. */
export function judgeTuning(settings: TunedSettings): readonly Finding[] {
  return [
    judgeWorkers(settings),
    judgeFetching(settings),
    judgeBatch(settings),
    ...judgeGrace(settings),
  ].filter((one) => one !== undefined);
}

const IN = 'bulk.workerPool of millrace.config.json';

function judgeWorkers({ workerCount }: TunedSettings): Finding | undefined {
  if (workerCount > 0) return undefined;
  return finding('note', 'tuning.workers', 'A server that is started here runs no bulk jobs', {
    seen: 'workerCount is 0.',
    action: `Set workerCount (${IN}), or let other instances run them.`,
  });
}

function judgeFetching({ fetchIntervalMs }: TunedSettings): Finding | undefined {
  const { least, most } = FETCH_INTERVAL_MS;
  if (fetchIntervalMs >= least && fetchIntervalMs <= most) return undefined;
  const why =
    fetchIntervalMs < least
      ? 'it asks the store more often than anybody notices'
      : 'jobs whose wake-up was lost wait so long';
  return finding('note', 'tuning.fetchInterval', 'fetchIntervalMs is out of the usual range', {
    seen: `It is ${amount(fetchIntervalMs)}, usual are ${least} to ${most}: ${why}.`,
    action: `Set fetchIntervalMs to a value from ${least} to ${most} (${IN}).`,
  });
}

function judgeBatch({ workerCount, fetchBatchSize }: TunedSettings): Finding | undefined {
  const { least, most } = FETCH_BATCHES_PER_WORKER;
  if (workerCount === 0) return undefined;
  if (fetchBatchSize >= least * workerCount && fetchBatchSize <= most * workerCount) return undefined;
  return finding('note', 'tuning.fetchBatch', 'fetchBatchSize does not fit workerCount', {
    seen: `It is ${amount(fetchBatchSize)} for ${amount(workerCount)} workers; usual is ${least} to ${most} times their number.`,
    action: `Set fetchBatchSize to a value from ${amount(least * workerCount)} to ${amount(most * workerCount)} (${IN}).`,
  });
}

function judgeGrace(settings: TunedSettings): readonly (Finding | undefined)[] {
  const { jobTimeoutMs, gracePeriodMs, shutdownGracePeriodMs, exitMs } = settings;
  const tooLong = finding('warning', 'tuning.shutdown', 'Jobs get more time at a stop than the process has', {
    seen: `shutdownGracePeriodMs is ${amount(shutdownGracePeriodMs)}, but the process ends ${duration(exitMs)} after SIGTERM (gracePeriodMs ${amount(gracePeriodMs)}): what runs then is not given back but lost until its lease expires.`,
    action: `Leave shutdownGracePeriodMs out (${IN}): it follows from gracePeriodMs. Or raise MILLRACE_GRACE_PERIOD_MS, and terminationGracePeriodSeconds of Kubernetes above it.`,
  });
  const longJobs = finding('note', 'tuning.jobTimeout', 'Jobs may run longer than a stop waits for them', {
    seen: `jobTimeoutMs is ${amount(jobTimeoutMs)}, gracePeriodMs ${amount(gracePeriodMs)}: at every stop what runs longer is given back and begins again elsewhere.`,
    action: `Lower jobTimeoutMs to slightly above the timeout of the service that is called (${IN}), or raise MILLRACE_GRACE_PERIOD_MS, and terminationGracePeriodSeconds of Kubernetes above it.`,
  });
  return [
    shutdownGracePeriodMs > exitMs ? tooLong : undefined,
    jobTimeoutMs > gracePeriodMs ? longJobs : undefined,
  ];
}
