import { type Clock, type Logger, sleep, toWorkError } from '@millrace/foundation';
import { Bell } from './bell.js';
import { PAUSE_AFTER_ERROR_MS } from './environment.js';
import { report } from './report.js';

/** One role that does the same thing again and again. */
export interface LoopOptions {
  /** For log lines. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * Does one round.
   * @param signal - aborts when the loop stops: begin nothing more.
   * @returns how long to sleep at most, in milliseconds.
   */
  step(signal: AbortSignal): Promise<number> | number;
  /** Sleep after a round that failed (1000). A ring does not shorten it: a store that fails is left alone. */
  readonly pauseAfterErrorMs?: number | undefined;
  /** Wakes the loop before its time. */
  readonly bell?: Bell | undefined;
}

/** Runs a step, sleeps, runs it again; never overlaps itself, and no error ends it. */
export class Loop {
  readonly #options: LoopOptions;
  readonly #bell: Bell;
  readonly #stopping = new AbortController();
  #ended: Promise<void> | undefined;

  /** @param options - see LoopOptions. */
  constructor(options: LoopOptions) {
    this.#options = options;
    this.#bell = options.bell ?? new Bell();
  }

  /** Whether it was started and not told to stop. */
  get running(): boolean {
    return this.#ended !== undefined && !this.#stopping.signal.aborted;
  }

  /** Begins with a round at once; a second call does nothing. */
  start(): void {
    if (!this.#stopping.signal.aborted) this.#ended ??= this.#run();
  }

  /** Begins no more rounds; resolves when the present one has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { name, clock, log, step, pauseAfterErrorMs = PAUSE_AFTER_ERROR_MS } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const sleepMs = await step(signal);
        await this.#bell.wait(clock, sleepMs, signal);
      } catch (error) {
        const { code, message } = toWorkError(error);
        report(log, 'error', { loop: name, code, err: error }, `${name} failed and goes on: ${message}`);
        await sleep(clock, pauseAfterErrorMs, signal);
      }
    }
  }
}
