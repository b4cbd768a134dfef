import type { Clock } from '@millrace/foundation';

/** A terminal sends SIGINT to npm and to us, and npm sends it to us again: one press of the keys, not two. */
const ONE_KEY_PRESS_MS = 300;

/** Tells whether a SIGINT is another press of the keys, or the first one once more. */
export class KeyPresses {
  readonly #clock: Clock;
  #firstAt: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes a SIGINT; whether there was another press before it. */
  isAgain(): boolean {
    const now = this.#clock.monotonicMs();
    this.#firstAt ??= now;
    return now - this.#firstAt >= ONE_KEY_PRESS_MS;
  }
}
