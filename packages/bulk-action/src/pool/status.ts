import { WorkerState } from '../states.js';
import type { Dispatcher, DispatcherStats } from './dispatcher.js';
import type { Fetcher, FetcherStats } from './fetcher.js';
import type { Worker } from './worker.js';

/** One worker as it is now. */
export interface WorkerStatus {
  readonly id: string;
  readonly state: WorkerState;
  /** The id of its job, or null. */
  readonly currentJob: string | null;
}

/** A pool as it is now. */
export interface PoolStatus {
  /** How many are wanted; `workers` also holds those that finish their last job. */
  readonly workerCount: number;
  /** In state RUNNING: those who take jobs. */
  readonly activeWorkers: number;
  /** Without a job. */
  readonly idleWorkers: number;
  readonly fetcherRunning: boolean;
  readonly dispatcherRunning: boolean;
  readonly fetcherStats: FetcherStats;
  readonly dispatcherStats: DispatcherStats;
  readonly workers: readonly WorkerStatus[];
  readonly isShuttingDown: boolean;
}

/**
 * Puts the status of a pool together.
 * @param parts - its roles, how many workers are wanted, and whether it shuts down.
 */
export function poolStatus(parts: {
  readonly fetcher: Fetcher;
  readonly dispatcher: Dispatcher;
  readonly workers: readonly Worker[];
  readonly workerCount: number;
  readonly isShuttingDown: boolean;
}): PoolStatus {
  const { fetcher, dispatcher, workerCount, isShuttingDown } = parts;
  const workers = parts.workers.map(({ id, state, currentJob }) => ({ id, state, currentJob }));
  return {
    workerCount,
    activeWorkers: workers.filter(({ state }) => state === WorkerState.RUNNING).length,
    idleWorkers: workers.filter(({ currentJob }) => currentJob === null).length,
    fetcherRunning: fetcher.isRunning(),
    dispatcherRunning: dispatcher.isRunning(),
    fetcherStats: fetcher.getStats(),
    dispatcherStats: dispatcher.getStats(),
    workers,
    isShuttingDown,
  };
}
