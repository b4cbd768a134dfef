/** Why a handler is told to stop: its worker stops. */
export const STOPPING = new Error('The worker stops; the task is given back');

/**
 * Tells a running task to stop. Like an AbortController that is made only when somebody wants its signal: most handlers never look, and
 * signals cost more than a short handler does.
 */
export class StopSwitch {
  #reason: { readonly value: unknown } | undefined;
  #listener: ((reason: unknown) => void) | undefined;
  #controller: AbortController | undefined;

  /** Why it was thrown; undefined before. */
  get reason(): unknown {
    return this.#reason?.value;
  }

  /** Aborts when the switch is thrown. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason.value);
    }
    return this.#controller.signal;
  }

  /** Throws the switch; only the first time counts. */
  stop(reason: unknown): void {
    if (this.#reason) return;
    this.#reason = { value: reason };
    this.#controller?.abort(reason);
    this.#listener?.(reason);
  }

  /**
   * Calls back when the switch is thrown, or at once when it was.
   * @param listener - the only one; gets the reason.
   */
  onStop(listener: (reason: unknown) => void): void {
    if (this.#reason) listener(this.#reason.value);
    else this.#listener = listener;
  }
}
