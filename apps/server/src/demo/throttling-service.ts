import type { Clock } from '@millrace/foundation';

/**
 * A service that takes so many calls a second and refuses the rest, as one behind HTTP would with 429. It is there to be overloaded: nobody
 * tells the engine how much it takes.
 */
export class ThrottlingService {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #filledAt: number;

  /** @param limits - `perSecond`: what it takes for long; `burst`: what it takes at once. */
  constructor(
    clock: Pick<Clock, 'monotonicMs'>,
    { perSecond, burst }: { readonly perSecond: number; readonly burst: number },
  ) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
    this.#filledAt = clock.monotonicMs();
  }

  /** Whether it takes one more call now. */
  takes(): boolean {
    const now = this.#clock.monotonicMs();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#filledAt) * this.#perSecond) / 1000);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}
