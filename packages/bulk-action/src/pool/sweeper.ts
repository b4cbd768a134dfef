import { Lifecycle, type Rng, type Service, sleep } from '@millrace/foundation';
import type { PoolEnvironment } from './environment.js';
import { spread } from './fetcher.js';
import { Loop } from './loop.js';

/** Longest time between two sweeps: what has passed its retention may stay that much longer. */
const SWEEP_INTERVAL_MS = 5000;
/** Entries one step removes at most. */
const SWEEP_BATCH = 1000;

/** Removes what nobody needs any more: entries of cancelled rounds, records past their retention. */
export class Sweeper implements Service {
  readonly #loop: Loop;
  readonly #lifecycle: Lifecycle;

  /** @param environment - store, clock, randomness and logger count. */
  constructor({ store, clock, log, rng }: PoolEnvironment) {
    const own: Rng = rng.fork('sweeper');
    this.#loop = new Loop({
      name: 'Sweeper',
      clock,
      log,
      pauseAfterErrorMs: SWEEP_INTERVAL_MS,
      step: async (signal) => {
        for (;;) {
          const { more, nextInMs } = await store.upkeep.sweep(SWEEP_BATCH);
          const latest = spread(SWEEP_INTERVAL_MS, own);
          if (!more || signal.aborted) return Math.min(latest, Math.max(1, nextInMs ?? latest));
          // A turn for everybody else between two steps.
          await sleep(clock, 0, signal);
        }
      },
    });
    this.#lifecycle = new Lifecycle('Sweeper', {
      start: () => this.#loop.start(),
      stop: () => this.#loop.stop(),
    });
  }

  /** Begins to sweep. */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /** Sweeps no more; resolves when the present step has ended. */
  stop(): Promise<void> {
    return this.#lifecycle.stop();
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
