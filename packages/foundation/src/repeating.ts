import type { Clock } from './clock.js';
import type { Logger } from './logger.js';
import type { Rng } from './rng.js';

/** What is done again and again. */
export interface RepeatingOptions {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  /** For the log. */
  readonly what: string;
  /** Between the end of one and the start of the next; up to a fifth shorter, so that instances drift apart. */
  readonly everyMs: number;
  /** Lets the process end meanwhile. */
  readonly unref?: boolean | undefined;
}

/** Does something from time to time, and at once when asked; one at a time. What fails is logged and done again. */
export class Repeating {
  readonly #options: RepeatingOptions;
  readonly #work: () => Promise<void>;
  #cancelTimer: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = true;

  /** @param options - how often. */
  constructor(options: RepeatingOptions, work: () => Promise<void>) {
    this.#options = options;
    this.#work = work;
  }

  /** Begins, with the first one at once. */
  start(): void {
    if (!this.#stopped) return;
    this.#stopped = false;
    this.now();
  }

  /** Does it now; once more after the one that is under way. */
  now(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#running ??= this.#run();
  }

  /** Ends it, and waits for the one that is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, rng, logger, what, everyMs, unref } = this.#options;
    this.#cancelTimer?.();
    while (this.#again && !this.#stopped) {
      this.#again = false;
      try {
        await this.#work();
      } catch (error) {
        logger.warn({ reason: String(error) }, `${what} failed and will be tried again`);
      }
    }
    this.#running = undefined;
    if (!this.#stopped)
      this.#cancelTimer = clock.setTimer(everyMs * (1 - 0.2 * rng.next()), () => this.now(), { unref });
  }
}
