import { Lifecycle, type Rng, type Service } from '@millrace/foundation';
import { Bell } from './bell.js';
import type { PoolEnvironment } from './environment.js';
import { Loop } from './loop.js';
import { report } from './report.js';

/** What a Fetcher has done since it was made. */
export interface FetcherStats {
  /** Taken out of the fair queue. */
  readonly totalFetched: number;
  readonly totalAdmittedReady: number;
  readonly totalAdmittedNonReady: number;
  /** Refused, left in place. */
  readonly totalRejected: number;
  /** Looks that found nothing runnable, parked groups included, though ready had room. */
  readonly totalEmptyPolls: number;
}

const JITTER = 0.1;

/**
 * A sleep of at most `ms`, up to a tenth shorter: processes that started together must not ask the store together.
 * @param ms - longest sleep.
 * @param rng - draws the difference.
 */
export const spread = (ms: number, rng: Rng): number => ms * (1 - JITTER * rng.next());

/** The first role: moves jobs from the fair queue to ready, as far as gate and ready bound allow. */
export class Fetcher implements Service {
  readonly #environment: PoolEnvironment;
  readonly #rng: Rng;
  readonly #bell = new Bell();
  readonly #loop: Loop;
  readonly #lifecycle: Lifecycle;
  #stats: FetcherStats = {
    totalFetched: 0,
    totalAdmittedReady: 0,
    totalAdmittedNonReady: 0,
    totalRejected: 0,
    totalEmptyPolls: 0,
  };
  #endListening: () => void = () => {};

  /** @param environment - store, configuration, clock, randomness, logger. */
  constructor(environment: PoolEnvironment) {
    const { clock, log } = environment;
    this.#environment = environment;
    this.#rng = environment.rng.fork('fetcher');
    this.#loop = new Loop({
      name: 'Fetcher',
      clock,
      log,
      bell: this.#bell,
      step: (signal) => this.#fetchAll(signal),
    });
    this.#lifecycle = new Lifecycle('Fetcher', { start: () => this.#open(), stop: () => this.#close() });
  }

  /**
   * Begins to fetch; once, however often it is called.
   * @throws MillraceError `SERVICE_STOPPED` after `stop`.
   */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /** Fetches no more; resolves when the present look has ended. */
  stop(): Promise<void> {
    return this.#lifecycle.stop();
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Whether it was started and not stopped. */
  isRunning(): boolean {
    return this.#loop.running;
  }

  /** What it has done so far. */
  getStats(): FetcherStats {
    return { ...this.#stats };
  }

  #open(): void {
    const { store, config, log } = this.#environment;
    const { fetchIntervalMs, fetchBatchSize } = config.workerPool;
    this.#endListening = store.wakeUps.listen('fetch', () => this.#bell.ring());
    this.#loop.start();
    report(log, 'info', { fetchIntervalMs, fetchBatchSize }, 'Fetcher started');
  }

  async #close(): Promise<void> {
    this.#endListening();
    await this.#loop.stop();
    report(this.#environment.log, 'info', { ...this.#stats }, 'Fetcher stopped');
  }

  /** Looks again at once while that moves something: a wake-up may stand for many jobs. */
  async #fetchAll(signal: AbortSignal): Promise<number> {
    const { store, config } = this.#environment;
    const { fetchBatchSize, fetchIntervalMs } = config.workerPool;
    for (;;) {
      this.#bell.hush();
      const { ready, nonReady, rejected, room, nextInMs } = await store.gate.fetch(fetchBatchSize);
      const moved = ready + nonReady;
      const stats = this.#stats;
      this.#stats = {
        totalFetched: stats.totalFetched + moved,
        totalAdmittedReady: stats.totalAdmittedReady + ready,
        totalAdmittedNonReady: stats.totalAdmittedNonReady + nonReady,
        totalRejected: stats.totalRejected + rejected,
        totalEmptyPolls: stats.totalEmptyPolls + (moved === 0 && room ? 1 : 0),
      };
      if (moved > 0 && room && !signal.aborted) continue;
      // At least 1 ms: a store that says "now" and moves nothing must not keep the process busy.
      const waitMs = Math.max(1, nextInMs ?? fetchIntervalMs);
      return Math.min(waitMs, spread(fetchIntervalMs, this.#rng));
    }
  }
}
