import { Lifecycle, type Rng, type Service } from '@millrace/foundation';
import type { DispatchAnswer } from '../ports.js';
import { Bell } from './bell.js';
import type { PoolEnvironment } from './environment.js';
import { spread } from './fetcher.js';
import { Loop } from './loop.js';
import { report } from './report.js';

/** What a Dispatcher has done since it was made. */
export interface DispatcherStats {
  /** Taken out of non-ready. */
  readonly totalMoved: number;
  readonly totalCycles: number;
  /** Cycles in which ready was full. */
  readonly totalSkipped: number;
}

/** The third role: moves due jobs from non-ready through the gate, into ready or to the head of their lane. */
export class Dispatcher implements Service {
  readonly #environment: PoolEnvironment;
  readonly #rng: Rng;
  readonly #bell = new Bell();
  readonly #loop: Loop;
  readonly #lifecycle: Lifecycle;
  #stats: DispatcherStats = { totalMoved: 0, totalCycles: 0, totalSkipped: 0 };
  #cycle: Promise<DispatchAnswer> | undefined;
  #endListening: () => void = () => {};

  /** @param environment - store, configuration, clock, randomness, logger. */
  constructor(environment: PoolEnvironment) {
    const { clock, log, config } = environment;
    this.#environment = environment;
    this.#rng = environment.rng.fork('dispatcher');
    this.#loop = new Loop({
      name: 'Dispatcher',
      clock,
      log,
      bell: this.#bell,
      step: (signal) => this.#dispatchAll(signal),
      pauseAfterErrorMs: config.backpressure.dispatchIntervalMs,
    });
    this.#lifecycle = new Lifecycle('Dispatcher', { start: () => this.#open(), stop: () => this.#close() });
  }

  /**
   * Begins to dispatch; once, however often it is called.
   * @throws MillraceError `SERVICE_STOPPED` after `stop`.
   */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /** Dispatches no more; resolves when the present cycle has ended. */
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
  getStats(): DispatcherStats {
    return { ...this.#stats };
  }

  /**
   * Runs one cycle now, or joins the one under way: two never overlap.
   * @returns what it moved.
   * @throws MillraceError `BACKEND_UNAVAILABLE`.
   */
  dispatchOnce(): Promise<DispatchAnswer> {
    this.#cycle ??= this.#runCycle().finally(() => {
      this.#cycle = undefined;
    });
    return this.#cycle;
  }

  #open(): void {
    const { store, config, log } = this.#environment;
    const { dispatchIntervalMs, dispatchBatchSize } = config.backpressure;
    this.#endListening = store.wakeUps.listen('dispatch', () => this.#bell.ring());
    this.#loop.start();
    report(log, 'info', { dispatchIntervalMs, dispatchBatchSize }, 'Dispatcher started');
  }

  async #close(): Promise<void> {
    this.#endListening();
    await this.#loop.stop();
    report(this.#environment.log, 'info', { ...this.#stats }, 'Dispatcher stopped');
  }

  async #dispatchAll(signal: AbortSignal): Promise<number> {
    const { dispatchIntervalMs, dispatchBatchSize } = this.#environment.config.backpressure;
    for (;;) {
      this.#bell.hush();
      const { moved, skipped, nextInMs } = await this.dispatchOnce();
      // A full batch: more may be due.
      if (moved >= dispatchBatchSize && !skipped && !signal.aborted) continue;
      const latest = spread(dispatchIntervalMs, this.#rng);
      // While ready is full the due time of the next job says nothing.
      return skipped || nextInMs === undefined ? latest : Math.min(latest, Math.max(1, nextInMs));
    }
  }

  async #runCycle(): Promise<DispatchAnswer> {
    const { store, config } = this.#environment;
    const answer = await store.gate.dispatch(config.backpressure.dispatchBatchSize);
    const { totalMoved, totalCycles, totalSkipped } = this.#stats;
    this.#stats = {
      totalMoved: totalMoved + answer.moved,
      totalCycles: totalCycles + 1,
      totalSkipped: totalSkipped + (answer.skipped ? 1 : 0),
    };
    return answer;
  }
}
