import { defaultBurst } from '../../src/rules/gcra.js';
import type { Violations } from './truth.js';

interface Start {
  readonly at: number;
  readonly cost: number;
}

const WINDOW_MS = 1000;

/**
 * I7 for one limit: in every sliding window of a second the cost of what started is at most rate + max(burst, cost).
 * Windows end with the limit and with a clock that goes back: both begin a new count.
 */
export class RateCheck {
  readonly #name: string;
  readonly #violations: Violations;
  readonly #window: Start[] = [];
  #sum = 0;

  constructor(name: string, violations: Violations) {
    this.#name = name;
    this.#violations = violations;
  }

  /** Begins anew: the limit changed, or the clock went back. */
  reset(): void {
    this.#window.length = 0;
    this.#sum = 0;
  }

  /**
   * Counts a start.
   * @param rps - the limit now; undefined or 0: none.
   */
  start(at: number, cost: number, rps: number | undefined, burst: number | undefined): void {
    if (!rps) return;
    const newest = this.#window.at(-1);
    if (newest && newest.at > at) this.reset();
    this.#window.push({ at, cost });
    this.#sum += cost;
    while ((this.#window[0] as Start).at <= at - WINDOW_MS) this.#sum -= (this.#window.shift() as Start).cost;
    const costMax = this.#window.reduce((max, start) => Math.max(max, start.cost), 0);
    const most = rps + Math.max(burst ?? defaultBurst(rps), costMax);
    this.#violations.check(
      this.#sum <= most,
      'I7',
      () => `${this.#name} started ${this.#sum} within a second, at most ${most} are allowed`,
    );
  }
}
