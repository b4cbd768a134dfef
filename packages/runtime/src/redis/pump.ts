import { backoffMs, type Clock, type Rng, sleep, withJitter } from '@millrace/foundation';
import type { Markers } from '@millrace/redis';

/** How long to wait before the next step: for a marker, or for the time to pass. */
export interface Pause {
  /** The marker list that ends the pause. */
  readonly marker?: string | undefined;
  readonly ms: number;
}

/** What a pump does. */
export interface PumpOptions {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly markers: Markers;
  /** Whether there is something to do. */
  hasWork(): boolean;
  /** One exchange with Redis; gives the pause before the next, or nothing to go on at once. */
  step(): Promise<Pause | undefined>;
  /** A step failed; it will be repeated while there is work. */
  onFailure(error: unknown): void;
}

const RETRY_MS = 25;
const RETRY_MAX_MS = 500;

/** Repeats a step while there is work: one call at a time, so that a lost reply has only one meaning. */
export class Pump {
  readonly #options: PumpOptions;
  #running = false;
  #run: Promise<void> | undefined;
  #poked = false;
  #pause: AbortController | undefined;

  constructor(options: PumpOptions) {
    this.#options = options;
  }

  /** There is something new: the next step comes at once. */
  poke(): void {
    this.#poked = true;
    this.#pause?.abort();
    if (!this.#running) this.#run = this.#work();
  }

  /** Resolves when there is nothing left to do. */
  async idle(): Promise<void> {
    await this.#run;
  }

  async #work(): Promise<void> {
    this.#running = true;
    const { clock, rng, markers, hasWork, step, onFailure } = this.#options;
    let failures = 0;
    while (hasWork()) {
      this.#poked = false;
      let pause: Pause | undefined;
      try {
        pause = await step();
        failures = 0;
      } catch (error) {
        onFailure(error);
        const retry = { attempt: ++failures, baseMs: RETRY_MS, maxMs: RETRY_MAX_MS };
        pause = { ms: withJitter(backoffMs({ strategy: 'exponential', ...retry }), -0.5, rng.next()) };
      }
      if (!pause || this.#poked || !hasWork()) continue;
      this.#pause = new AbortController();
      const { signal } = this.#pause;
      if (pause.marker === undefined) await sleep(clock, pause.ms, signal);
      else await markers.wait(pause.marker, { timeoutMs: pause.ms, signal });
      this.#pause = undefined;
    }
    this.#running = false;
  }
}
