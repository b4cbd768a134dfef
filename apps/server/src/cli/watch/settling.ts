import type { CancelTimer, Clock } from '@millrace/foundation';

/** Editors and tools write in several steps: a file is looked at when it was left alone for so long. */
export const QUIET_MS = 100;
/** When a file is never left alone. */
export const UNQUIET_MAX_MS = 1_000;

/** Turns many hints into one look, when there were none for a while. */
export class Settling {
  readonly #clock: Clock;
  readonly #settled: () => void;
  #since: number | undefined;
  #cancel: CancelTimer = () => {};

  constructor(clock: Clock, settled: () => void) {
    this.#clock = clock;
    this.#settled = settled;
  }

  /** Something may have changed. */
  hint(): void {
    this.#since ??= this.#clock.monotonicMs();
    const latest = this.#since + UNQUIET_MAX_MS - this.#clock.monotonicMs();
    this.#cancel();
    this.#cancel = this.#clock.setTimer(Math.max(0, Math.min(QUIET_MS, latest)), () => {
      this.#since = undefined;
      this.#settled();
    });
  }

  /** Looks no more. */
  stop(): void {
    this.#cancel();
  }
}
