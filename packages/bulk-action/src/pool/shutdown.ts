import {
  ERRORS as FOUNDATION_ERRORS,
  type Service,
  TIMED_OUT,
  toWorkError,
  withDeadline,
} from '@millrace/foundation';
import type { LeaseRef } from '../lease.js';
import { WorkerState } from '../states.js';
import type { Crew } from './crew.js';
import type { PoolEnvironment } from './environment.js';
import type { Intake } from './intake.js';
import type { JobTries } from './job-tries.js';
import { report } from './report.js';
import type { Settler } from './settler.js';

/** What a shutdown ends. */
export interface ShutdownParts {
  readonly environment: PoolEnvironment;
  readonly fetcher: Service;
  readonly crew: Crew;
  readonly tries: JobTries;
  readonly settler: Settler;
  readonly intake: Intake;
  /** What runs until the last job has gone: Dispatcher, recovery, watcher, aggregation, sweeper, lease keeper, heartbeats. */
  readonly last: readonly Service[];
}

/** All the store is given at the end of a shutdown: one that hangs does not keep a process from ending. */
export const STORE_BUDGET_MS = 5000;
/** Part of the grace period that is kept for it, and what it gets of the shortest one. */
const STORE_PART = 0.2;
const STORE_LEAST_MS = 500;

/**
 * Ends a pool within `shutdownGracePeriodMs`, whatever the store does (one of less than 2.5 s may be passed by half a second):
 * (1) the Fetcher stops, (2) workers finish their job, idle ones at once, (3) when a fifth of the time, 5 s at most, is left
 * signals abort and unfinished jobs go back with their retry count unchanged, (4) the other roles stop. Whoever kills a
 * process that has not ended by then kills none that had jobs to give back.
 * @param parts - see ShutdownParts.
 */
export async function shutDown(parts: ShutdownParts): Promise<void> {
  const { environment, fetcher, crew, tries, intake, last } = parts;
  const { clock, config } = environment;
  const fetcherStopped = fetcher.stop();
  const workersStopped = crew.stop();
  const { shutdownGracePeriodMs } = config.workerPool;
  const keptMs = Math.min(STORE_BUDGET_MS, STORE_PART * shutdownGracePeriodMs);
  const inTime = await withDeadline(clock, shutdownGracePeriodMs - keptMs, workersStopped);
  const endsAtMs = clock.monotonicMs() + Math.max(STORE_LEAST_MS, keptMs);
  const wait = (what: string, work: Promise<unknown>) =>
    patiently(environment, what, endsAtMs - clock.monotonicMs(), work);
  if (inTime === TIMED_OUT) await releaseUnfinished(parts, workersStopped, wait);
  tries.stop();
  await Promise.all([wait('The Fetcher', fetcherStopped), wait('The intake', intake.stop())]);
  await Promise.all(last.map((service) => wait(`The ${service.constructor.name}`, service.stop())));
}

type Wait = (what: string, work: Promise<unknown>) => Promise<void>;

async function releaseUnfinished(
  { environment, crew, tries, settler }: ShutdownParts,
  workersStopped: Promise<void>,
  wait: Wait,
): Promise<void> {
  const { log, config } = environment;
  const { shutdownGracePeriodMs } = config.workerPool;
  const late = crew.workers.filter(({ state }) => state !== WorkerState.STOPPED);
  const workers = late.map(({ id, currentJob }) => ({ id, currentJob }));
  const names = workers.map(({ id, currentJob }) => `${id} (${currentJob})`).join(', ');
  const message = `Workers did not stop within the grace period of ${shutdownGracePeriodMs} ms: ${names}`;
  report(log, 'warn', { workers, shutdownGracePeriodMs }, message);
  const leases = tries.releaseAll(FOUNDATION_ERRORS.create('SERVICE_STOPPED', { service: 'WorkerPool' }));
  // Workers that are left have a result under way: it gets the same time as the jobs that go back.
  await Promise.all([
    leases.length > 0 && wait('Giving jobs back', giveBack(environment, leases)),
    wait('Settling', workersStopped),
  ]);
  settler.giveUp();
  await workersStopped;
}

async function giveBack({ store, log }: PoolEnvironment, leases: readonly LeaseRef[]): Promise<void> {
  const answers = await store.leases.giveBack(leases);
  const jobs = leases.map(({ jobId }, index) => ({ jobId, to: answers[index] }));
  report(log, 'warn', { jobs }, `${jobs.length} unfinished jobs given back`);
}

async function patiently(
  { clock, log }: PoolEnvironment,
  what: string,
  ms: number,
  work: Promise<unknown>,
): Promise<void> {
  try {
    if ((await withDeadline(clock, Math.max(0, ms), work)) !== TIMED_OUT) return;
    report(log, 'warn', { what }, `${what} did not end in time and is left behind`);
  } catch (error) {
    const { code, message } = toWorkError(error);
    report(log, 'warn', { what, code, err: error }, `${what} failed at shutdown: ${message}`);
  }
}
