import { onAbort } from '@millrace/async-utils';
import type { Clock } from '@millrace/foundation';

/** Why a wait ended: somebody rang, the time was up, or the waiter is to stop. */
export type Waking = 'rung' | 'time' | 'stopped';

/** Wakes one sleeper. A ring while nobody waits is remembered, once: work that comes meanwhile is not overslept. */
export class Bell {
  #rung = false;
  #wake: (() => void) | undefined;

  /** Wakes the sleeper, or keeps the next one from falling asleep. */
  ring(): void {
    if (this.#wake) this.#wake();
    else this.#rung = true;
  }

  /** Whether a ring is remembered that nobody has answered. */
  get rung(): boolean {
    return this.#rung;
  }

  /** Forgets a remembered ring: for whoever is about to look anyway. */
  hush(): void {
    this.#rung = false;
  }

  /**
   * Waits for a ring; one waiter at a time.
   * @param clock - whose time counts.
   * @param ms - longest wait.
   * @param signal - ends the wait.
   * @returns why it ended.
   */
  wait(clock: Clock, ms: number, signal: AbortSignal): Promise<Waking> {
    if (signal.aborted) return Promise.resolve('stopped');
    if (this.#rung) {
      this.#rung = false;
      return Promise.resolve('rung');
    }
    return new Promise((resolve) => {
      const end = (waking: Waking) => {
        this.#wake = undefined;
        cancelTimer();
        offAbort();
        resolve(waking);
      };
      const cancelTimer = clock.setTimer(ms, () => end('time'));
      const offAbort = onAbort(signal, () => end('stopped'));
      this.#wake = () => end('rung');
    });
  }
}
